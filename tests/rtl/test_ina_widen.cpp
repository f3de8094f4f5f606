// SPDX-License-Identifier: Apache-2.0
//
// ina_widen: every one of the 65,536 encodings of both formats, in both halves, against the value
// of the encoding, computed in floating point. NaNs are compared by their bits. Words stay
// unchanged.

#include "bench.hpp"
#include "half.hpp"
#include "Vina_widen.h"

namespace
{

// Does `bits` as float32 have the same value, or is it the NaN of the same sign and fraction?
bool is_same(uint32_t bits, uint16_t half, const half::Format &format)
{
	const unsigned lost = 23 - format.fraction_bits;

	if (half::is_nan(half, format))
		return bits == (uint32_t{half} >> 15 << 31 | 0x7F800000u |
		                (uint32_t{half} & ((1u << format.fraction_bits) - 1)) << lost);
	float value;

	std::memcpy(&value, &bits, sizeof(value));
	return static_cast<double>(value) == half::value(half, format) &&
	       std::signbit(value) == (half >> 15 != 0);
}

constexpr unsigned LANES = 16;

/// Beats of pairs in all lanes. The encodings take turns in the lanes, each once as a lower and
/// once as an upper half.
void every_encoding(bench::Dut<Vina_widen> &dut, const half::Format &format)
{
	for (uint32_t low = 0; low < 0x10000 + LANES - 1; low++) {
		for (unsigned lane = 0; lane < LANES; lane++) {
			const uint32_t mine = (low - lane) & 0xFFFF;

			dut->s_data[lane] = (mine * 40503u & 0xFFFF) << 16 | mine;
		}
		dut->s_half = 1;
		dut->s_pairs = 0xFFFF;
		dut->s_float16 = format.fraction_bits == 10;
		dut.tick();
		for (unsigned lane = 0; lane < LANES; lane++) {
			const uint32_t word = dut->s_data[lane];

			CHECK(is_same(dut->m_low[lane], static_cast<uint16_t>(word), format),
			      "%s %08x, lane %u, lower half: %08x", format.name, word, lane,
			      dut->m_low[lane]);
			CHECK(is_same(dut->m_high[lane], static_cast<uint16_t>(word >> 16), format),
			      "%s %08x, lane %u, upper half: %08x", format.name, word, lane,
			      dut->m_high[lane]);
		}
	}
}

/// Words, in all lanes or in those without a pair; the upper numbers there stay unchanged.
void words(bench::Dut<Vina_widen> &dut, bench::Random &random)
{
	uint32_t high[LANES];
	const bool has_pairs = random.chance(50);
	const uint32_t pairs = static_cast<uint32_t>(random.next() & 0xFFFF);
	const half::Format &format = random.chance(50) ? half::BFLOAT16 : half::FLOAT16;

	for (unsigned lane = 0; lane < LANES; lane++) {
		dut->s_data[lane] = static_cast<uint32_t>(random.next());
		high[lane] = dut->m_high[lane];
	}
	dut->s_half = has_pairs;
	dut->s_pairs = static_cast<uint16_t>(pairs);
	dut->s_float16 = format.fraction_bits == 10;
	dut.tick();
	for (unsigned lane = 0; lane < LANES; lane++) {
		const uint32_t word = dut->s_data[lane];

		if (has_pairs && (pairs >> lane & 1)) {
			CHECK(is_same(dut->m_low[lane], static_cast<uint16_t>(word), format) &&
			              is_same(dut->m_high[lane], static_cast<uint16_t>(word >> 16),
			                      format),
			      "%s %08x in lane %u of %04x: %08x, %08x", format.name, word, lane,
			      pairs, dut->m_low[lane], dut->m_high[lane]);
		} else {
			CHECK(dut->m_low[lane] == word && dut->m_high[lane] == high[lane],
			      "word %08x: %08x, %08x", word, dut->m_low[lane], dut->m_high[lane]);
		}
	}
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_widen> dut;

	dut->step = 1;
	every_encoding(dut, half::BFLOAT16);
	every_encoding(dut, half::FLOAT16);
	for (unsigned i = 0; i < 100000; i++)
		words(dut, random);
	return 0;
}
