// SPDX-License-Identifier: Apache-2.0
//
// ina_parse: contributions of every form and length, and frames that differ from one in each of the
// properties of a candidate. The expected values come from rules that this file applies to the
// whole frame. Frames follow each other without a gap.

#include "bench.hpp"
#include "Vina_parse.h"

#include <deque>

namespace
{

constexpr unsigned FRAMES = 20000;

// The expected output for one frame.
struct Expected {
	bench::Bytes frame;
	bool candidate, roce_data, wrong_length, trailed;
	size_t quads;
	size_t input_beats;
};

bool is_udp(const bench::Bytes &f, const bench::Form &form)
{
	const size_t ip = form.ip();

	if (form.ipv6)
		return f[ip] >> 4 == 6 && f[ip + 6] == 17;
	return bench::get_be16(f, ip - 2) == 0x0800 && f[ip] == 0x45 &&
	       (bench::get_be16(f, ip + 6) & 0x3FFF) == 0 && f[ip + 9] == 17;
}

/// DSCP 43, with any value of the two ECN bits after it.
bool is_marked(const bench::Bytes &f, const bench::Form &form)
{
	const unsigned word = bench::get_be16(f, form.ip());

	return (form.ipv6 ? word >> 6 & 0x3F : word >> 2 & 0x3F) == 43;
}

/// A request that can belong to a flow.
bool is_roce_data(const bench::Bytes &f)
{
	const bench::Form form = bench::form_of(f);

	if (f.size() < form.payload() || !is_udp(f, form))
		return false;
	const uint8_t opcode = f[form.bth()];
	return bench::get_be16(f, form.udp() + 2) == 4791 && opcode < 0x20 &&
	       !(opcode >= 0x0D && opcode <= 0x12) && is_marked(f, form);
}

Expected expect(const bench::Bytes &f)
{
	Expected e = {f, false, is_roce_data(f), false, false, 0, bench::beats_of(f)};

	if (!e.roce_data || e.input_beats < 2)
		return e;
	const bench::Form form = bench::form_of(f);
	const unsigned ip = bench::get_be16(f, form.ip() + (form.ipv6 ? 4 : 2));
	const unsigned udp = bench::get_be16(f, form.udp() + 4);
	const uint8_t opcode = f[form.bth()];
	const bool send = opcode == 0 || opcode == 1 || opcode == 2 || opcode == 4;
	const bool padded = f[form.bth() + 1] >> 4 & 3;

	e.candidate = send && !padded && udp >= 24 + 16 && udp <= 24 + 4096 &&
	              udp % 16 == 24 % 16 && ip == udp + (form.ipv6 ? 0 : 20);
	if (e.candidate) {
		e.quads = (udp - 24) / 16;
		e.wrong_length = f.size() < form.payload() + udp - 24 + 4;
		e.trailed = f.size() > form.payload() + udp - 24 + 4;
	}
	return e;
}

class Test
{
      public:
	Test() : random(bench::seed())
	{
		dut->s_valid = 0;
		dut->en = 1;
		dut.reset();
	}
	void frame(const bench::Bytes &bytes)
	{
		const size_t count = bench::beats_of(bytes);

		expected.push_back(expect(bytes));
		for (size_t i = 0; i < count; i++) {
			while (random.chance(gap_percent))
				clock();
			if (random.chance(gap_percent)) { // a hold: the outputs must stay as they
				                          // are
				dut->en = 0;
				dut->s_valid = random.chance(50);
				dut->s_last = random.chance(50);
				dut.tick();
				dut->en = 1;
				dut->s_valid = 0;
			}
			dut->s_keep = bench::put_beat(dut->s_data, bytes, i);
			if (dut->s_keep != ~uint64_t{0}) // bytes without tkeep are random
				bench::put(dut->s_data, BEAT - 1, "\x5A", 1);
			dut->s_valid = 1;
			dut->s_last = i + 1 == count;
			clock();
		}
	}
	void drain()
	{
		for (unsigned i = 0; i < 3; i++) {
			CHECK(i < 2 || !dut->busy, "busy with nothing to give");
			clock();
		}
		CHECK(expected.empty(), "no last beat for a frame of %zu bytes",
		      expected.front().frame.size());
	}
	bench::Random random;
	unsigned gap_percent = 0;

      private:
	static constexpr size_t BEAT = bench::BEAT_BYTES;

	/// A frame's last beat comes out one clock after it went in; that of a frame of one beat,
	/// two clocks after.
	void clock()
	{
		dut.tick();
		dut->s_valid = 0;
		if (dut->m_valid)
			beat();
		CHECK(expected.size() <= 2, "a frame's last beat is late");
		if (dut->m_head)
			headers.push_back(bench::get(dut->m_data, 0, BEAT));
	}
	void beat()
	{
		CHECK(!expected.empty(), "a beat too many");
		const Expected &want = expected.front();

		CHECK(dut->m_first == (beats_out == 0), "m_first in beat %zu", beats_out);
		if (dut->m_first)
			head(want);
		beats_out++;
		CHECK(dut->m_candidate == want.candidate, "candidate = %d", dut->m_candidate);
		CHECK(dut->m_roce_data == want.roce_data, "roce_data = %d", dut->m_roce_data);
		if (want.roce_data)
			header(want);
		if (want.candidate) {
			CHECK(dut->m_quads >= 1 && dut->m_quads <= 4, "quads = %u", dut->m_quads);
			data(want);
		} else {
			CHECK(dut->m_last, "more than a beat of no candidate");
		}
		if (!dut->m_last)
			return;
		expected.pop_front();
		payload.clear();
		beats_out = 0;
	}
	/// Its headers came before it, directly before the place of the payload.
	void head(const Expected &want)
	{
		CHECK(!headers.empty(), "a frame without headers");
		const bench::Bytes beat = headers.front();

		headers.pop_front();
		if (!want.roce_data)
			return;
		const bench::Bytes record = bench::record_of(want.frame);

		CHECK(bench::Bytes(beat.begin() + 4, beat.end()) ==
		              bench::Bytes(record.end() - 60, record.end()),
		      "the headers differ");
		CHECK(beat[0] == 0 && beat[1] == 0 && beat[2] == 0 && beat[3] == 0,
		      "what is not covered is not zero");
	}
	void header(const Expected &want)
	{
		const uint16_t flags = bench::header_flags(want.frame, want.quads);

		CHECK(bench::get(dut->m_header, 0, bench::RECORD_BYTES) ==
		              bench::record_of(want.frame),
		      "the record differs");
		CHECK(dut->m_header[19] >> 16 == flags, "header flags %04x, must be %04x",
		      dut->m_header[19] >> 16, flags);
	}
	void data(const Expected &want)
	{
		const bench::Bytes bytes = bench::get(dut->m_data, 0, BEAT);

		payload.insert(payload.end(), bytes.begin(), bytes.begin() + dut->m_quads * 16);
		if (!dut->m_last)
			return;
		CHECK(dut->m_wrong_length == want.wrong_length, "wrong_length = %d for %zu bytes",
		      dut->m_wrong_length, want.frame.size());
		if (want.wrong_length)
			return;
		CHECK(dut->m_trailed == want.trailed, "trailed = %d for %zu bytes", dut->m_trailed,
		      want.frame.size());
		last(want.frame, bytes, want.quads);
	}
	void last(const bench::Bytes &f, const bench::Bytes &bytes, unsigned quads)
	{
		const long at = static_cast<long>(bench::form_of(f).payload());
		const long end = at + 16 * static_cast<long>(quads);
		uint32_t icrc;

		for (size_t i = dut->m_quads * 16u + 4; i < BEAT; i++)
			CHECK(bytes[i] == 0, "byte %zu past the end is not zero", i);
		CHECK(payload == bench::Bytes(f.begin() + at, f.begin() + end),
		      "payload differs in a frame of %zu bytes", f.size());
		if (dut->m_quads == 4)
			icrc = dut->m_after;
		else
			std::memcpy(&icrc, &bytes[dut->m_quads * 16u], sizeof(icrc));
		CHECK(std::memcmp(&icrc, &f[static_cast<size_t>(end)], sizeof(icrc)) == 0,
		      "the iCRC is not there: %08x", icrc);
	}
	bench::Dut<Vina_parse> dut;
	std::deque<Expected> expected;
	std::deque<bench::Bytes> headers; // headers that have come, of frames whose first beat has
	                                  // not
	bench::Bytes payload;
	size_t beats_out = 0;
};

bench::Bytes contribution(bench::Random &random, size_t payload_bytes)
{
	static const uint8_t opcodes[] = {0x00, 0x01, 0x02, 0x04};
	bench::Packet packet;

	packet.opcode = opcodes[random.below(4)];
	packet.psn = static_cast<uint32_t>(random.below(1 << 24));
	packet.form = bench::FORMS[random.below(4)];
	packet.vlan = static_cast<uint16_t>(random.next());
	packet.tos = static_cast<uint8_t>(0xAC | random.below(4));
	packet.flow_label = static_cast<uint32_t>(random.below(1 << 20));
	packet.payload = random.bytes(payload_bytes);
	return bench::make_frame(packet);
}

// Changes one field that makes a frame a candidate, or one that does not matter.
bench::Bytes vary(bench::Random &random, bench::Bytes frame)
{
	const bench::Form form = bench::form_of(frame);
	const size_t ip = form.ip(), udp = form.udp();
	// EtherTypes; version, DSCP, length, fragment or next header, protocol; port, length;
	// opcode, pad.
	const size_t decisive[] = {12,      13,      ip - 2,  ip - 1,  ip,     ip + 1, ip + 2,
	                           ip + 3,  ip + 4,  ip + 5,  ip + 6,  ip + 7, ip + 9, udp + 2,
	                           udp + 3, udp + 4, udp + 5, udp + 8, udp + 9};

	switch (random.below(7)) {
	case 0:
		frame[decisive[random.below(std::size(decisive))]] ^=
		        static_cast<uint8_t>(1u << random.below(8));
		break;
	case 1: // shorter or longer than its length fields say
		frame.resize(1 + random.below(frame.size() + 200));
		break;
	case 2: // by a few bytes
		frame.resize(frame.size() + 3 - random.below(7));
		break;
	case 3:
		frame[form.bth()] = static_cast<uint8_t>(random.below(64));
		break;
	case 4: // lengths that agree with each other
		bench::put_lengths(frame, random.below(8192));
		break;
	case 5: // another tag, of 802.1Q or 802.1ad
		frame.insert(frame.begin() + 12, {uint8_t(random.chance(50) ? 0x81 : 0x88),
		                                  uint8_t(random.chance(50) ? 0 : 0xA8), 0, 1});
		break;
	default:
		frame[random.below(frame.size())] ^= 1;
	}
	return frame;
}

/// Puts in a beat in every clock.
void back_to_back(Test &test)
{
	test.gap_percent = 0;
	for (unsigned i = 0; i < 5000; i++) {
		if (test.random.chance(20))
			test.frame(test.random.bytes(1 + test.random.below(70)));
		else
			test.frame(contribution(test.random, 16 * (1 + test.random.below(9))));
	}
	test.drain();
}

} // namespace

int main()
{
	Test test;

	test.gap_percent = 10;
	for (size_t quads = 1; quads <= 257; quads++)
		for (unsigned i = 0; i < 8; i++)
			test.frame(contribution(test.random, quads * 16));
	for (size_t bytes : {0, 1, 8, 15, 17, 31, 4095, 4112, 5000})
		for (unsigned i = 0; i < 8; i++)
			test.frame(contribution(test.random, bytes));
	for (size_t size = 1; size <= 200; size++)
		test.frame(test.random.bytes(size));
	for (unsigned i = 0; i < FRAMES; i++) {
		bench::Bytes frame = contribution(test.random, 16 * (1 + test.random.below(20)));

		test.gap_percent = i / 1000 % 2 ? 0 : 10;
		test.frame(test.random.chance(30) ? frame : vary(test.random, frame));
	}
	test.drain();
	back_to_back(test);
	return 0;
}
