// SPDX-License-Identifier: Apache-2.0
//
// ina_merge: frames of both streams come out whole, in the order of their stream. Frames whose VLAN
// tag comes on a separate port have the tag after their MAC addresses. While both streams have
// frames, they take turns. With `drops` no stream waits for the output: a beat that the output does
// not take is lost, with the rest of its frame, and a frame that has lost its end gets an end of
// one byte.

#include "bench.hpp"
#include "Vina_merge.h"

#include <deque>

namespace
{

constexpr unsigned FRAMES = 20000;
constexpr unsigned CLOCKS_MAX = 2000000;
constexpr size_t MACS_BYTES = 12;

// A source of frames. The first byte of each frame names its stream.
struct Stream {
	bench::Bytes frame;
	size_t sent = 0; // bytes of the frame that were sent
	bool tagged = false;
	uint32_t tag = 0;
	bool offered = false;

	size_t count() const
	{
		return std::min(frame.size() - sent, bench::BEAT_BYTES);
	}
};

/// A frame that is to come out, or the part of it that was kept, and one byte more.
struct Expected {
	bench::Bytes bytes;
	bool cut = false;
};

class Test
{
      public:
	Test() : random(bench::seed())
	{
		dut->s0_axis_tvalid = 0;
		dut->s1_axis_tvalid = 0;
		dut->m_axis_tready = 0;
		for (unsigned which = 0; which < 2; which++)
			begin(which);
		dut.reset();
	}
	void run()
	{
		while (frames_out < FRAMES)
			clock();
		CHECK(spilled > FRAMES / 200, "only %u frames were made a beat longer", spilled);
		CHECK(lost > FRAMES / 100 && cuts > FRAMES / 200 && spills_cut > 10,
		      "%u frames lost, %u cut, %u of these before their last bytes", lost, cuts,
		      spills_cut);
	}

      private:
	void begin(unsigned which)
	{
		Stream &stream = streams[which];

		stream.frame = random.bytes(MACS_BYTES + 2 + random.below(6 * bench::BEAT_BYTES));
		stream.frame[0] = static_cast<uint8_t>(which);
		stream.sent = 0;
		stream.tagged = which == 0 && random.chance(50);
		stream.tag = static_cast<uint32_t>(random.next());
	}
	template <class Data>
	void offer(unsigned which, uint8_t &valid, Data &data, uint64_t &keep, uint8_t &last)
	{
		Stream &stream = streams[which];

		stream.offered = stream.offered || random.chance(percent[which]);
		valid = stream.offered;
		const bench::Bytes noise = random.bytes(bench::BEAT_BYTES);
		bench::put(data, 0, noise.data(), noise.size());
		bench::put(data, 0, stream.frame.data() + stream.sent, stream.count());
		keep = bench::keep_mask(stream.count());
		last = stream.sent + stream.count() == stream.frame.size();
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
			drops_percent =
			        random.chance(30) ? static_cast<unsigned>(random.below(101)) : 0;
			if (drops_percent > 50)
				ready_percent = static_cast<unsigned>(random.below(20));
		}
		offer(0, dut->s0_axis_tvalid, dut->s0_axis_tdata, dut->s0_axis_tkeep,
		      dut->s0_axis_tlast);
		offer(1, dut->s1_axis_tvalid, dut->s1_axis_tdata, dut->s1_axis_tkeep,
		      dut->s1_axis_tlast);
		// The tag is valid only while a beat is offered.
		dut->s0_tagged = dut->s0_axis_tvalid ? streams[0].tagged : random.chance(50);
		dut->s0_tag =
		        dut->s0_axis_tvalid ? streams[0].tag : static_cast<uint32_t>(random.next());
		dut->m_axis_tready = random.chance(ready_percent);
		dut->drops = random.chance(drops_percent);
		dut.settle();
		const bool blocked = is_cut || (dut->m_axis_tvalid && !dut->m_axis_tready);

		is_cut = is_cut && !dut->m_axis_tready;
		if (dut->m_axis_tvalid && dut->m_axis_tready)
			take();
		spill(blocked);
		const bool taken[2] = {dut->s0_axis_tvalid && dut->s0_axis_tready,
		                       dut->s1_axis_tvalid && dut->s1_axis_tready};
		for (unsigned which = 0; which < 2; which++)
			if (taken[which])
				accept(which, blocked);
		dut.tick();
	}
	/// The bytes of a frame for which its last beat had no room.
	void spill(bool blocked)
	{
		if (!spills || (blocked && !dut->drops && !losing))
			return;
		if (blocked && !losing) {
			Expected &last = expected.back();

			last.bytes.resize(beats * bench::BEAT_BYTES);
			last.cut = is_cut = true;
			spills_cut++;
			cuts++;
		}
		spills = losing = false;
	}
	void accept(unsigned which, bool blocked)
	{
		Stream &stream = streams[which];

		CHECK(!spills, "a beat is taken before the last frame's end");
		if (in_frame < 0)
			beats = 0;
		if (!losing && blocked) {
			CHECK(dut->drops, "a beat is taken over one that waits");
			losing = true;
			lost++;
			if (beats > 0) {
				is_cut = true;
				cuts++;
				expected.push_back({whole(stream), true});
				expected.back().bytes.resize(beats * bench::BEAT_BYTES);
			}
		}
		beats++;
		CHECK(in_frame < 0 || in_frame == static_cast<int>(which), "frames are mixed");
		if (in_frame < 0) {
			CHECK(!(streams[!which].offered && served == static_cast<int>(which)),
			      "stream %u twice while the other waited", which);
			served = static_cast<int>(which);
		}
		stream.offered = false;
		stream.sent += stream.count();
		in_frame = static_cast<int>(which);
		if (stream.sent < stream.frame.size())
			return;
		in_frame = -1;
		const bench::Bytes frame = whole(stream);

		spills = bench::beats_of(frame) > bench::beats_of(stream.frame);
		spilled += spills;
		if (!losing)
			expected.push_back({frame});
		losing = losing && spills;
		begin(which);
	}
	static bench::Bytes whole(const Stream &stream)
	{
		bench::Bytes frame = stream.frame;

		for (int i = 3; i >= 0 && stream.tagged; i--)
			frame.insert(frame.begin() + MACS_BYTES,
			             static_cast<uint8_t>(stream.tag >> 8 * i));
		return frame;
	}
	void take()
	{
		const size_t count = static_cast<size_t>(__builtin_popcountll(dut->m_axis_tkeep));
		const bench::Bytes beat = bench::get(dut->m_axis_tdata, 0, count);

		CHECK(dut->m_axis_tkeep == bench::keep_mask(count), "holes in tkeep");
		CHECK(count == bench::BEAT_BYTES || dut->m_axis_tlast,
		      "a short beat inside a frame");
		frame.insert(frame.end(), beat.begin(), beat.end());
		if (!dut->m_axis_tlast)
			return;
		CHECK(!expected.empty(), "a frame from nowhere, or too early an end");
		if (expected.front().cut)
			frame.pop_back();
		CHECK(frame == expected.front().bytes, "frame %u, of stream %u, differs",
		      frames_out, frame[0]);
		expected.pop_front();
		frame.clear();
		frames_out++;
	}
	bench::Random random;
	bench::Dut<Vina_merge> dut;
	Stream streams[2];
	std::deque<Expected> expected; // taken whole, and not out yet
	bench::Bytes frame;            // bytes of the next frame that have come out
	unsigned percent[2] = {100, 100};
	unsigned ready_percent = 100;
	unsigned frames_out = 0;
	unsigned spilled = 0, lost = 0, cuts = 0, spills_cut = 0;
	unsigned drops_percent = 0;
	bool losing = false; // the frame that goes in is lost from some beat on
	bool is_cut = false; // the frame that has come out is to get an end
	bool spills = false; // the last frame has more bytes than were taken
	size_t beats = 0;    // beats of the frame that goes in, taken and not lost
	int in_frame = -1;   // the stream whose frame has begun
	int served = -1;     // the stream that was served last
};

} // namespace

int main()
{
	Test().run();
	return 0;
}
