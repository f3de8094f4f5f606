// SPDX-License-Identifier: Apache-2.0
//
// ina_pick: whatever it chooses was there to be chosen and has room where it goes, nothing is
// chosen twice, nothing that could go all the time waits for more than its turns, and an answer
// whose sum has left the history is marked as dropped.

#include "bench.hpp"
#include "Vina_pick.h"

#include <algorithm>

namespace
{

constexpr unsigned PORTS = 4, JOBS = INA_JOB_COUNT, SLOTS = INA_SLOT_COUNT;
constexpr unsigned JOB_W = JOBS > 32 ? 6 : JOBS > 2 ? 2 : 1;
constexpr unsigned SLOT_W = SLOTS > 64 ? 7 : SLOTS > 16 ? 5 : 3;
constexpr unsigned JOIN = 0, RAW = 1, RESEND = 2;
constexpr unsigned RESEND_AT = JOBS + JOBS * PORTS, CHOICES = RESEND_AT + PORTS;
constexpr unsigned CHOSEN_MAX = 3;  // what ina_rebuild's `room` promises
constexpr unsigned LOOK_CLOCKS = 3; // from what can be chosen to the choice that goes

template <class Port> void set_bits(Port &port, unsigned at, unsigned width, unsigned value)
{
	uint8_t *bytes = reinterpret_cast<uint8_t *>(&port);

	for (unsigned i = at; i < at + width; i++, value >>= 1)
		bytes[i / 8] = static_cast<uint8_t>((bytes[i / 8] & ~(1u << i % 8)) |
		                                    (value & 1) << i % 8);
}

class Pick
{
      public:
	explicit Pick(bench::Random &generator) : random(generator)
	{
		dut->m_ready = 0;
		dut->opened = 0;
		dut->resend_pop = dut->settled = 0;
		dut->done_valid = dut->undo_valid = 0;
		set_bits(dut->queue_ready, 0, PORTS * JOBS, 0);
		set_bits(dut->resend_pending, 0, PORTS * JOBS, 0);
		dut.reset();
		for (unsigned j = 0; j < JOBS; j++) {
			mask[j] = 1 + static_cast<unsigned>(random.below(15));
			dut->opened = 1;
			dut->opened_job = static_cast<uint8_t>(j);
			dut.tick();
		}
		dut->opened = 0;
	}

	void clock()
	{
		drive();
		dut.settle();
		for (unsigned i = 0; i < CHOICES; i++)
			eligible_for[i] = is_eligible(i) ? eligible_for[i] + 1 : 0;
		if (dut->m_valid && dut->m_kind != RESEND)
			CHECK(dut->m_slot == go_slot, "slot %u, not %u", dut->m_slot, go_slot);
		const bool was_there = dut->m_valid && !dut->m_ready;
		const unsigned take = dut->take_valid, job = dut->take_job;
		if (dut->m_valid && dut->m_ready)
			in_flight.push_back({dut->m_kind, dut->m_job, dut->m_mask});
		finish_some();
		dut.tick();
		if (finished_job >= 0)
			ahead[finished_job]--;
		finished_job = -1;
		if (dut->m_valid && !was_there)
			check_choice(take, job);
		else
			CHECK(take == 0, "taken from a queue, but not chosen");
		idle_clocks = dut->m_valid ? 0 : idle_clocks + 1;
		if (idle_clocks > 2 * LOOK_CLOCKS)
			check_idle();
	}

	unsigned counts[3] = {}, dropped = 0;

      private:
	struct Chosen {
		unsigned kind, job, mask;
	};

	bench::Random &random;
	bench::Dut<Vina_pick> dut;
	unsigned mask[JOBS], waiting[PORTS][JOBS] = {}, ahead[JOBS] = {}, sums[JOBS] = {};
	unsigned unsettled[PORTS] = {}, waited[CHOICES] = {}, eligible_for[CHOICES] = {};
	std::vector<uint64_t> settled_at[PORTS];
	bool resending[PORTS] = {}, probe[PORTS] = {};
	unsigned ordinal[PORTS] = {};
	int finished_job = -1;
	bool broken[JOBS] = {}, complete[JOBS] = {}, closing[JOBS] = {};
	unsigned room = 0, resends = 0, go_slot = 0, idle_clocks = 0;
	std::vector<Chosen> in_flight;

	void drive()
	{
		if (random.chance(1))
			for (unsigned j = 0; j < JOBS; j++) {
				broken[j] = random.chance(50);
				complete[j] = random.chance(75);
				closing[j] = random.chance(10);
			}
		for (unsigned j = 0; j < JOBS; j++) {
			set_bits(dut->job_valid, j, 1, 1);
			set_bits(dut->job_broken, j, 1, broken[j]);
			set_bits(dut->job_complete, j, 1, complete[j]);
			set_bits(dut->job_closing, j, 1, closing[j]);
			for (unsigned p = 0; p < PORTS; p++) {
				waiting[p][j] += random.chance(JOBS > 8 ? 5 : 20);
				set_bits(dut->job_mask, p * JOBS + j, 1, mask[j] >> p & 1);
				set_bits(dut->queue_ready, p * JOBS + j, 1, waiting[p][j] > 0);
			}
		}
		room = static_cast<unsigned>(random.next() | random.next()) & 0xF;
		for (unsigned p = 0; p < PORTS; p++) {
			if (!(resends >> p & 1) && random.chance(50)) {
				resends |= 1u << p;
				probe[p] = random.chance(30);
				ordinal[p] = (sums[p % JOBS] - SLOTS - 2 +
				              static_cast<unsigned>(random.below(6))) &
				             0xFFFF;
			}
			set_bits(dut->resend_job, JOB_W * p, JOB_W, p % JOBS);
			set_bits(dut->resend_ordinal, 16 * p, 16, ordinal[p]);
			set_bits(dut->resend_slot, SLOT_W * p, SLOT_W, p);
			set_bits(dut->resend_probe, p, 1, probe[p]);
			set_bits(dut->take_slot, SLOT_W * p, SLOT_W,
			         dut->m_mask >> p & 1 ? go_slot : ~go_slot);
		}
		dut->resend_valid = static_cast<uint8_t>(resends);
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
			while (!settled_at[p].empty() && dut.clocks >= settled_at[p].front() + 2) {
				unsettled[p]--;
				settled_at[p].erase(settled_at[p].begin());
			}
		if (in_flight.empty() || !random.chance(40))
			return;
		const Chosen one = in_flight.front();
		in_flight.erase(in_flight.begin());
		dut->settled = static_cast<uint8_t>(one.mask);
		for (unsigned p = 0; p < PORTS; p++)
			if (one.mask >> p & 1)
				settled_at[p].push_back(dut.clocks);
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
		if (undone) {
			sums[one.job] = (sums[one.job] - 1) & 0xFFFF;
			for (unsigned p = 0; p < PORTS; p++)
				waiting[p][one.job] += one.mask >> p & 1;
		}
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
		if (choice >= RESEND_AT) {
			const unsigned p = choice - RESEND_AT;

			return (resends >> p & 1) && !resending[p] && has_credit(1u << p);
		}
		const bool raw = choice >= JOBS;
		const unsigned j = raw ? (choice - JOBS) / PORTS : choice;

		if (closing[j] || raw != broken[j])
			return false;
		if (raw) {
			const unsigned p = (choice - JOBS) % PORTS;

			return (mask[j] >> p & 1) && waiting[p][j] > 0 && ahead[j] == 0 &&
			       has_credit(1u << p);
		}
		for (unsigned p = 0; p < PORTS; p++)
			if ((mask[j] >> p & 1) && waiting[p][j] == 0)
				return false;
		return complete[j] && has_credit(mask[j]);
	}

	void check_choice(unsigned take, unsigned take_job)
	{
		const unsigned choice = choice_of(), kind = dut->m_kind, ports = dut->m_mask;

		counts[kind]++;
		CHECK(take == (kind == RESEND ? 0 : ports), "chosen on %x, taken on %x", ports,
		      take);
		for (unsigned p = 0; p < PORTS; p++)
			if (ports >> p & 1) {
				CHECK(++unsettled[p] <= CHOSEN_MAX, "port %u has no room", p);
				if (kind == RESEND) {
					CHECK((resends >> p & 1) && !resending[p],
					      "port %u has nothing to resend", p);
					resending[p] = true;
				} else {
					CHECK(waiting[p][dut->m_job]-- > 0,
					      "nothing waits on port %u of job %u", p, dut->m_job);
				}
			}
		check_answer(kind, static_cast<unsigned>(__builtin_ctz(ports)));
		if (kind != RESEND) {
			CHECK(take_job == dut->m_job, "taken from job %u", take_job);
			CHECK(kind == JOIN || ahead[dut->m_job] == 0, "raw behind others");
			ahead[dut->m_job]++;
			sums[dut->m_job] = (sums[dut->m_job] + (kind == JOIN)) & 0xFFFF;
			go_slot = static_cast<unsigned>(random.below(SLOTS));
		}
		for (unsigned i = 0; i < CHOICES; i++) {
			const bool could = eligible_for[i] > LOOK_CLOCKS && i != choice;

			waited[i] = could ? waited[i] + 1 : 0;
			CHECK(waited[i] < 3 * PORTS * JOBS + 3, "choice %u waits", i);
		}
	}

	void check_answer(unsigned kind, unsigned port)
	{
		// A join that is called off in this clock still counts.
		const bool undone = dut->undo_valid && dut->undo_job == dut->m_job;
		const unsigned since = (sums[dut->m_job] + undone - ordinal[port]) & 0xFFFF;
		const bool lost = kind == RESEND && !probe[port] && since > SLOTS;

		CHECK(dut->m_dropped == lost && dut->dropped == lost,
		      "%u sums since the one that is asked for: dropped %u", since, dut->m_dropped);
		dropped += lost;
		if (kind == RESEND)
			CHECK(dut->m_probe == probe[port] && dut->m_slot == port,
			      "another port's answer");
	}

	/// Nothing goes, so nothing could for as long as a choice takes.
	void check_idle()
	{
		for (unsigned i = 0; i < CHOICES; i++)
			CHECK(eligible_for[i] <= 2 * LOOK_CLOCKS, "clock %llu: choice %u could go",
			      static_cast<unsigned long long>(dut.clocks), i);
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
		CHECK(dut.top.m_job == port % JOBS, "another port's retransmission");
		return RESEND_AT + port;
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
		CHECK(pick.counts[JOIN] && pick.counts[RAW] && pick.counts[RESEND] && pick.dropped,
		      "%u joins, %u raw, %u resent, %u dropped", pick.counts[JOIN],
		      pick.counts[RAW], pick.counts[RESEND], pick.dropped);
	}
	return 0;
}
