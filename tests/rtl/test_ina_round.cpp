// SPDX-License-Identifier: Apache-2.0
//
// ina_round against the definition of rounding, computed in double. Every encoding of both formats
// comes back bit for bit (NaNs too); then come all exponents with ties and their neighbours, then
// 100 million random numbers of float32.

#include "bench.hpp"
#include "half.hpp"
#include "Vina_round.h"

namespace
{

constexpr unsigned LANES = 16;
constexpr unsigned LATENCY = 2;
constexpr unsigned RANDOM_PAIRS = 50000000; // two numbers each
constexpr unsigned RUN = 1000;              // of one format

double to_double(uint32_t bits)
{
	float value;

	std::memcpy(&value, &bits, sizeof(value));
	return static_cast<double>(value);
}

struct Expected {
	bool valid;
	uint32_t low[LANES], high[LANES], word[LANES];
	uint16_t overflow;
};

class Pipeline
{
      public:
	Pipeline()
	{
		dut->step = 0;
		dut->s_half = 1;
	}
	/// Two numbers for the next lane, or a word, and the result that they must give. The clock
	/// runs when all lanes have values. A beat has one format: if the format changes, the
	/// remaining lanes stay empty.
	void push(bool is_pair, bool is_float16, uint32_t low, uint32_t high, uint32_t word)
	{
		if (is_float16 != dut->s_float16) {
			fill();
			dut->s_float16 = is_float16;
		}
		put(is_pair, low, high, word);
	}
	void round(const half::Format &format, uint32_t low, uint32_t high)
	{
		push(true, format.fraction_bits == 10, low, high,
		     uint32_t{half::round(to_double(high), format)} << 16 |
		             half::round(to_double(low), format));
	}
	/// Fills the remaining lanes with words.
	void fill()
	{
		while (lane != 0)
			put(false, ~lane, lane, ~lane);
	}
	/// A beat without pairs, with any s_pairs.
	void words(const uint32_t *values)
	{
		fill();
		dut->s_half = 0;
		for (unsigned i = 0; i < LANES; i++)
			put(values[i] & 1, values[i], ~values[i], values[i]);
		dut->s_half = 1;
	}

      private:
	bench::Dut<Vina_round> dut;
	Expected stages[LATENCY] = {};
	unsigned lane = 0; // the next one
	uint64_t clock = 0;

	void put(bool is_pair, uint32_t low, uint32_t high, uint32_t word)
	{
		Expected &beat = stages[clock % LATENCY];
		const uint32_t bit = 1u << lane;

		dut->s_pairs = static_cast<uint16_t>((dut->s_pairs & ~bit) | (is_pair ? bit : 0));
		dut->s_low[lane] = beat.low[lane] = low;
		dut->s_high[lane] = beat.high[lane] = high;
		beat.word[lane] = word;
		if (++lane == LANES)
			turn();
	}
	void turn()
	{
		dut->step = static_cast<uint8_t>((dut->step << 1 | 1) & 3);
		dut->s_overflow = static_cast<uint16_t>(clock * 40503u);
		stages[clock % LATENCY].overflow = dut->s_overflow;
		stages[clock % LATENCY].valid = true;
		clock++;
		lane = 0;
		dut.tick();
		const Expected &done = stages[clock % LATENCY];

		if (!done.valid)
			return;
		for (unsigned i = 0; i < LANES; i++)
			CHECK(dut->m_data[i] == done.word[i],
			      "lane %u, %08x, %08x: %08x, must be %08x", i, done.high[i],
			      done.low[i], dut->m_data[i], done.word[i]);
		CHECK(dut->m_overflow == done.overflow, "overflow %04x", dut->m_overflow);
	}
};

/// The number that ina_widen makes of a 16-bit number, as test_ina_widen checks.
uint32_t widened(uint16_t half, const half::Format &format)
{
	if (half::is_nan(half, format))
		return uint32_t{half} >> 15 << 31 | 0x7F800000u |
		       (uint32_t{half} & ((1u << format.fraction_bits) - 1))
		               << (23 - format.fraction_bits);
	const float value = static_cast<float>(half::value(half, format));
	uint32_t bits;

	std::memcpy(&bits, &value, sizeof(bits));
	return bits;
}

void every_encoding(Pipeline &pipeline, const half::Format &format)
{
	for (uint32_t low = 0; low < 0x10000; low++) {
		const uint32_t high = low * 40503u & 0xFFFF;

		pipeline.push(true, format.fraction_bits == 10,
		              widened(static_cast<uint16_t>(low), format),
		              widened(static_cast<uint16_t>(high), format), high << 16 | low);
	}
}

/// For every exponent: the lowest bits that are kept, the tie, and their neighbours.
void boundaries(Pipeline &pipeline, const half::Format &format)
{
	for (uint32_t exponent = 0; exponent < 255; exponent++)
		for (unsigned at = 0; at < 24; at++)
			for (uint32_t around : {0u, 1u, 2u, 3u})
				for (uint32_t below : {~0u, 0u, 1u}) {
					const uint32_t bits =
					        (exponent << 23) + (around << at) + below;

					if ((bits & 0x7FFFFFFF) < 0x7F800000)
						pipeline.round(format, bits & 0x7FFFFFFF,
						               bits | 0x80000000);
				}
	pipeline.round(format, 0x7F800000, 0xFF800000);
	pipeline.round(format, 0x7FC00000, 0x7F7FFFFF);
}

/// Random bits. In half of the cases the exponent is in the format's range; some numbers have few
/// bits set.
uint32_t random_number(uint64_t dice, const half::Format &format)
{
	uint32_t bits = static_cast<uint32_t>(dice);
	const uint32_t span = static_cast<uint32_t>(format.exponent_max - format.exponent_min + 20);

	if (dice >> 32 & 1)
		bits = (bits & 0x807FFFFF) |
		       (127u + static_cast<uint32_t>(format.exponent_min) - 14 +
		        static_cast<uint32_t>((dice >> 40 & 0xFFFF) * span >> 16))
		               << 23;
	if ((dice >> 33 & 7) == 0)
		bits &= ~0u << (dice >> 36 & 15);
	/* A NaN must have bits that either format keeps; other NaNs never come here. */
	return (bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC00000 : bits;
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	Pipeline pipeline;

	for (const half::Format &format : {half::BFLOAT16, half::FLOAT16}) {
		every_encoding(pipeline, format);
		boundaries(pipeline, format);
	}
	for (unsigned i = 0; i < RANDOM_PAIRS; i++) {
		const half::Format &format = i / RUN & 1 ? half::BFLOAT16 : half::FLOAT16;
		const uint64_t low = random.next(), high = random.next();

		pipeline.round(format, random_number(low, format), random_number(high, format));
		if (i % 64 == 0) // a whole word in between
			pipeline.push(false, format.fraction_bits == 10, static_cast<uint32_t>(low),
			              static_cast<uint32_t>(high), static_cast<uint32_t>(low));
		if (i % RUN == 0) {
			uint32_t values[LANES];

			for (uint32_t &value : values)
				value = static_cast<uint32_t>(random.next());
			pipeline.words(values);
		}
	}
	for (unsigned i = 0; i < LATENCY; i++) { // the last ones come out
		pipeline.push(false, false, 0, 0, 0);
		pipeline.fill();
	}
	std::printf("%u random numbers\n", 2 * RANDOM_PAIRS);
	return 0;
}
