// SPDX-License-Identifier: Apache-2.0
//
// ina_merge: both streams come out whole, a frame at a time, each in its order; and while both have
// frames, they take turns.

#include "bench.hpp"
#include "Vina_merge.h"

#include <deque>

namespace
{

constexpr unsigned FRAMES = 20000;
constexpr unsigned CLOCKS_MAX = 2000000;

// A source of frames. Each beat's data says which stream, frame and beat it is.
struct Stream {
	uint32_t frame = 0;
	uint32_t beat = 0;
	uint32_t length = 1;
	bool offered = false;
};

struct Beat {
	uint32_t word[3];
	uint64_t keep;
	bool last;
};

class Test
{
      public:
	Test() : random(bench::seed())
	{
		dut->s0_axis_tvalid = 0;
		dut->s1_axis_tvalid = 0;
		dut->m_axis_tready = 0;
		dut.reset();
	}
	void run()
	{
		while (frames_out < FRAMES)
			clock();
	}

      private:
	template <class Data>
	void offer(unsigned which, uint8_t &valid, Data &data, uint64_t &keep, uint8_t &last)
	{
		Stream &stream = streams[which];

		stream.offered = stream.offered || random.chance(percent[which]);
		valid = stream.offered;
		data[0] = which;
		data[7] = stream.frame;
		data[15] = stream.beat;
		keep = (uint64_t{stream.frame} << 8) + stream.beat;
		last = stream.beat + 1 == stream.length;
	}
	void advance(unsigned which, const Beat &beat)
	{
		Stream &stream = streams[which];

		waiting[which].push_back(beat);
		stream.offered = false;
		stream.beat++;
		if (!beat.last)
			return;
		stream.frame++;
		stream.beat = 0;
		stream.length = static_cast<uint32_t>(1 + random.below(6));
	}
	void clock()
	{
		CHECK(dut.clocks < CLOCKS_MAX, "stuck after %u frames", frames_out);
		if (dut.clocks % 200 == 0) {
			percent[0] =
			        random.chance(40) ? 100 : static_cast<unsigned>(random.below(101));
			percent[1] =
			        random.chance(40) ? 100 : static_cast<unsigned>(random.below(101));
			ready_percent = static_cast<unsigned>(10 + random.below(91));
		}
		offer(0, dut->s0_axis_tvalid, dut->s0_axis_tdata, dut->s0_axis_tkeep,
		      dut->s0_axis_tlast);
		offer(1, dut->s1_axis_tvalid, dut->s1_axis_tdata, dut->s1_axis_tkeep,
		      dut->s1_axis_tlast);
		dut->m_axis_tready = random.chance(ready_percent);
		dut.settle();
		if (dut->m_axis_tvalid && dut->m_axis_tready)
			take();
		if (dut->s0_axis_tvalid && dut->s0_axis_tready)
			accept(0, dut->s0_axis_tdata, dut->s0_axis_tkeep, dut->s0_axis_tlast);
		if (dut->s1_axis_tvalid && dut->s1_axis_tready)
			accept(1, dut->s1_axis_tdata, dut->s1_axis_tkeep, dut->s1_axis_tlast);
		dut.tick();
	}
	template <class Data>
	void accept(unsigned which, const Data &data, uint64_t keep, bool last)
	{
		const Stream &other = streams[!which];

		CHECK(in_frame < 0 || in_frame == static_cast<int>(which), "frames are mixed");
		if (in_frame < 0) {
			CHECK(!(other.offered && served == static_cast<int>(which)),
			      "stream %u twice while the other waited", which);
			served = static_cast<int>(which);
		}
		in_frame = last ? -1 : static_cast<int>(which);
		advance(which, {{data[0], data[7], data[15]}, keep, last});
	}
	void take()
	{
		const unsigned which = dut->m_axis_tdata[0];

		CHECK(which < 2 && !waiting[which].empty(), "a beat from nowhere");
		const Beat &beat = waiting[which].front();

		CHECK(dut->m_axis_tdata[7] == beat.word[1] &&
		              dut->m_axis_tdata[15] == beat.word[2] &&
		              dut->m_axis_tkeep == beat.keep && dut->m_axis_tlast == beat.last,
		      "beat %u of frame %u of stream %u differs", beat.word[2], beat.word[1],
		      which);
		frames_out += beat.last;
		waiting[which].pop_front();
	}
	bench::Random random;
	bench::Dut<Vina_merge> dut;
	Stream streams[2];
	std::deque<Beat> waiting[2]; // taken and not yet given
	unsigned percent[2] = {100, 100};
	unsigned ready_percent = 100;
	unsigned frames_out = 0;
	int in_frame = -1; // the stream whose frame has begun
	int served = -1;   // the stream served last
};

} // namespace

int main()
{
	Test().run();
	return 0;
}
