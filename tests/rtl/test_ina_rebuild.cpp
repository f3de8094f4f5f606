// SPDX-License-Identifier: Apache-2.0
//
// ina_rebuild: random headers and payloads in, whole frames out, against frames put together here
// with zlib's iCRC; the tag that comes beside a frame is put into it here. Output stalls at random;
// packets start only with `room`, as ina_pick does.

#include "bench.hpp"
#include "Vina_rebuild.h"

#include <deque>

namespace
{

constexpr unsigned PACKETS = 4000;
constexpr unsigned CLOCKS_MAX = 3000000;

class Test
{
      public:
	Test() : random(bench::seed())
	{
		dut->s_header_valid = 0;
		dut->s_valid = 0;
		dut->m_axis_tready = 0;
		dut.reset();
	}
	/// Sends a packet: its header, and after a few clocks its beats; some packets meet in
	/// flight.
	void packet(size_t quads)
	{
		bench::Packet packet;
		const bool ce = random.chance(30);

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
		while (!dut->room || random.chance(20))
			clock();
		bench::put_header(dut->s_header, frame, quads, bench::header_crc(frame));
		dut->s_header_valid = 1;
		dut->s_header_ce = ce;
		if (ce && bench::is_ecn_capable(frame)) {
			marks += !bench::is_congested(frame);
			bench::put_congested(frame); // the iCRC stays
		}
		expected.push_back(frame);
		const size_t last = bench::beats_of(packet.payload) - 1;
		const uint32_t crc = bench::register_after(packet.payload);

		for (size_t i = 0; i <= last; i++)
			beats.push_back({i == last, crc, packet.payload, i});
		clock();
	}
	void drain()
	{
		while (!expected.empty() || dut->busy)
			clock();
		CHECK(marks == marked, "%u frames marked, must be %u", marked, marks);
	}
	bench::Random random;
	unsigned ready_percent = 50;

      private:
	struct Beat {
		bool last;
		uint32_t crc;
		bench::Bytes payload;
		size_t index;
	};
	/// Chooses the IP identification so that updating the checksum carries round.
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
	void offer_beat()
	{
		dut->s_valid = !beats.empty() && random.chance(80);
		if (!dut->s_valid)
			return;
		const Beat &beat = beats.front();

		bench::put_beat(dut->s_data, beat.payload, beat.index);
		dut->s_last = beat.last;
		dut->s_crc = beat.last ? beat.crc : static_cast<uint32_t>(random.next());
		beats.pop_front();
	}
	void clock()
	{
		CHECK(dut.clocks < CLOCKS_MAX, "%zu frames never came", expected.size());
		dut->m_axis_tready = random.chance(ready_percent);
		dut.settle();
		CHECK(dut->busy || expected.size() == dut->s_header_valid,
		      "not busy with %zu frames to come", expected.size());
		if (dut->m_axis_tvalid && dut->m_axis_tready)
			take();
		dut.tick();
		marked += dut->marked;
		dut->s_header_valid = 0;
		offer_beat(); // for the next clock
	}
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
		CHECK(!expected.empty(), "a frame too many");
		CHECK(frame.size() == expected.front().size(), "frame of %zu bytes, must be %zu",
		      frame.size(), expected.front().size());
		for (size_t i = 0; i < frame.size(); i++)
			CHECK(frame[i] == expected.front()[i],
			      "byte %zu of %zu: %02x, must be %02x", i, frame.size(), frame[i],
			      expected.front()[i]);
		frame.clear();
		expected.pop_front();
	}
	bench::Dut<Vina_rebuild> dut;
	std::deque<bench::Bytes> expected;
	std::deque<Beat> beats;
	bench::Bytes frame;
	bool tagged = false; // the frame
	uint32_t tag = 0;
	unsigned marks = 0, marked = 0;
};

} // namespace

int main()
{
	Test test;

	for (size_t quads = 1; quads <= 256; quads++)
		for (unsigned i = 0; i < 4; i++)
			test.packet(quads);
	for (unsigned i = 0; i < PACKETS; i++) {
		if (i % 50 == 0)
			test.ready_percent =
			        test.random.chance(30)
			                ? 5
			                : static_cast<unsigned>(20 + test.random.below(81));
		test.packet(test.random.chance(60) ? 1 + test.random.below(8)
		                                   : 1 + test.random.below(256));
	}
	test.drain();
	return 0;
}
