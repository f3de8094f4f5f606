// SPDX-License-Identifier: Apache-2.0
//
// ina_payload_crc, and with it ina_crc and ina_crc_step, against zlib: the CRC register of random
// payloads of every length from start value 0.

#include "bench.hpp"
#include "Vina_payload_crc.h"

#include <deque>

namespace
{

constexpr unsigned PACKETS = 3000;
constexpr unsigned LATENCY = 2;
constexpr size_t QUAD_BYTES = 16;

struct Expected {
	uint64_t clock;
	bool last;
	uint8_t side;
	uint32_t crc;
	bench::Bytes data;
};

class Test
{
      public:
	Test() : random(bench::seed())
	{
		dut->s_valid = 0;
		dut.reset();
	}
	void packet(size_t quads)
	{
		bench::Bytes payload = random.bytes(quads * QUAD_BYTES);
		const uint32_t crc = bench::register_after(payload);
		const size_t beats = bench::beats_of(payload);

		payload.resize(beats * bench::BEAT_BYTES, 0); // ina_trailer fills it with zeros
		for (size_t i = 0; i < beats; i++) {
			const bool last = i + 1 == beats;

			while (random.chance(10))
				clock();
			bench::put(dut->s_data, 0, &payload[i * bench::BEAT_BYTES],
			           bench::BEAT_BYTES);
			dut->s_valid = 1;
			dut->s_first = i == 0;
			dut->s_last = last;
			dut->s_quads = static_cast<uint8_t>(last ? quads - 4 * i : 4);
			dut->s_side = random.chance(50);
			waiting.push_back({dut.clocks, last, dut->s_side, crc,
			                   bench::get(dut->s_data, 0, bench::BEAT_BYTES)});
			clock();
		}
	}
	void drain()
	{
		for (unsigned i = 0; i < LATENCY; i++)
			clock();
		CHECK(waiting.empty(), "%zu beats never came out", waiting.size());
		CHECK(!dut->busy, "busy without a beat");
	}
	bench::Random random;

      private:
	void clock()
	{
		dut.tick();
		dut->s_valid = 0;
		const bool due = !waiting.empty() && waiting.front().clock + LATENCY == dut.clocks;

		CHECK(dut->m_valid == due, "m_valid = %d in clock %llu", dut->m_valid,
		      static_cast<unsigned long long>(dut.clocks));
		if (!due)
			return;
		const Expected &now = waiting.front();

		CHECK(dut->m_last == now.last && dut->m_side == now.side, "a beat lost its marks");
		CHECK(bench::get(dut->m_data, 0, bench::BEAT_BYTES) == now.data, "data changed");
		CHECK(!now.last || dut->m_crc == now.crc, "CRC %08x, must be %08x", dut->m_crc,
		      now.crc);
		waiting.pop_front();
	}
	bench::Dut<Vina_payload_crc> dut;
	std::deque<Expected> waiting;
};

} // namespace

int main()
{
	Test test;

	for (size_t quads = 1; quads <= 256; quads++)
		test.packet(quads);
	for (unsigned i = 0; i < PACKETS; i++)
		test.packet(1 + test.random.below(test.random.chance(50) ? 12 : 256));
	test.drain();
	return 0;
}
