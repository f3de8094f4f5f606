// SPDX-License-Identifier: Apache-2.0
//
// ina_trace: a TRACE leaves with the switch's id and port and its jobs in its level's slot, as
// docs/protocol.md has it, and with the iCRC of that; whatever the slot had before, in each form
// and at each level. Every other frame leaves as it came, those that only look like a TRACE too,
// and at a beat a clock.

#include "bench.hpp"
#include "wire/ina_wire.h"
#include "Vina_trace.h"

#include <deque>

namespace
{

constexpr unsigned CLOCKS_MAX = 5000000;

struct Frame {
	bench::Bytes bytes;
	bool trace;
};

struct Mark {
	unsigned level, port, jobs;
	uint64_t id;
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
	/// While nothing is in here.
	void set_mark(const Mark &mark)
	{
		const uint16_t upper =
		        static_cast<uint16_t>(mark.level << 11 | mark.port << 7 | mark.jobs);

		bench::put(dut->mark, 0, &mark.id, 8);
		bench::put(dut->mark, 8, &upper, 2);
	}
	void put(const Frame &in, const bench::Bytes &out)
	{
		frames.push_back(in);
		expected.push_back(out);
	}
	/// Clocks until all is out.
	uint64_t drain()
	{
		const uint64_t begin = dut.clocks;

		while (!expected.empty())
			clock();
		dut.settle();
		CHECK(!dut->busy && !dut->m_axis_tvalid, "busy with nothing");
		return dut.clocks - begin;
	}

      private:
	bench::Dut<Vina_trace> dut;
	std::deque<Frame> frames;
	std::deque<bench::Bytes> expected;
	size_t given = 0, taken = 0; // beats of the first frame of each
	bool offered = false, waits = false;
	bench::Bytes waiting; // what was at the output, and not taken

	void clock()
	{
		CHECK(dut.clocks < CLOCKS_MAX, "stuck with %zu frames to come", expected.size());
		if (!offered && !frames.empty() && random.chance(valid_percent)) {
			const bench::Bytes &bytes = frames.front().bytes;

			dut->s_axis_tkeep = bench::put_beat(dut->s_axis_tdata, bytes, given);
			dut->s_axis_tlast = given + 1 == bench::beats_of(bytes);
			dut->s_trace = frames.front().trace;
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
		CHECK(!dut->m_axis_tvalid || dut->busy, "not busy with a beat on the way out");
		waits = dut->m_axis_tvalid && !dut->m_axis_tready;
		waiting = beat;
		if (dut->m_axis_tvalid && dut->m_axis_tready)
			take(beat);
	}
	void take(const bench::Bytes &beat)
	{
		CHECK(!expected.empty(), "a frame too many");
		const bench::Bytes &frame = expected.front();
		const size_t at = taken * bench::BEAT_BYTES;
		const size_t count = std::min(frame.size() - at, bench::BEAT_BYTES);

		CHECK(dut->m_axis_tkeep == bench::keep_mask(count), "tkeep differs");
		for (size_t i = 0; i < count; i++)
			CHECK(beat[i] == frame[at + i], "byte %zu of %zu is %02x, not %02x", at + i,
			      frame.size(), beat[i], frame[at + i]);
		taken++;
		CHECK(dut->m_axis_tlast == (taken == bench::beats_of(frame)), "tlast at beat %zu",
		      taken);
		if (!dut->m_axis_tlast)
			return;
		taken = 0;
		expected.pop_front();
	}
};

/// A TRACE with any content of its slots, and with a UDP checksum, which the iCRC does not cover.
bench::Bytes trace_frame(bench::Random &random)
{
	bench::Packet packet;
	ina_wire_header header = {};

	header.magic = INA_WIRE_MAGIC;
	header.version = INA_WIRE_VERSION;
	header.type = INA_WIRE_TRACE;
	header.job_id = random.next();
	packet.form = bench::FORMS[random.below(4)];
	packet.vlan = static_cast<uint16_t>(random.next());
	packet.qpn = static_cast<uint32_t>(random.next()) & 0xFFFFFF;
	packet.psn = static_cast<uint32_t>(random.next()) & 0xFFFFFF;
	packet.payload = random.bytes(96);
	std::memcpy(packet.payload.data(), &header, sizeof(header));
	if (random.chance(50)) // as the host sends it
		std::fill(packet.payload.begin() + 32, packet.payload.begin() + 80, 0);
	bench::Bytes frame = bench::make_frame(packet);

	bench::put_be16(frame, packet.form.udp() + 6, static_cast<unsigned>(random.below(65536)));
	return frame;
}

/// What must leave: the id, the port and the jobs in the slot, all little-endian; no UDP checksum.
bench::Bytes written(bench::Bytes frame, const Mark &mark)
{
	const bench::Form form = bench::form_of(frame);
	const size_t slot = form.payload() + 32 + 16 * (mark.level - 1);

	for (size_t i = 0; i < 16; i++)
		frame[slot + i] = 0;
	for (size_t i = 0; i < 8; i++)
		frame[slot + i] = static_cast<uint8_t>(mark.id >> 8 * i);
	frame[slot + 8] = static_cast<uint8_t>(mark.port);
	frame[slot + 12] = static_cast<uint8_t>(mark.jobs);
	bench::put_be16(frame, form.udp() + 6, 0);
	bench::seal(frame);
	return frame;
}

bench::Bytes other_frame(bench::Random &random)
{
	return random.chance(30) ? trace_frame(random) : random.bytes(1 + random.below(400));
}

/// Each level, ports from the first to the last, any id.
void test_written(Test &test)
{
	for (unsigned level = 1; level <= INA_WIRE_LEVELS; level++)
		for (unsigned port = 0; port < 16; port++) {
			const Mark mark = {level, port,
			                   static_cast<unsigned>(test.random.below(65)),
			                   test.random.next()};

			test.set_mark(mark);
			test.ready_percent = static_cast<unsigned>(5 + test.random.below(96));
			test.valid_percent = static_cast<unsigned>(5 + test.random.below(96));
			for (unsigned i = 0; i < 60; i++) {
				const bool trace = test.random.chance(40);
				const bench::Bytes frame =
				        trace ? trace_frame(test.random) : other_frame(test.random);

				test.put({frame, trace}, trace ? written(frame, mark) : frame);
			}
			test.drain();
		}
}

/// One clock, and a beat a clock; a TRACE holds up what is behind it for a hundred clocks at most.
void test_clocks(Test &test)
{
	const Mark mark = {2, 5, 3, 0x0123456789ABCDEF};
	uint64_t beats = 0;

	test.set_mark(mark);
	test.ready_percent = test.valid_percent = 100;
	for (unsigned i = 0; i < 200; i++) {
		const bench::Bytes frame = other_frame(test.random);

		beats += bench::beats_of(frame);
		test.put({frame, false}, frame);
	}
	const uint64_t plain = test.drain();

	CHECK(plain == beats + 1, "%llu clocks for %llu beats",
	      static_cast<unsigned long long>(plain), static_cast<unsigned long long>(beats));
	const bench::Bytes trace = trace_frame(test.random);

	test.put({trace, true}, written(trace, mark));
	const uint64_t clocks = test.drain();

	CHECK(clocks <= 100, "%llu clocks for a TRACE", static_cast<unsigned long long>(clocks));
}

} // namespace

int main()
{
	Test test;

	test_written(test);
	test_clocks(test);
	return 0;
}
