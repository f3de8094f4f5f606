// SPDX-License-Identifier: Apache-2.0
//
// ina_pick: whatever it chooses was there to be chosen and has room where it goes, nothing is
// chosen twice, and nothing that could go all the time waits for more than one round of all.

#include "bench.hpp"
#include "Vina_pick.h"

#include <algorithm>

namespace
{

constexpr unsigned PORTS = 4, JOBS = 4;
constexpr unsigned JOIN = 0, RAW = 1, RESEND = 2;
constexpr unsigned CHOICES = JOBS + JOBS * PORTS + PORTS;
constexpr unsigned CHOSEN_MAX = 2; // what ina_rebuild's `room` promises

class Pick
{
      public:
	explicit Pick(bench::Random &generator) : random(generator)
	{
		dut->m_ready = 0;
		dut->resend_pop = dut->settled = 0;
		dut->done_valid = dut->undo_valid = 0;
		dut.reset();
		for (unsigned j = 0; j < JOBS; j++)
			mask[j] = 1 + static_cast<unsigned>(random.below(15));
	}

	void clock()
	{
		drive();
		dut.settle();
		const bool taken = dut->m_valid && dut->m_ready;
		const bool could_choose = !dut->m_valid || dut->m_ready;
		bool eligible[CHOICES];

		for (unsigned i = 0; i < CHOICES; i++)
			eligible[i] = is_eligible(i);
		if (taken)
			in_flight.push_back({dut->m_kind, dut->m_job, dut->m_mask});
		finish_some();
		dut.tick();
		if (could_choose)
			check_choice(eligible);
		if (finished_job >= 0)
			ahead[finished_job]--;
		finished_job = -1;
	}

	unsigned counts[3] = {};

      private:
	struct Chosen {
		unsigned kind, job, mask;
	};

	bench::Random &random;
	bench::Dut<Vina_pick> dut;
	unsigned mask[JOBS], fill[PORTS][JOBS] = {}, ahead[JOBS] = {};
	unsigned unsettled[PORTS] = {}, waited[CHOICES] = {};
	uint64_t settled_at[PORTS][2] = {};
	bool resending[PORTS] = {};
	int finished_job = -1;
	unsigned broken = 0, complete = 0xF, closing = 0, room = 0, resends = 0;
	std::vector<Chosen> in_flight;

	void drive()
	{
		uint32_t head_bits[4] = {};

		if (random.chance(1)) {
			broken = static_cast<unsigned>(random.next()) & 0xF;
			complete = static_cast<unsigned>(random.next() | random.next()) & 0xF;
			closing = random.chance(30) ? 1u << random.below(4) : 0;
		}
		for (unsigned p = 0; p < PORTS; p++)
			for (unsigned j = 0; j < JOBS; j++)
				if (random.chance(20) && fill[p][j] < 128)
					fill[p][j]++;
		room = static_cast<unsigned>(random.next() | random.next()) & 0xF;
		resends |= static_cast<unsigned>(random.next()) & 0xF;
		dut->job_valid = 0xF;
		dut->job_complete = static_cast<uint8_t>(complete);
		dut->job_broken = static_cast<uint8_t>(broken);
		dut->job_closing = static_cast<uint8_t>(closing);
		dut->job_mask = static_cast<uint16_t>(mask[0] | mask[1] << 4 | mask[2] << 8 |
		                                      mask[3] << 12);
		for (unsigned p = 0; p < PORTS; p++)
			for (unsigned j = 0; j < JOBS; j++) {
				const uint8_t count = static_cast<uint8_t>(fill[p][j]);

				bench::put(dut->queue_fill, p * JOBS + j, &count, 1);
			}
		bench::put(dut->queue_head, 0, head_bits, sizeof(head_bits) - 2);
		dut->resend_valid = static_cast<uint8_t>(resends);
		dut->resend_job = 0xE4; // port p: job p
		dut->resend_pending = 0;
		dut->rebuild_room = static_cast<uint8_t>(room);
		dut->m_ready = random.chance(70);
		dut->resend_pop = dut->settled = 0;
		dut->done_valid = dut->undo_valid = 0;
	}

	/// Its header is with ina_rebuild, and it is popped or called off; two clocks after that
	/// its ports have their room back.
	void finish_some()
	{
		for (unsigned p = 0; p < PORTS; p++)
			for (uint64_t &at : settled_at[p])
				if (at && dut.clocks == at + 2) {
					unsettled[p]--;
					at = 0;
				}
		if (in_flight.empty() || !random.chance(40))
			return;
		const Chosen one = in_flight.front();
		in_flight.erase(in_flight.begin());
		dut->settled = static_cast<uint8_t>(one.mask);
		for (unsigned p = 0; p < PORTS; p++)
			if (one.mask >> p & 1)
				settled_at[p][settled_at[p][0] ? 1 : 0] = dut.clocks;
		if (one.kind == RESEND) {
			dut->resend_pop = static_cast<uint8_t>(one.mask);
			resends &= ~one.mask;
			for (unsigned p = 0; p < PORTS; p++)
				if (one.mask >> p & 1)
					resending[p] = false;
			return;
		}
		const bool undone = one.kind == JOIN && random.chance(20);
		dut->done_valid = !undone;
		dut->undo_valid = undone;
		dut->done_job = dut->undo_job = static_cast<uint8_t>(one.job);
		finished_job = static_cast<int>(one.job);
		if (!undone)
			for (unsigned p = 0; p < PORTS; p++)
				if (one.mask >> p & 1)
					fill[p][one.job]--;
	}

	bool has_credit(unsigned ports) const
	{
		for (unsigned p = 0; p < PORTS; p++)
			if ((ports >> p & 1) && (!(room >> p & 1) || unsettled[p] >= CHOSEN_MAX))
				return false;
		return true;
	}

	bool is_eligible(unsigned choice) const
	{
		if (choice >= JOBS + JOBS * PORTS) {
			const unsigned p = choice - JOBS - JOBS * PORTS;

			return (resends >> p & 1) && !resending[p] && has_credit(1u << p);
		}
		const bool raw = choice >= JOBS;
		const unsigned j = raw ? (choice - JOBS) / PORTS : choice;

		if ((closing >> j & 1) || raw != (broken >> j & 1))
			return false;
		if (raw) {
			const unsigned p = (choice - JOBS) % PORTS;

			return (mask[j] >> p & 1) && fill[p][j] > 0 && ahead[j] == 0 &&
			       has_credit(1u << p);
		}
		for (unsigned p = 0; p < PORTS; p++)
			if ((mask[j] >> p & 1) && fill[p][j] <= ahead[j])
				return false;
		return (complete >> j & 1) && has_credit(mask[j]);
	}

	void check_choice(const bool *eligible)
	{
		const bool any =
		        std::any_of(eligible, eligible + CHOICES, [](bool e) { return e; });

		CHECK(dut->m_valid == any, "clock %llu: chosen %d, but eligible %d",
		      static_cast<unsigned long long>(dut.clocks), dut->m_valid, any);
		if (any) {
			const unsigned choice = choice_of();

			CHECK(eligible[choice], "choice %u was not eligible", choice);
			counts[dut->m_kind]++;
			for (unsigned i = 0; i < CHOICES; i++) {
				waited[i] = eligible[i] && i != choice ? waited[i] + 1 : 0;
				CHECK(waited[i] < CHOICES, "choice %u waits", i);
			}
			for (unsigned p = 0; p < PORTS; p++)
				if (dut->m_mask >> p & 1) {
					unsettled[p]++;
					resending[p] |= dut->m_kind == RESEND;
				}
			if (dut->m_kind != RESEND)
				ahead[dut->m_job]++;
		}
	}

	unsigned choice_of() const
	{
		const unsigned port = static_cast<unsigned>(__builtin_ctz(dut.top.m_mask));

		if (dut.top.m_kind == JOIN) {
			CHECK(dut.top.m_mask == mask[dut.top.m_job],
			      "a join without some of its ports");
			return dut.top.m_job;
		}
		CHECK((dut.top.m_mask & (dut.top.m_mask - 1)) == 0, "several ports");
		if (dut.top.m_kind == RAW)
			return JOBS + dut.top.m_job * PORTS + port;
		CHECK(dut.top.m_job == port, "another port's retransmission");
		return JOBS + JOBS * PORTS + port;
	}
};

} // namespace

int main()
{
	bench::Random random(bench::seed());

	for (unsigned round = 0; round < 20; round++) {
		Pick pick(random);

		for (unsigned i = 0; i < 5000; i++)
			pick.clock();
		CHECK(pick.counts[JOIN] && pick.counts[RAW] && pick.counts[RESEND],
		      "%u joins, %u raw, %u resent", pick.counts[JOIN], pick.counts[RAW],
		      pick.counts[RESEND]);
	}
	return 0;
}
