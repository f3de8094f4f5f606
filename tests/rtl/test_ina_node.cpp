// SPDX-License-Identifier: Apache-2.0
//
// ina_node's addition of floats against the processor's own, bit by bit: all pairs of special
// values, then random pairs, one pair in each lane and clock. Any NaN must be 0x7FC00000. Some
// beats are mixed: in some of their lanes the words are combined by OR, and are not changed as
// floats would be. In some beats an operand is missing, and the other one passes. test_ina_tree
// tests the other operations.

#include "bench.hpp"
#include "Vina_node.h"

namespace
{

constexpr unsigned LANES = 16;
constexpr unsigned LATENCY = 5;
constexpr unsigned RANDOM_PAIRS = 100000000;

// as in ina_pkg
constexpr unsigned LANE_OP_BITS = 3, LANE_OR = 3, LANE_ADD_FLOAT = 4;

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

// The contents of the pipeline: the operands, and the results that they must give.
struct Expected {
	bool valid;
	uint32_t a[LANES], b[LANES], y[LANES];
};

class Pipeline
{
      public:
	Pipeline()
	{
		dut->step = 0;
		dut->s_a_valid = 1;
		dut->s_b_valid = 1;
		dut->s_overflow = 0;
		begin(0);
	}
	/// A pair for the next lane. It is added, unless this beat does something else in the lane.
	/// The clock runs when all lanes have a pair.
	void add(uint32_t a, uint32_t b)
	{
		Expected &beat = stages[clock % LATENCY];

		dut->s_a[lane] = a;
		dut->s_b[lane] = b;
		beat.a[lane] = a;
		beat.b[lane] = b;
		beat.y[lane] = !dut->s_b_valid       ? a
		               : !dut->s_a_valid     ? b
		               : (words >> lane & 1) ? a | b
		                                     : reference(a, b);
		if (++lane == LANES)
			turn(true);
	}
	/// Before a beat's first pair: selects the lanes that do not add, and the operands that are
	/// present.
	void begin(uint32_t word_lanes, bool has_a = true, bool has_b = true)
	{
		words = word_lanes;
		dut->s_a_valid = has_a;
		dut->s_b_valid = has_b;
		dut->s_op = 0;
		for (unsigned i = 0; i < LANES; i++)
			dut->s_op |= uint64_t{words >> i & 1 ? LANE_OR : LANE_ADD_FLOAT}
			             << (LANE_OP_BITS * i);
	}
	bool is_between_beats() const
	{
		return lane == 0;
	}
	/// Runs one clock, with the prepared beat or without a beat.
	void turn(bool valid)
	{
		stages[clock % LATENCY].valid = valid;
		dut->step = static_cast<uint8_t>((dut->step << 1 | valid) & 0x1F);
		clock++;
		lane = 0;
		dut.tick();
		// The beat that entered LATENCY - 1 clocks before this one has just got its result.
		const Expected &done = stages[clock % LATENCY];

		for (unsigned i = 0; done.valid && i < LANES; i++)
			CHECK(dut->m_y[i] == done.y[i],
			      "lane %u, %08x and %08x: %08x, must be %08x", i, done.a[i], done.b[i],
			      dut->m_y[i], done.y[i]);
		CHECK(dut->m_overflow == 0, "m_overflow = %04x", dut->m_overflow);
		begin(0);
	}

      private:
	bench::Dut<Vina_node> dut;
	Expected stages[LATENCY] = {};
	unsigned lane = 0;  // the next one
	uint32_t words = 0; // lanes that do not add
	uint64_t clock = 0;
};

// Every exponent with the fractions at which the result changes.
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

// Random bits. In most cases the exponents are near each other, because distant ones are all
// rounded in the same way. There are many pairs, so one random number serves a whole pair: the
// choices come from bits that the pair does not depend on.
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
	if ((dice >> 23 & 15) == 0) // subnormals, and slightly larger numbers
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
	while (!pipeline.is_between_beats())
		pipeline.add(0, 0);
	for (unsigned i = 0; i < RANDOM_PAIRS; i++) {
		if (i % LANES == 0) {
			const uint64_t dice = random.next();

			if ((dice & 31) == 0) // a gap
				pipeline.turn(false);
			if ((dice >> 5 & 15) == 0)
				pipeline.begin(static_cast<uint32_t>(dice >> 32 & 0xFFFF));
			else if ((dice >> 5 & 15) == 1)
				pipeline.begin(0, (dice >> 32 & 1) != 0, (dice >> 32 & 1) == 0);
		}
		random_pair(random, &a, &b);
		pipeline.add(a, b);
	}
	for (unsigned i = 0; i < LATENCY; i++)
		pipeline.turn(false);
	std::printf("%zu special and %u random pairs\n", special.size() * special.size(),
	            RANDOM_PAIRS);
	return 0;
}
