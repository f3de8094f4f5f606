// SPDX-License-Identifier: Apache-2.0
//
// ina_parse: contributions of every length, and frames that differ from one in each of the points
// that make a candidate, against rules applied to the whole frame here.

#include "bench.hpp"
#include "Vina_parse.h"

namespace
{

constexpr unsigned FRAMES = 20000;

// What must come out for one frame.
struct Expected {
	bench::Bytes frame;
	bool candidate, roce_data, wrong_length;
	size_t quads;
	size_t input_beats;
};

bool is_roce_data(const bench::Bytes &f)
{
	return f.size() >= bench::HEADER_BYTES && bench::get_be16(f, 12) == 0x0800 &&
	       f[14] == 0x45 && (bench::get_be16(f, 20) & 0x3FFF) == 0 && f[23] == 17 &&
	       bench::get_be16(f, 36) == 4791 && f[42] < 0x20 && !(f[42] >= 0x0D && f[42] <= 0x12);
}

Expected expect(const bench::Bytes &f)
{
	Expected e = {f, false, is_roce_data(f), false, 0, bench::beats_of(f)};

	if (!e.roce_data || e.input_beats < 2)
		return e;
	const unsigned ip = bench::get_be16(f, 16), udp = bench::get_be16(f, 38);
	const bool send = f[42] == 0 || f[42] == 1 || f[42] == 2 || f[42] == 4;

	e.candidate =
	        send && udp >= 24 + 16 && udp <= 24 + 4096 && udp % 16 == 24 % 16 && ip == udp + 20;
	if (e.candidate) {
		e.quads = (udp - 24) / 16;
		e.wrong_length = f.size() != 58 + udp - 24;
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
		expected = expect(bytes);
		payload.clear();
		beats_out = 0;
		finished = false;
		for (size_t i = 0; i < expected.input_beats; i++) {
			while (random.chance(10))
				clock();
			if (random.chance(20)) { // a hold: whatever is out must stay
				dut->en = 0;
				dut->s_valid = 0;
				dut.tick();
				dut->en = 1;
			}
			dut->s_keep = bench::put_beat(dut->s_data, bytes, i);
			if (dut->s_keep != ~uint64_t{0}) // what is not kept is anything
				bench::put(dut->s_data, BEAT - 1, "\x5A", 1);
			dut->s_valid = 1;
			dut->s_last = i + 1 == expected.input_beats;
			clock();
		}
		clock();
		CHECK(finished, "no last beat for a frame of %zu bytes", bytes.size());
	}
	bench::Random random;

      private:
	static constexpr size_t BEAT = bench::BEAT_BYTES;

	void clock()
	{
		dut.tick();
		dut->s_valid = 0;
		if (dut->m_valid)
			beat();
	}
	void beat()
	{
		CHECK(!finished, "a beat after the last one");
		CHECK(dut->m_first == (beats_out == 0), "m_first in beat %zu", beats_out);
		beats_out++;
		bench::Bytes header = expected.frame;

		header.resize(bench::HEADER_BYTES);
		CHECK(bench::get(dut->m_header, 0, bench::HEADER_BYTES) == header,
		      "header differs");
		CHECK((dut->m_header[13] >> 16) == expected.quads, "quads of header: %u, not %zu",
		      dut->m_header[13] >> 16, expected.quads);
		CHECK(dut->m_candidate == expected.candidate, "candidate = %d", dut->m_candidate);
		CHECK(dut->m_roce_data == expected.roce_data, "roce_data = %d", dut->m_roce_data);
		finished = dut->m_last;
		if (!expected.candidate) {
			CHECK(dut->m_last, "more than a beat of no candidate");
			return;
		}
		CHECK(dut->m_quads >= 1 && dut->m_quads <= 4, "quads = %u", dut->m_quads);
		const bench::Bytes data = bench::get(dut->m_data, 0, BEAT);

		payload.insert(payload.end(), data.begin(), data.begin() + dut->m_quads * 16);
		for (size_t i = dut->m_quads * 16u; i < BEAT; i++)
			CHECK(data[i] == 0, "byte %zu past the end is not zero", i);
		if (dut->m_last)
			last();
	}
	void last()
	{
		const bench::Bytes &f = expected.frame;
		uint32_t icrc;

		CHECK(dut->m_wrong_length == expected.wrong_length,
		      "wrong_length = %d for %zu bytes", dut->m_wrong_length, f.size());
		if (expected.wrong_length)
			return;
		CHECK(payload == bench::Bytes(f.begin() + bench::HEADER_BYTES, f.end() - 4),
		      "payload differs in a frame of %zu bytes", f.size());
		std::memcpy(&icrc, &f[f.size() - 4], sizeof(icrc));
		CHECK(dut->m_icrc == icrc, "iCRC %08x, must be %08x", dut->m_icrc, icrc);
	}
	bench::Dut<Vina_parse> dut;
	Expected expected;
	bench::Bytes payload;
	size_t beats_out = 0;
	bool finished = false;
};

bench::Bytes contribution(bench::Random &random, size_t payload_bytes)
{
	static const uint8_t opcodes[] = {0x00, 0x01, 0x02, 0x04};
	bench::Packet packet;

	packet.opcode = opcodes[random.below(4)];
	packet.psn = static_cast<uint32_t>(random.below(1 << 24));
	packet.payload = random.bytes(payload_bytes);
	return bench::make_frame(packet);
}

// Changes one thing that a candidate needs, or something that it does not.
bench::Bytes vary(bench::Random &random, bench::Bytes frame)
{
	static const size_t decisive[] = {12, 13, 14, 16, 17, 20, 21, 23, 36, 37, 38, 39, 42};
	const unsigned udp = static_cast<unsigned>(random.below(8192));

	switch (random.below(6)) {
	case 0:
		frame[decisive[random.below(13)]] ^= static_cast<uint8_t>(1u << random.below(8));
		break;
	case 1: // shorter or longer than it says
		frame.resize(1 + random.below(frame.size() + 200));
		break;
	case 2: // by a little
		frame.resize(frame.size() + 3 - random.below(7));
		break;
	case 3:
		frame[42] = static_cast<uint8_t>(random.below(64));
		break;
	case 4: // lengths that agree with each other
		bench::put_be16(frame, 38, udp);
		bench::put_be16(frame, 16, udp + 20);
		break;
	default:
		frame[random.below(frame.size())] ^= 1;
	}
	return frame;
}

} // namespace

int main()
{
	Test test;

	for (size_t quads = 1; quads <= 257; quads++)
		test.frame(contribution(test.random, quads * 16));
	for (size_t bytes : {0, 1, 8, 15, 17, 31, 4095, 4112, 5000})
		test.frame(contribution(test.random, bytes));
	for (size_t size = 1; size <= 200; size++)
		test.frame(test.random.bytes(size));
	for (unsigned i = 0; i < FRAMES; i++) {
		bench::Bytes frame = contribution(test.random, 16 * (1 + test.random.below(20)));

		test.frame(test.random.chance(30) ? frame : vary(test.random, frame));
	}
	return 0;
}
