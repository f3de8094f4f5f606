// SPDX-License-Identifier: Apache-2.0
//
// ina_tree against the processor's arithmetic in the order that docs and model promise: a balanced
// tree by port number, in which missing ports are bypassed. Masks, operations, formats and gaps are
// random. The sums are also compared with the exact ones, within the bound of docs/protocol.md. Max
// and min give the same bits in every order of their operands.

#include "bench.hpp"
#include "half.hpp"
#include "Vina_tree.h"

#include <algorithm>
#include <deque>

// The defaults of ina_tree's parameters.
#ifndef INA_HALF_FORMATS
#define INA_HALF_FORMATS 1
#define INA_MAX_MIN      1
#define INA_INT32        1
#endif

namespace
{

constexpr unsigned LANES = 16;
constexpr unsigned LEAVES = 16; // of the widest tree: leaves beyond the ports are missing
constexpr unsigned BEATS = 40000;
constexpr unsigned NODE_CLOCKS = 5, HALF_CLOCKS = INA_HALF_FORMATS ? 3 : 0;

// as in ina_pkg: an operation with FLOAT set works on numbers of the beat's format
enum { ADD, MAX, MIN, OR, FLOAT };
enum { WORD, BFLOAT16, FLOAT16 };

struct Value {
	bool present;
	bool overflow;
	uint32_t bits;
};

float to_float(uint32_t bits)
{
	float value;

	std::memcpy(&value, &bits, sizeof(value));
	return value;
}

uint32_t to_bits(float value)
{
	uint32_t bits;

	std::memcpy(&bits, &value, sizeof(bits));
	return value != value ? 0x7FC00000 : bits;
}

/// IEEE 754-2019, 9.6, maximum: any NaN makes the result a NaN, and -0 is less than +0.
float maximum(float a, float b)
{
	if (a != a || b != b)
		return a + b;
	if (a == b)
		return std::signbit(a) ? b : a;
	return a > b ? a : b;
}

uint32_t combine_bits(unsigned op, uint32_t a, uint32_t b)
{
	const int32_t x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);

	switch (op) {
	case ADD:
		return a + b;
	case MAX:
		return static_cast<uint32_t>(std::max(x, y));
	case MIN:
		return static_cast<uint32_t>(std::min(x, y));
	case OR:
		return a | b;
	case FLOAT | ADD:
		return to_bits(to_float(a) + to_float(b));
	case FLOAT | MAX:
		return to_bits(maximum(to_float(a), to_float(b)));
	default:
		return to_bits(-maximum(-to_float(a), -to_float(b)));
	}
}

Value combine(unsigned op, const Value &a, const Value &b)
{
	if (!a.present || !b.present)
		return a.present ? a : b;
	const int64_t sum = int64_t{static_cast<int32_t>(a.bits)} + static_cast<int32_t>(b.bits);
	const bool overflow = op == ADD && sum != static_cast<int32_t>(sum);

	return {true, a.overflow || b.overflow || overflow, combine_bits(op, a.bits, b.bits)};
}

// The leaves [from, from + count) of one lane; count is a power of two.
Value sum_of(unsigned op, const std::vector<Value> &ports, unsigned from, unsigned count)
{
	if (count == 1)
		return from < ports.size() ? ports[from] : Value{false, false, 0};
	return combine(op, sum_of(op, ports, from, count / 2),
	               sum_of(op, ports, from + count / 2, count / 2));
}

/// Pairwise summation (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., 4.2): the
/// error is at most d u / (1 - d u) times the sum of magnitudes, with d levels and u = 2^-24. For
/// 16-bit numbers there is one more rounding, of half a unit in the last place. The error of
/// __float128 itself is 2^-113 of the magnitudes, far less than the bound. An overflow is not a
/// rounding error.
void check_bound(const std::vector<Value> &ports, float sum, double result, const half::Format *to)
{
	__float128 exact = 0, magnitudes = 0, allowed, error;
	unsigned levels = 0;

	for (const Value &port : ports)
		if (port.present) {
			const __float128 x = to_float(port.bits);

			exact += x;
			magnitudes += x < 0 ? -x : x;
		}
	if (!std::isfinite(sum) || !std::isfinite(result))
		return;
	while ((1u << levels) < INA_PORT_COUNT)
		levels++;
	const __float128 u = levels * 0x1p-24;

	allowed = u / (1 - u) * magnitudes;
	if (to) {
		const __float128 normal = std::fabs(sum) * std::ldexp(1.0, -1 - to->fraction_bits);
		const __float128 least = std::ldexp(1.0, to->exponent_min - to->fraction_bits - 1);

		allowed += std::max(normal, least);
	}
	error = result - exact;
	CHECK((error < 0 ? -error : error) <= allowed, "an error of %g, %g allowed",
	      static_cast<double>(error), static_cast<double>(allowed));
}

/// Max and min do not depend on the order, unless there is only one operand, which is bypassed.
void check_order(bench::Random &random, unsigned op, std::vector<Value> ports, uint32_t result)
{
	if (std::count_if(ports.begin(), ports.end(), [](const Value &v) { return v.present; }) < 2)
		return;
	for (size_t i = ports.size() - 1; i > 0; i--)
		std::swap(ports[i], ports[random.below(i + 1)]);
	CHECK(sum_of(op, ports, 0, LEAVES).bits == result, "another order, another result: %08x",
	      result);
}

struct Expected {
	uint64_t clock;
	uint32_t side;
	uint32_t overflow;
	uint32_t lane[LANES];
};

// Random bits, mixed with small integers, extremes and NaNs, so that every rule is tested often;
// and numbers near each other, whose sums are finite and need rounding.
uint32_t random_lane(bench::Random &random)
{
	static const uint32_t chosen[] = {
	        0,          0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 1,          0x7F800000, 0xFF800000,
	        0x7FC12345, 0x00000001, 0x3F800000, 0x80000001, 0x7F800001, 0xFF7FFFFF, 0x7F7FFFFF};

	if (random.chance(40))
		return (static_cast<uint32_t>(random.next()) & 0x80FFFFFF) | 0x3F000000;
	return random.chance(30) ? chosen[random.below(14)] : static_cast<uint32_t>(random.next());
}

uint16_t random_half(bench::Random &random, const half::Format &format)
{
	const uint16_t infinity = half::infinity(format);
	const uint16_t chosen[] = {0,
	                           0x8000,
	                           infinity,
	                           static_cast<uint16_t>(infinity | 0x8000),
	                           static_cast<uint16_t>(infinity - 1),
	                           static_cast<uint16_t>((infinity - 1) | 0x8000),
	                           static_cast<uint16_t>(infinity + 1),
	                           0xFFFF,
	                           1,
	                           0x8001};
	const uint16_t one = static_cast<uint16_t>((0x3FFF & ~((1 << format.fraction_bits) - 1)) +
	                                           (1 << format.fraction_bits) / 2);

	if (random.chance(40)) // within four powers of two
		return static_cast<uint16_t>((one + random.below(4u << format.fraction_bits)) ^
		                             random.below(2) << 15);
	return random.chance(30) ? chosen[random.below(10)] : static_cast<uint16_t>(random.next());
}

uint32_t widened(uint16_t half, const half::Format &format)
{
	return to_bits(half::is_nan(half, format) ? NAN
	                                          : static_cast<float>(half::value(half, format)));
}

/// The expected result in one half of a lane, from the numbers of the ports.
uint16_t expected_half(bench::Random &random, unsigned op, const half::Format &format,
                       const std::vector<uint16_t> &halves, uint32_t mask)
{
	std::vector<Value> ports;

	for (unsigned port = 0; port < INA_PORT_COUNT; port++)
		ports.push_back({(mask >> port & 1) != 0, false, widened(halves[port], format)});
	if ((mask & (mask - 1)) == 0) // a single operand: bit by bit
		return halves[static_cast<unsigned>(__builtin_ctz(mask))];
	const float sum = to_float(sum_of(op, ports, 0, LEAVES).bits);
	const uint16_t result = half::round(static_cast<double>(sum), format);

	if (op == (FLOAT | ADD) && !half::is_nan(result, format))
		check_bound(ports, sum, half::value(result, format), &format);
	else if (op != (FLOAT | ADD))
		check_order(random, op, ports, to_bits(sum));
	return result;
}

/// Two halves in a lane.
uint32_t random_pairs(bench::Dut<Vina_tree> &dut, bench::Random &random, unsigned lane, unsigned op,
                      const half::Format &format, uint32_t mask)
{
	uint32_t word = 0;

	for (unsigned part = 0; part < 2; part++) {
		std::vector<uint16_t> halves;

		for (unsigned port = 0; port < INA_PORT_COUNT; port++) {
			uint32_t &operand = dut->s_data[port * LANES + lane];

			halves.push_back(random_half(random, format));
			operand = part ? uint32_t{halves[port]} << 16 | (operand & 0xFFFF)
			               : halves[port];
		}
		word |= uint32_t{expected_half(random, op, format, halves, mask)} << (16 * part);
	}
	return word;
}

Value random_words(bench::Dut<Vina_tree> &dut, bench::Random &random, unsigned lane, unsigned op,
                   uint32_t mask)
{
	std::vector<Value> ports(INA_PORT_COUNT);

	for (unsigned port = 0; port < INA_PORT_COUNT; port++) {
		ports[port] = {(mask >> port & 1) != 0, false, random_lane(random)};
		dut->s_data[port * LANES + lane] = ports[port].bits;
	}
	const Value sum = sum_of(op, ports, 0, LEAVES);

	if (op == (FLOAT | ADD))
		check_bound(ports, to_float(sum.bits), static_cast<double>(to_float(sum.bits)),
		            nullptr);
	else if (op == MAX || op == MIN || op == (FLOAT | MAX) || op == (FLOAT | MIN))
		check_order(random, op, ports, sum.bits);
	return sum;
}

// A random operation that this configuration supports.
unsigned random_operation(bench::Random &random, unsigned lane)
{
	static const unsigned always[] = {MAX, OR, FLOAT | ADD};
	static const unsigned optional[] = {ADD, MIN, FLOAT | MAX, FLOAT | MIN};
	const unsigned choice = static_cast<unsigned>(random.below(7));

	if (choice < 3)
		return always[choice];
	if (choice == 3 ? !INA_INT32 && lane % 4 != 0 : !INA_MAX_MIN)
		return MAX;
	return optional[choice - 3];
}

// Sets a random beat on the inputs, and returns the expected result.
Expected random_beat(bench::Dut<Vina_tree> &dut, bench::Random &random)
{
	const uint32_t all = (1u << INA_PORT_COUNT) - 1;
	const uint32_t mask =
	        random.chance(40) ? all : static_cast<uint32_t>(1 + random.below(all));
	const unsigned format =
	        INA_HALF_FORMATS ? static_cast<unsigned>(random.below(3)) : unsigned{WORD};
	Expected expected = {dut.clocks, static_cast<uint32_t>(random.next()), 0, {}};

	dut->s_op = 0;
	for (unsigned lane = 0; lane < LANES; lane++) {
		const unsigned op = random_operation(random, lane);

		dut->s_op |= uint64_t{op} << (3 * lane);
		if (format != WORD && (op & FLOAT)) {
			expected.lane[lane] = random_pairs(
			        dut, random, lane, op,
			        format == BFLOAT16 ? half::BFLOAT16 : half::FLOAT16, mask);
		} else {
			const Value sum = random_words(dut, random, lane, op, mask);

			expected.lane[lane] = sum.bits;
			expected.overflow |= uint32_t{sum.overflow} << lane;
		}
	}
	bench::set(dut->s_mask, mask);
	dut->s_format = static_cast<uint8_t>(format);
	dut->s_side = expected.side;
	return expected;
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_tree> dut;
	std::deque<Expected> waiting;
	unsigned latency = HALF_CLOCKS;

	for (unsigned leaves = 1; leaves < INA_PORT_COUNT; leaves *= 2)
		latency += NODE_CLOCKS;
	dut->s_valid = dut->s_load = 0;
	dut.reset();
	for (unsigned i = 0; i < BEATS + latency; i++) {
		dut->s_valid = i < BEATS && random.chance(90);
		dut->s_load = dut->s_valid || random.chance(50);
		const Expected expected = random_beat(dut, random);

		if (dut->s_valid)
			waiting.push_back(expected);
		dut.tick();
		const bool due = !waiting.empty() && waiting.front().clock + latency == dut.clocks;

		CHECK(dut->m_valid == due, "clock %llu: m_valid = %d",
		      static_cast<unsigned long long>(dut.clocks), dut->m_valid);
		CHECK(dut->busy == !waiting.empty(), "busy = %d", dut->busy);
		if (!due)
			continue;
		const Expected &now = waiting.front();

		CHECK(dut->m_side == now.side, "the beat lost what it took along");
		CHECK(dut->m_overflow == now.overflow, "overflow %04x, must be %04x",
		      dut->m_overflow, now.overflow);
		for (unsigned lane = 0; lane < LANES; lane++)
			CHECK(dut->m_data[lane] == now.lane[lane], "lane %u: %08x, must be %08x",
			      lane, dut->m_data[lane], now.lane[lane]);
		waiting.pop_front();
	}
	return 0;
}
