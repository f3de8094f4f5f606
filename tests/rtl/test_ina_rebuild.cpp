// SPDX-License-Identifier: Apache-2.0
//
// ina_rebuild: random headers and payloads of both sources go in and whole frames come out. They
// are compared with frames that this file assembles with zlib's iCRC and with the VLAN tag, which
// the module gives on a separate port. Frames leave in the order in which their beats begin,
// whatever their source, and a single source can use the whole line. The output stalls at random.
// Packets start only with `room`, as ina_pick does it.

#include "bench.hpp"
#include "Vina_rebuild.h"

#include <deque>

namespace
{

constexpr unsigned PACKETS = 2000; // of each source
constexpr unsigned CLOCKS_MAX = 3000000;

/// The inputs of one source.
struct Ports {
	decltype(Vina_rebuild::s0_header_valid) header_valid;
	decltype(Vina_rebuild::s0_header) header;
	decltype(Vina_rebuild::s0_header_ce) header_ce;
	decltype(Vina_rebuild::s0_begins) begins; // the clock before a first beat
	decltype(Vina_rebuild::s0_valid) valid;
	decltype(Vina_rebuild::s0_last) last;
	decltype(Vina_rebuild::s0_data) data;
	decltype(Vina_rebuild::s0_crc) crc;
	decltype(Vina_rebuild::s0_room) room;
};

/// One source: it gives headers while there is room, and then the beats of their packets.
class Source
{
      public:
	Source(bench::Random &generator, const Ports &source) : random(generator), ports(source)
	{
		ports.header_valid = ports.begins = ports.valid = 0;
	}

	void clock()
	{
		ports.header_valid = !wanted.empty() && ports.room && random.chance(header_percent);
		if (ports.header_valid)
			give_header();
		ports.valid = gives;
		if (gives)
			give_beat();
		gives = !beats.empty() && random.chance(beat_percent);
		ports.begins = gives && beats.front().index == 0;
	}

	bool begins() const
	{
		return ports.begins;
	}
	bool is_done() const
	{
		return wanted.empty() && expected.empty();
	}
	void pop()
	{
		expected.pop_front();
	}
	unsigned just_given() const
	{
		return ports.header_valid;
	}

	std::deque<size_t> wanted; // quads of packets whose header has not been given
	std::deque<bench::Bytes> expected;
	unsigned header_percent = 80, beat_percent = 80, marks = 0;

      private:
	struct Beat {
		bool last;
		uint32_t crc;
		bench::Bytes payload;
		size_t index;
	};

	void give_header()
	{
		bench::Packet packet;
		const size_t quads = wanted.front();

		wanted.pop_front();
		packet.form = bench::FORMS[random.below(4)];
		packet.vlan = static_cast<uint16_t>(random.next());
		packet.flow_label = static_cast<uint32_t>(random.below(1 << 20));
		packet.tos = static_cast<uint8_t>(random.next());
		packet.psn = static_cast<uint32_t>(random.below(1 << 24));
		packet.source_ip = static_cast<uint32_t>(random.next());
		packet.payload = random.bytes(quads * 16);
		bench::Bytes frame = bench::make_frame(packet);

		if (!packet.form.ipv6 && random.chance(30))
			make_checksum_small(frame);
		bench::put_header(ports.header, frame, quads, bench::header_crc(frame));
		ports.header_ce = random.chance(30);
		if (ports.header_ce && bench::is_ecn_capable(frame)) {
			marks += !bench::is_congested(frame);
			bench::put_congested(frame); // the iCRC stays
		}
		expected.push_back(frame);
		const size_t last = bench::beats_of(packet.payload) - 1;
		const uint32_t crc = bench::register_after(packet.payload);

		for (size_t i = 0; i <= last; i++)
			beats.push_back({i == last, crc, packet.payload, i});
	}

	/// Chooses the IP identification so that the update of the checksum carries over.
	void make_checksum_small(bench::Bytes &frame)
	{
		const unsigned small = static_cast<unsigned>(random.below(4));
		const unsigned checksum = bench::ip_checksum(frame);

		if (checksum < small)
			return;
		bench::put_be16(frame, bench::form_of(frame).ip() + 4, checksum - small);
		bench::put_ip_checksum(frame);
		bench::seal(frame);
	}

	void give_beat()
	{
		const Beat &beat = beats.front();

		bench::put_beat(ports.data, beat.payload, beat.index);
		ports.last = beat.last;
		ports.crc = beat.last ? beat.crc : static_cast<uint32_t>(random.next());
		beats.pop_front();
	}

	bench::Random &random;
	Ports ports;
	std::deque<Beat> beats;
	bool gives = false; // one of the sources gives a beat in the next clock
};

class Test
{
      public:
	explicit Test(bench::Random &generator)
	    : random(generator), sources{{random,
	                                  {dut->s0_header_valid, dut->s0_header, dut->s0_header_ce,
	                                   dut->s0_begins, dut->s0_valid, dut->s0_last,
	                                   dut->s0_data, dut->s0_crc, dut->s0_room}},
	                                 {random,
	                                  {dut->s1_header_valid, dut->s1_header, dut->s1_header_ce,
	                                   dut->s1_begins, dut->s1_valid, dut->s1_last,
	                                   dut->s1_data, dut->s1_crc, dut->s1_room}}}
	{
		dut->m_axis_tready = 0;
		dut.reset();
	}

	void clock()
	{
		CHECK(dut.clocks < CLOCKS_MAX, "%zu and %zu frames never came",
		      sources[0].expected.size(), sources[1].expected.size());
		dut->m_axis_tready = random.chance(ready_percent);
		for (unsigned s = 0; s < 2; s++) {
			sources[s].clock();
			if (sources[s].begins())
				order.push_back(s);
		}
		dut.settle();
		for (const Source &source : sources)
			CHECK(dut->busy || source.expected.size() == source.just_given(),
			      "not busy with %zu frames to come", source.expected.size());
		idle_clocks += !dut->m_axis_tvalid && has_begun;
		has_begun |= dut->m_axis_tvalid;
		if (dut->m_axis_tvalid && dut->m_axis_tready)
			take();
		dut.tick();
		marked += dut->marked;
	}

	void drain()
	{
		while (!sources[0].is_done() || !sources[1].is_done())
			clock();
		for (unsigned i = 0; i < 4; i++)
			clock();
		CHECK(!dut->busy, "busy with nothing");
		CHECK(sources[0].marks + sources[1].marks == marked,
		      "%u frames marked, must be %u and %u", marked, sources[0].marks,
		      sources[1].marks);
	}

	bench::Random &random;
	bench::Dut<Vina_rebuild> dut;
	Source sources[2];
	unsigned ready_percent = 50;
	unsigned idle_clocks = 0; // idle clocks of the line, after the first beat
	unsigned frames[2] = {};

      private:
	void take()
	{
		const size_t count = static_cast<size_t>(__builtin_popcountll(dut->m_axis_tkeep));
		const bench::Bytes beat = bench::get(dut->m_axis_tdata, 0, count);

		CHECK(dut->m_axis_tkeep == bench::keep_mask(count), "holes in tkeep");
		CHECK(dut->m_axis_tlast || count == bench::BEAT_BYTES,
		      "a short beat inside a frame");
		if (frame.empty()) {
			tagged = dut->m_tagged;
			tag = dut->m_tag;
		}
		CHECK(dut->m_tagged == tagged && dut->m_tag == tag,
		      "the tag changes inside a frame");
		frame.insert(frame.end(), beat.begin(), beat.end());
		if (!dut->m_axis_tlast)
			return;
		if (tagged)
			for (int i = 0; i < 4; i++)
				frame.insert(frame.begin() + 12 + i,
				             static_cast<uint8_t>(tag >> 8 * i));
		const unsigned from = whose();
		Source &source = sources[from];

		CHECK(!source.expected.empty(), "a frame too many");
		const bench::Bytes &want = source.expected.front();
		CHECK(frame.size() == want.size(), "frame of %zu bytes, must be %zu", frame.size(),
		      want.size());
		for (size_t i = 0; i < frame.size(); i++)
			CHECK(frame[i] == want[i], "byte %zu of %zu: %02x, must be %02x", i,
			      frame.size(), frame[i], want[i]);
		CHECK(order.front() == from, "a frame of source %u, which began later", from);
		order.pop_front();
		frames[from]++;
		frame.clear();
		source.pop();
	}

	/// The source of the frame. The sources have different random MAC addresses and PSNs, so
	/// the frame is the first source's unless it equals the other's next one.
	unsigned whose() const
	{
		return !sources[1].expected.empty() && sources[1].expected.front() == frame;
	}

	std::deque<unsigned> order; // the packets' sources, in the order in which the packets began
	bench::Bytes frame;
	bool tagged = false; // the frame
	uint32_t tag = 0;
	unsigned marked = 0;
	bool has_begun = false;
};

/// Both sources at the same time, at any pace.
void test_both(bench::Random &random)
{
	Test test(random);

	for (Source &source : test.sources) {
		for (size_t quads = 1; quads <= 256; quads++)
			for (unsigned i = 0; i < 2; i++)
				source.wanted.push_back(quads);
		for (unsigned i = 0; i < PACKETS; i++)
			source.wanted.push_back(1 + random.below(random.chance(60) ? 8 : 256));
	}
	while (!test.sources[0].is_done() || !test.sources[1].is_done()) {
		test.ready_percent =
		        random.chance(30) ? 5 : static_cast<unsigned>(20 + random.below(81));
		for (Source &source : test.sources)
			source.header_percent = random.chance(20) ? 2 : 80;
		for (unsigned i = 0; i < 2000; i++)
			test.clock();
	}
	test.drain();
	CHECK(test.frames[0] == PACKETS + 512 && test.frames[1] == PACKETS + 512,
	      "%u and %u frames", test.frames[0], test.frames[1]);
}

/// Payloads of whole beats, and a line that is always ready: a beat leaves in every clock, whether
/// one source sends or both do.
void test_full_rate(bench::Random &random)
{
	for (unsigned who = 1; who <= 3; who++) {
		Test test(random);

		test.ready_percent = 100;
		for (unsigned s = 0; s < 2; s++) {
			test.sources[s].header_percent = test.sources[s].beat_percent = 100;
			for (size_t beats = 1; (who >> s & 1) && beats <= 128; beats++)
				test.sources[s].wanted.push_back(
				        4 * (beats <= 64 ? beats : 129 - beats));
		}
		while (!test.sources[0].is_done() || !test.sources[1].is_done())
			test.clock();
		CHECK(test.idle_clocks == 0, "of sources %x the line is idle for %u clocks", who,
		      test.idle_clocks);
	}
}

/// Headers without beats, as many as fit, do not delay packets of the other source.
void test_late_beats(bench::Random &random)
{
	for (unsigned late = 0; late < 2; late++) {
		Test test(random);
		Source &source = test.sources[late], &other = test.sources[1 - late];

		source.beat_percent = 0;
		source.wanted.assign(100, 4);
		for (unsigned i = 0; i < 20; i++)
			test.clock();
		other.wanted.assign(20, 16);
		for (unsigned i = 0; i < 1000; i++)
			test.clock();
		CHECK(other.is_done(), "%zu frames wait for source %u", other.expected.size(),
		      late);
		source.beat_percent = 80;
		test.drain();
	}
}

} // namespace

int main()
{
	bench::Random random(bench::seed());

	test_late_beats(random);
	test_full_rate(random);
	test_both(random);
	return 0;
}
