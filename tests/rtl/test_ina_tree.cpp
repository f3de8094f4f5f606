// SPDX-License-Identifier: Apache-2.0
//
// ina_tree against host arithmetic in the order that docs and model promise: a balanced tree by
// port number, missing ports bypassed. Random masks, operations and gaps.

#include "bench.hpp"
#include "Vina_tree.h"

#include <deque>

namespace
{

constexpr unsigned LANES = 16;
constexpr unsigned BEATS = 60000;

enum { ADD_INT32, ADD_FLOAT32, MAX, OR };

struct Value {
	bool present;
	bool overflow;
	uint32_t bits;
};

uint32_t add_float(uint32_t a, uint32_t b)
{
	float x, y;
	uint32_t bits;

	std::memcpy(&x, &a, sizeof(x));
	std::memcpy(&y, &b, sizeof(y));
	x += y;
	std::memcpy(&bits, &x, sizeof(bits));
	return x != x ? 0x7FC00000 : bits;
}

Value combine(unsigned op, const Value &a, const Value &b)
{
	Value y = {true, a.overflow || b.overflow, 0};
	const int64_t sum = int64_t{static_cast<int32_t>(a.bits)} + static_cast<int32_t>(b.bits);

	if (!a.present || !b.present)
		return a.present ? a : b;
	switch (op) {
	case ADD_INT32:
		y.bits = static_cast<uint32_t>(sum);
		y.overflow |= sum != static_cast<int32_t>(sum);
		break;
	case ADD_FLOAT32:
		y.bits = add_float(a.bits, b.bits);
		break;
	case MAX:
		y.bits = static_cast<int32_t>(a.bits) > static_cast<int32_t>(b.bits) ? a.bits
		                                                                     : b.bits;
		break;
	default:
		y.bits = a.bits | b.bits;
	}
	return y;
}

// Leaves [from, from + count) of one lane, count a power of two.
Value sum_of(unsigned op, const std::vector<Value> &ports, unsigned from, unsigned count)
{
	if (count == 1)
		return from < ports.size() ? ports[from] : Value{false, false, 0};
	return combine(op, sum_of(op, ports, from, count / 2),
	               sum_of(op, ports, from + count / 2, count / 2));
}

struct Expected {
	uint64_t clock;
	uint32_t side;
	uint32_t overflow;
	uint32_t lane[LANES];
};

// Small integers, extremes and NaNs among the random bits, so that every rule is met often.
uint32_t random_lane(bench::Random &random)
{
	static const uint32_t chosen[] = {0,          0x80000000, 0x7FFFFFFF, 0xFFFFFFFF,
	                                  1,          0x7F800000, 0xFF800000, 0x7FC12345,
	                                  0x00000001, 0x3F800000};

	return random.chance(20) ? chosen[random.below(10)] : static_cast<uint32_t>(random.next());
}

// Sets a random beat on the inputs, and says what must come of it.
Expected random_beat(bench::Dut<Vina_tree> &dut, bench::Random &random)
{
	const uint32_t mask = static_cast<uint32_t>(1 + random.below((1u << INA_PORT_COUNT) - 1));
	Expected expected = {dut.clocks, static_cast<uint32_t>(random.next()), 0, {}};
	uint32_t ops = 0;

	for (unsigned lane = 0; lane < LANES; lane++) {
		const unsigned op = static_cast<unsigned>(random.below(4));
		std::vector<Value> ports(INA_PORT_COUNT);

		ops |= op << (2 * lane);
		for (unsigned port = 0; port < INA_PORT_COUNT; port++) {
			ports[port] = {(mask >> port & 1) != 0, false, random_lane(random)};
			dut->s_data[port * LANES + lane] = ports[port].bits;
		}
		const Value sum = sum_of(op, ports, 0, 8);

		expected.lane[lane] = sum.bits;
		expected.overflow |= uint32_t{sum.overflow} << lane;
	}
	dut->s_mask = static_cast<uint8_t>(mask);
	dut->s_op = ops;
	dut->s_side = expected.side;
	return expected;
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_tree> dut;
	std::deque<Expected> waiting;
	unsigned latency = 0;

	while ((1u << (latency / 4)) < INA_PORT_COUNT)
		latency += 4;
	dut->s_valid = 0;
	dut.reset();
	for (unsigned i = 0; i < BEATS + latency; i++) {
		dut->s_valid = i < BEATS && random.chance(90);
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
