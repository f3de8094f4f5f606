// SPDX-License-Identifier: Apache-2.0
//
// ina_fadd against the processor's own float32 addition, bit by bit: all pairs of special values,
// then random pairs, one pair a clock. Any NaN must be 0x7FC00000.

#include "bench.hpp"
#include "Vina_fadd.h"

namespace
{

constexpr unsigned LATENCY = 5;
constexpr unsigned RANDOM_PAIRS = 100000000;

uint32_t reference(uint32_t a, uint32_t b)
{
	volatile float x, y, sum;
	uint32_t bits;

	std::memcpy(const_cast<float *>(&x), &a, sizeof(x));
	std::memcpy(const_cast<float *>(&y), &b, sizeof(y));
	sum = x + y;
	std::memcpy(&bits, const_cast<float *>(&sum), sizeof(bits));
	return (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC00000 : bits;
}

// What is in the pipeline: the operands, and the result they must give.
struct Expected {
	bool valid;
	uint32_t a, b, y;
};

class Pipeline
{
      public:
	Pipeline()
	{
		dut->step = 0;
		dut->other = 0;
	}
	/// One clock: with a pair (use = add it, else bypass `other`), or without.
	void push(bool valid, bool use, uint32_t a, uint32_t b, uint32_t other)
	{
		dut->step = static_cast<uint8_t>((dut->step << 1 | valid) & 0x1F);
		dut->s_use = use;
		dut->s_a = a;
		dut->s_b = b;
		dut->other = last_other;
		last_other = other;
		stages[clock % LATENCY] = {valid, a, b, use ? reference(a, b) : other};
		clock++;
		dut.tick();
		// What entered LATENCY - 1 clocks before this one has just got its result.
		const Expected &done = stages[clock % LATENCY];

		CHECK(!done.valid || dut->m_y == done.y, "%08x + %08x = %08x, must be %08x", done.a,
		      done.b, dut->m_y, done.y);
	}
	void add(uint32_t a, uint32_t b)
	{
		push(true, true, a, b, 0xDEADBEEF);
	}

      private:
	bench::Dut<Vina_fadd> dut;
	Expected stages[LATENCY] = {};
	uint32_t last_other = 0; // of the pair before: stage 1 takes it
	uint64_t clock = 0;
};

// Every exponent with the fractions at which something happens.
std::vector<uint32_t> special_values()
{
	std::vector<uint32_t> values;

	for (uint32_t exponent :
	     {0u,   1u,   2u,   23u,  24u,  25u,  26u,  27u,  28u,  100u, 126u, 127u,
	      128u, 150u, 151u, 152u, 153u, 229u, 230u, 252u, 253u, 254u, 255u})
		for (uint32_t fraction :
		     {0u, 1u, 2u, 3u, 0x3FFFFFu, 0x400000u, 0x400001u, 0x7FFFFEu, 0x7FFFFFu})
			for (uint32_t sign : {0u, 1u})
				values.push_back(sign << 31 | exponent << 23 | fraction);
	return values;
}

// Random bits; in most cases with exponents near each other, since far ones all round alike. One
// draw a pair, with the choices in bits that the pair does not depend on: there are many pairs.
void random_pair(bench::Random &random, uint32_t *a, uint32_t *b)
{
	const uint64_t bits = random.next();
	const uint64_t dice = random.next();
	uint32_t exponent;

	*a = static_cast<uint32_t>(bits);
	*b = static_cast<uint32_t>(bits >> 32);
	if ((dice & 7) != 0) {
		exponent = (*a >> 23) + static_cast<uint32_t>(dice >> 3 & 63) - 31;
		*b = (*b & 0x807FFFFF) | (exponent & 0xFF) << 23;
	}
	if ((dice >> 9 & 7) == 0) // nearly equal magnitudes: long cancellation
		*b = (*a ^ 0x80000000) + static_cast<uint32_t>(dice >> 12 & 15) - 8;
	if ((dice >> 16 & 7) == 0) // few bits set: ties
		*a &= 0xFF800000 | 0x7u << (dice >> 19 & 15);
	if ((dice >> 23 & 15) == 0) // subnormals, and what is little larger
		*a &= 0x81FFFFFF;
	if ((dice >> 27 & 15) == 0)
		*b &= 0x81FFFFFF;
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	const std::vector<uint32_t> special = special_values();
	Pipeline pipeline;
	uint32_t a, b;

	for (uint32_t x : special)
		for (uint32_t y : special)
			pipeline.add(x, y);
	for (unsigned i = 0; i < RANDOM_PAIRS; i++) {
		random_pair(random, &a, &b);
		pipeline.push((i & 31) != 5, (i % 31) != 5, a, b, a * 0x9E3779B1u + b);
	}
	for (unsigned i = 0; i < LATENCY; i++)
		pipeline.push(false, false, 0, 0, 0);
	std::printf("%zu special and %u random pairs\n", special.size() * special.size(),
	            RANDOM_PAIRS);
	return 0;
}
