// SPDX-License-Identifier: Apache-2.0
//
// ina_widen: every one of the 65,536 encodings of both formats, in both halves, against what the
// encoding means, worked out in floating point; NaNs by their bits. Words stay as they are.

#include "bench.hpp"
#include "half.hpp"
#include "Vina_widen.h"

namespace
{

// `bits` as float32 means the same number, or is the NaN of the same sign and fraction.
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

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_widen> dut;

	dut->step = 1;
	for (const half::Format &format : {half::BFLOAT16, half::FLOAT16})
		for (uint32_t low = 0; low < 0x10000; low++) {
			const uint32_t high = low * 40503u & 0xFFFF; // each once as well

			dut->s_half = 1;
			dut->s_float16 = format.fraction_bits == 10;
			dut->s_word = high << 16 | low;
			dut.tick();
			CHECK(is_same(dut->m_low, static_cast<uint16_t>(low), format),
			      "%s %04x, lower half: %08x", format.name, low, dut->m_low);
			CHECK(is_same(dut->m_high, static_cast<uint16_t>(high), format),
			      "%s %04x, upper half: %08x", format.name, high, dut->m_high);
		}
	for (unsigned i = 0; i < 100000; i++) {
		dut->s_half = 0;
		dut->s_float16 = random.chance(50);
		dut->s_word = static_cast<uint32_t>(random.next());
		dut.tick();
		CHECK(dut->m_low == dut->s_word, "word %08x: %08x", dut->s_word, dut->m_low);
	}
	return 0;
}
