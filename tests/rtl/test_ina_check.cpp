// SPDX-License-Identifier: Apache-2.0
//
// ina_check, and with it ina_beat_crc, against iCRCs made with zlib: correct packets of all
// lengths, with changes in the fields that routers may change, and packets with one wrong bit.

#include "bench.hpp"
#include "Vina_check.h"

namespace
{

constexpr unsigned PACKETS = 6000;
constexpr size_t QUAD_BYTES = 16;

class Test
{
      public:
	Test() : random(bench::seed())
	{
		dut->s_valid = dut->s_head = 0;
		dut->en = 1;
		dut.reset();
	}
	/// Sends the frame as ina_parse would: its headers, then its payload with the iCRC. A frame
	/// that is no candidate has one beat of random bytes, and may be that short.
	void packet(const bench::Bytes &frame, bool candidate, bool wrong_length, bool ok)
	{
		const bench::Form form = bench::form_of(frame);
		const size_t at = form.payload();
		const size_t quads = (frame.size() - at - bench::ICRC_BYTES) / QUAD_BYTES;
		const size_t beats = candidate ? (quads + 3) / 4 : 1;
		const bool roce_data = candidate || random.chance(50);
		bench::Bytes record = bench::record_of(frame),
		             body(frame.begin() + static_cast<long>(at), frame.end());

		while (random.chance(10))
			clock();
		std::fill(record.begin(), record.begin() + 18, 0);
		bench::put(dut->s_data, 0, &record[record.size() - bench::BEAT_BYTES],
		           bench::BEAT_BYTES);
		dut->s_head = 1;
		dut->s_head_ipv6 = form.ipv6;
		clock();
		bench::put_header(dut->s_header, frame, quads);
		dut->s_candidate = candidate;
		dut->s_roce_data = roce_data;
		body.resize(beats * bench::BEAT_BYTES + bench::ICRC_BYTES);
		for (size_t i = 0; i < beats; i++) {
			const bool last = i + 1 == beats, trailed = random.chance(50);
			const size_t left = quads - 4 * i;
			uint32_t after;
			bench::Bytes data(&body[i * bench::BEAT_BYTES],
			                  &body[(i + 1) * bench::BEAT_BYTES]);

			while (random.chance(10))
				clock();
			bench::put(dut->s_data, 0, data.data(), bench::BEAT_BYTES);
			std::memcpy(&after, &body[(i + 1) * bench::BEAT_BYTES], sizeof(after));
			dut->s_after = left < 4 ? static_cast<uint32_t>(random.next()) : after;
			dut->s_valid = 1;
			dut->s_first = i == 0;
			dut->s_last = last;
			dut->s_quads = static_cast<uint8_t>(left < 4 ? left : 4);
			dut->s_wrong_length = last && wrong_length;
			dut->s_trailed = trailed;
			if (left < 4)
				std::fill_n(&data[left * QUAD_BYTES], bench::ICRC_BYTES, 0);
			sent.push_back(
			        {i == 0, last, candidate, roce_data, ok, trailed, frame, data});
			clock();
		}
	}
	void drain()
	{
		for (unsigned i = 0; i < 64; i++)
			clock();
		CHECK(next == sent.size(), "%zu beats of %zu came out", next, sent.size());
		CHECK(!dut->busy, "busy without a beat");
	}
	bench::Random random;

      private:
	struct Beat {
		bool first, last, candidate, roce_data, ok, trailed;
		bench::Bytes frame, data;
	};
	// Runs one clock with en = 1; clocks with en = 0 may come before it.
	void clock()
	{
		while (random.chance(20)) {
			dut->en = 0;
			dut.tick();
		}
		dut->en = 1;
		dut.settle();
		if (dut->m_valid)
			compare();
		dut.tick();
		dut->s_valid = dut->s_head = 0;
	}
	void compare()
	{
		CHECK(next < sent.size(), "a beat too many");
		const Beat &beat = sent[next++];

		CHECK(dut->m_first == beat.first && dut->m_last == beat.last &&
		              dut->m_candidate == beat.candidate &&
		              dut->m_roce_data == beat.roce_data,
		      "a beat lost its marks");
		if (!beat.candidate)
			return;
		CHECK(bench::get(dut->m_header, 0, bench::RECORD_BYTES) ==
		              bench::record_of(beat.frame),
		      "the header changed");
		CHECK(bench::get_header_crc(dut->m_header) == bench::header_crc(beat.frame),
		      "the headers' CRC is %08x", bench::get_header_crc(dut->m_header));
		CHECK(bench::get(dut->m_data, 0, bench::BEAT_BYTES) == beat.data, "data changed");
		CHECK(dut->m_trailed == beat.trailed, "m_trailed = %d", dut->m_trailed);
		CHECK(!beat.last || dut->m_ok == beat.ok, "m_ok = %d for %zu bytes", dut->m_ok,
		      beat.frame.size());
	}
	bench::Dut<Vina_check> dut;
	std::vector<Beat> sent;
	size_t next = 0;
};

bench::Bytes random_frame(bench::Random &random, size_t quads)
{
	bench::Packet packet;

	packet.form = bench::FORMS[random.below(4)];
	packet.vlan = static_cast<uint16_t>(random.next());
	packet.flow_label = static_cast<uint32_t>(random.below(1 << 20));
	packet.psn = static_cast<uint32_t>(random.below(1 << 24));
	packet.qpn = static_cast<uint32_t>(random.below(1 << 24));
	packet.source_ip = static_cast<uint32_t>(random.next());
	packet.destination_ip = static_cast<uint32_t>(random.next());
	packet.payload = random.bytes(quads * QUAD_BYTES);
	return bench::make_frame(packet);
}

/// The bits of a frame that routers may change, or that the iCRC does not cover.
bench::Bytes changing_bits(const bench::Bytes &frame)
{
	const bench::Form form = bench::form_of(frame);
	bench::Bytes zeros = frame;

	std::fill(zeros.begin() + static_cast<long>(form.ip()), zeros.end(), 0);
	bench::Bytes bits = bench::with_ones(zeros);
	bits.insert(bits.begin(), form.ip(), 0xFF);
	return bits;
}

void change_in_flight(bench::Random &random, bench::Bytes &frame)
{
	const bench::Form form = bench::form_of(frame);
	const bench::Bytes bits = changing_bits(frame);

	for (size_t at = 0; at < frame.size(); at++)
		if (at < 12 || at >= form.ip()) // except the EtherTypes, which determine the form
			frame[at] ^= bits[at] & static_cast<uint8_t>(random.next());
}

// Flips one bit of the covered fields, the payload or the iCRC.
void spoil(bench::Random &random, bench::Bytes &frame)
{
	const bench::Bytes bits = changing_bits(frame);
	uint8_t flip;
	size_t at;

	do {
		at = random.below(frame.size());
		flip = static_cast<uint8_t>(1u << random.below(8));
	} while (bits[at] & flip);
	frame[at] ^= flip;
}

/// Packets that Linux's rdma_rxe sent (tests/model), with its own iCRC.
const bench::Bytes RXE_PACKETS[] = {{
#include "../model/rxe_packet.inc"
                                    },
                                    {
#include "../model/rxe_packet_ipv6.inc"
                                    }};

} // namespace

int main()
{
	Test test;

	for (const bench::Bytes &frame : RXE_PACKETS)
		test.packet(frame, true, false, true);

	for (size_t quads = 1; quads <= 256; quads++)
		test.packet(random_frame(test.random, quads), true, false, true);
	for (unsigned i = 0; i < PACKETS; i++) {
		bench::Bytes frame = random_frame(test.random, 1 + test.random.below(20));
		const bool bad = test.random.chance(30);
		const bool wrong_length = test.random.chance(5);

		change_in_flight(test.random, frame);
		if (bad)
			spoil(test.random, frame);
		test.packet(frame, !test.random.chance(10), wrong_length, !bad && !wrong_length);
	}
	test.drain();
	return 0;
}
