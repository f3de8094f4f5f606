// SPDX-License-Identifier: Apache-2.0
//
// ina_ends: every end on both paths comes out once, a clock later. If two end in one clock, the
// join's comes first, and the relay's in the next clock. Each says which ports' packets have left,
// which ports' payloads it took, and whether a part has gone up or LEAVEs have gone out. The module
// is busy until it has reported all ends. A path never has ends in consecutive clocks (ina_beats).

#include "bench.hpp"
#include "Vina_ends.h"

#include <deque>

namespace
{

constexpr unsigned PORTS = 4, JOBS = 4, ALL = (1u << PORTS) - 1;

struct End {
	bool join, raw, part, leave;
	unsigned job, mask, beat, quads;
	unsigned children; // the ports with a child of the job
};

class Ends
{
      public:
	explicit Ends(bench::Random &generator) : random(generator)
	{
		dut->join_valid = dut->relay_valid = 0;
		dut.reset();
	}

	void clock()
	{
		const bool join = !join_ended && random.chance(60);
		const bool relay = !relay_ended && random.chance(60);

		join_ended = join;
		relay_ended = relay;
		dut->join_valid = join;
		dut->relay_valid = relay;
		drive();
		/* The ends of one clock, the join's first, queued after one that still waits. */
		if (join)
			ends.push_back(joined());
		if (relay)
			ends.push_back(relayed());
		at_once += join && relay;
		dut->rst = random.below(1000) == 0;
		if (dut->rst)
			ends.clear();
		dut.tick();
		/* An end that comes in the next clock does not change the report of this clock. */
		dut->rst = 0;
		dut->join_valid = random.chance(50);
		dut->relay_valid = random.chance(50);
		drive();
		dut.settle();
		CHECK(dut->busy == !ends.empty(), "busy: %u", dut->busy);
		CHECK(dut->m_valid == !ends.empty(), "an end: %u, not %u", dut->m_valid,
		      !ends.empty());
		if (!ends.empty()) {
			check(ends.front());
			ends.pop_front();
		}
		CHECK(!dut->m_leave || dut->m_valid, "LEAVEs without an end");
		CHECK(!dut->m_up || dut->m_valid, "a part without an end");
		CHECK(ends.size() <= 1, "%zu wait", ends.size());
	}

	unsigned at_once = 0;

      private:
	bench::Random &random;
	bench::Dut<Vina_ends> dut;
	bool join_ended = false, relay_ended = false;
	std::deque<End> ends; // ends that are to come out

	/// The inputs that matter and those that do not: all of them change in every clock.
	void drive()
	{
		const uint64_t bits = random.next();

		dut->join_raw = bits & 1;
		dut->join_part = bits >> 1 & 1;
		dut->join_leave = bits >> 2 & 1;
		dut->join_job = bits >> 3 & 3;
		dut->join_mask = bits >> 5 & ALL;
		dut->join_beat = bits >> 9 & 63;
		dut->join_quads = 1 + (bits >> 15 & 3);
		dut->relay_raw = bits >> 17 & 1;
		dut->relay_leave = bits >> 18 & 1;
		dut->relay_job = bits >> 19 & 3;
		dut->relay_mask = bits >> 21 & ALL;
		dut->relay_beat = bits >> 25 & 63;
		dut->relay_quads = 1 + (bits >> 31 & 3);
		dut->job_mask = static_cast<uint16_t>(bits >> 48);
	}

	End joined()
	{
		return {true,
		        dut->join_raw != 0,
		        dut->join_part != 0,
		        dut->join_leave != 0,
		        dut->join_job,
		        dut->join_mask,
		        dut->join_beat,
		        dut->join_quads,
		        children(dut->join_job)};
	}

	End relayed()
	{
		return {false,
		        dut->relay_raw != 0,
		        false,
		        dut->relay_leave != 0,
		        dut->relay_job,
		        dut->relay_mask,
		        dut->relay_beat,
		        dut->relay_quads,
		        children(dut->relay_job)};
	}

	/// The ports with a child of the job.
	unsigned children(unsigned job)
	{
		unsigned ports = 0;

		for (unsigned p = 0; p < PORTS; p++)
			ports |= (dut->job_mask >> (p * JOBS + job) & 1u) << p;
		return ports;
	}

	void check(const End &end)
	{
		const bool sum = end.join && !end.raw;

		CHECK(dut->m_raw == end.raw && dut->m_job == end.job && dut->m_mask == end.mask,
		      "raw %u of job %u on ports %x, not raw %u of job %u on ports %x", dut->m_raw,
		      dut->m_job, dut->m_mask, end.raw, end.job, end.mask);
		CHECK(dut->m_beat == end.beat && dut->m_quads == end.quads, "its last beat");
		CHECK(dut->m_up == (sum && end.part), "a part has gone up: %u", dut->m_up);
		CHECK(dut->m_leave == end.leave, "LEAVEs: %u", dut->m_leave);
		/* The sum of LEAVEs is that of all ranks; raw LEAVEs leave one by one. */
		if (end.leave)
			CHECK(dut->m_left == (end.raw ? end.mask : ALL), "LEAVEs of ports %x",
			      dut->m_left);
		/* A packet from above was counted when its part went up. */
		CHECK(dut->m_counted == (end.raw ? end.mask
		                         : sum   ? end.children
		                                 : 0),
		      "payloads of ports %x", dut->m_counted);
	}
};

} // namespace

int main()
{
	bench::Random random(bench::seed());
	Ends ends(random);

	for (unsigned i = 0; i < 200000; i++)
		ends.clock();
	CHECK(ends.at_once > 10000, "%u at the same time", ends.at_once);
	return 0;
}
