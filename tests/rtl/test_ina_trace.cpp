// SPDX-License-Identifier: Apache-2.0
//
// ina_trace: a TRACE leaves with the switch's id, the port and the number of jobs in the slot of
// the switch's level, as docs/protocol.md says, and with the new iCRC, in each form and at each
// level. The values from ina_top change between frames and within them. Every other frame leaves
// unchanged, including frames that only resemble a TRACE. All leave at a beat a clock.

#include "bench.hpp"
#include "Vina_trace.h"

namespace
{

constexpr unsigned CLOCKS_MAX = 5000000;

struct Mark {
	unsigned level, port, jobs;
	uint64_t id;
	uint32_t crc;
};

struct Frame {
	bench::Bytes bytes;
	bool trace;
	Mark mark; // while its first beat is offered
};

class Test
{
      public:
	bench::Random random;
	unsigned ready_percent = 50, valid_percent = 50;

	Test() : random(bench::seed())
	{
		dut->s_axis_tvalid = 0;
		dut->m_axis_tready = 0;
		dut.reset();
	}
	/// From the next frame on. Level, port and id stay unchanged while frames are in the
	/// module.
	void set_mark(const Mark &mark)
	{
		const uint64_t upper = static_cast<uint64_t>(mark.crc) << 13 | mark.level << 11 |
		                       mark.port << 7 | mark.jobs;

		bench::put(dut->mark, 0, &mark.id, 8);
		bench::put(dut->mark, 8, &upper, 6);
	}
	void put(const Frame &in, const bench::Bytes &out)
	{
		frames.push_back(in);
		expected.frames.push_back(out);
	}
	/// Runs until all frames are out, and returns the clocks.
	uint64_t drain()
	{
		const uint64_t begin = dut.clocks;

		while (!expected.frames.empty())
			clock();
		dut.settle();
		CHECK(!dut->m_axis_tvalid, "a beat too many");
		return dut.clocks - begin;
	}

      private:
	bench::Dut<Vina_trace> dut;
	std::deque<Frame> frames;
	bench::ExpectedFrames expected;
	size_t given = 0; // beats of the first frame
	bool offered = false, waits = false;
	bench::Bytes waiting; // the beat that was at the output, and not taken

	void clock()
	{
		CHECK(dut.clocks < CLOCKS_MAX, "stuck with %zu frames to come",
		      expected.frames.size());
		if (!offered && !frames.empty() && random.chance(valid_percent)) {
			const bench::Bytes &bytes = frames.front().bytes;

			dut->s_axis_tkeep = bench::put_beat(dut->s_axis_tdata, bytes, given);
			dut->s_axis_tlast = given + 1 == bench::beats_of(bytes);
			dut->s_trace = frames.front().trace;
			Mark mark = frames.front().mark;

			if (given > 0) { // the number of jobs has changed since
				mark.jobs = static_cast<unsigned>(random.below(65));
				mark.crc = static_cast<uint32_t>(random.next());
			}
			set_mark(mark);
			offered = true;
		}
		dut->s_axis_tvalid = offered;
		dut->m_axis_tready = random.chance(ready_percent);
		dut.settle();
		const bool goes_in = offered && dut->s_axis_tready;

		look();
		dut.tick();
		if (!goes_in)
			return;
		offered = false;
		if (++given == bench::beats_of(frames.front().bytes)) {
			given = 0;
			frames.pop_front();
		}
	}
	void look()
	{
		const bench::Bytes beat = bench::get(dut->m_axis_tdata, 0, bench::BEAT_BYTES);

		CHECK(!waits || (dut->m_axis_tvalid && beat == waiting), "a beat did not wait");
		waits = dut->m_axis_tvalid && !dut->m_axis_tready;
		waiting = beat;
		if (dut->m_axis_tvalid && dut->m_axis_tready)
			expected.take(dut->m_axis_tdata, dut->m_axis_tkeep, dut->m_axis_tlast);
	}
};

/// A TRACE whose slot of `level` is empty; the other slots are random. It has a UDP checksum, which
/// the iCRC does not cover.
bench::Bytes trace_frame(bench::Random &random, unsigned level)
{
	const ina_wire_header header = bench::wire_header(INA_WIRE_TRACE, 0, random.next());
	bench::Packet packet;

	packet.form = bench::FORMS[random.below(4)];
	packet.vlan = static_cast<uint16_t>(random.next());
	packet.qpn = static_cast<uint32_t>(random.next()) & 0xFFFFFF;
	packet.psn = static_cast<uint32_t>(random.next()) & 0xFFFFFF;
	packet.payload = random.bytes(96);
	std::memcpy(packet.payload.data(), &header, sizeof(header));
	if (random.chance(50)) // as the host sends it
		std::fill(packet.payload.begin() + 32, packet.payload.begin() + 80, 0);
	std::fill_n(packet.payload.begin() + 16 + 16 * level, 16, 0);
	bench::Bytes frame = bench::make_frame(packet);

	bench::put_be16(frame, packet.form.udp() + 6, static_cast<unsigned>(random.below(65536)));
	return frame;
}

/// The frame that must leave: it has the id, the port and the number of jobs in the slot, all
/// little-endian, and no UDP checksum.
bench::Bytes written(bench::Bytes frame, const Mark &mark)
{
	const bench::Form form = bench::form_of(frame);
	const size_t slot = form.payload() + 32 + 16 * (mark.level - 1);

	for (size_t i = 0; i < 8; i++)
		frame[slot + i] = static_cast<uint8_t>(mark.id >> 8 * i);
	frame[slot + 8] = static_cast<uint8_t>(mark.port);
	frame[slot + 12] = static_cast<uint8_t>(mark.jobs);
	bench::put_be16(frame, form.udp() + 6, 0);
	bench::seal(frame);
	return frame;
}

/// The difference that the slot makes in the iCRC of any TRACE.
uint32_t crc_of(bench::Random &random, const Mark &mark)
{
	const bench::Bytes empty = trace_frame(random, mark.level), full = written(empty, mark);
	uint32_t crc = 0;

	for (size_t i = 1; i <= 4; i++)
		crc = crc << 8 | (empty[empty.size() - i] ^ full[full.size() - i]);
	return crc;
}

bench::Bytes other_frame(bench::Random &random)
{
	return random.chance(30) ? trace_frame(random, 1 + random.below(INA_WIRE_LEVELS))
	                         : random.bytes(1 + random.below(400));
}

/// Each level, ports from the first to the last, any id.
void test_written(Test &test)
{
	for (unsigned level = 1; level <= INA_WIRE_LEVELS; level++)
		for (unsigned port = 0; port < 16; port++) {
			Mark mark = {level, port, 0, test.random.next(), 0};

			test.ready_percent = static_cast<unsigned>(5 + test.random.below(96));
			test.valid_percent = static_cast<unsigned>(5 + test.random.below(96));
			for (unsigned i = 0; i < 60; i++) {
				const bool trace = test.random.chance(40);
				const bench::Bytes frame = trace ? trace_frame(test.random, level)
				                                 : other_frame(test.random);

				mark.jobs = static_cast<unsigned>(test.random.below(65));
				mark.crc = crc_of(test.random, mark);
				test.put({frame, trace, mark},
				         trace ? written(frame, mark) : frame);
			}
			test.drain();
		}
}

/// A delay of one clock, and a beat a clock, for TRACEs too.
void test_clocks(Test &test)
{
	Mark mark = {2, 5, 3, 0x0123456789ABCDEF, 0};
	uint64_t beats = 0;

	mark.crc = crc_of(test.random, mark);
	test.ready_percent = test.valid_percent = 100;
	for (unsigned i = 0; i < 200; i++) {
		const bool trace = test.random.chance(50);
		const bench::Bytes frame =
		        trace ? trace_frame(test.random, mark.level) : other_frame(test.random);

		beats += bench::beats_of(frame);
		test.put({frame, trace, mark}, trace ? written(frame, mark) : frame);
	}
	const uint64_t clocks = test.drain();

	CHECK(clocks == beats + 1, "%llu clocks for %llu beats",
	      static_cast<unsigned long long>(clocks), static_cast<unsigned long long>(beats));
}

} // namespace

int main()
{
	Test test;

	test_written(test);
	test_clocks(test);
	return 0;
}
