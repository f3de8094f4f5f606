// SPDX-License-Identifier: Apache-2.0
//
// ina_pick: whatever it chooses was there to be chosen and has room where it goes, nothing is
// chosen twice, nothing that could go all the time waits for more than its turns, and an answer
// whose sum has left the history is marked as dropped. Retransmissions that want the same go as one
// packet. No sum is chosen of a job that is behind. A part leaves with its job's border, what came
// from above with its own flow and with the others whose packets are in the part.

#include "bench.hpp"
#include "Vina_pick.h"

#include <algorithm>

namespace
{

constexpr unsigned PORTS = 4, JOBS = INA_JOB_COUNT, SLOTS = INA_SLOT_COUNT;
constexpr unsigned SLOT_W = SLOTS > 64 ? 7 : SLOTS > 16 ? 5 : 3;
constexpr unsigned JOIN = 0, RAW = 1, RESEND = 2, DOWN = 3;
constexpr unsigned RESEND_AT = JOBS + JOBS * PORTS, DOWN_AT = RESEND_AT + PORTS,
                   CHOICES = DOWN_AT + JOBS;
constexpr unsigned CHOSEN_MAX = 3;  // what ina_rebuild's `room` promises
constexpr unsigned LOOK_CLOCKS = 3; // from what can be chosen to the choice that goes

template <class Port> void set_bits(Port &port, unsigned at, unsigned width, uint64_t value)
{
	uint8_t *bytes = reinterpret_cast<uint8_t *>(&port);

	for (unsigned i = at; i < at + width; i++, value >>= 1)
		bytes[i / 8] = static_cast<uint8_t>((bytes[i / 8] & ~(1u << i % 8)) |
		                                    (value & 1) << i % 8);
}

void put_resend(bench::Dut<Vina_pick> &dut, unsigned port, const bench::Resend &resend)
{
	set_bits(dut->resend, bench::Resend::WIDTH * port, bench::Resend::WIDTH, resend.bits());
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
		set_bits(dut->queue_waiting, 0, PORTS * JOBS, 0);
		set_bits(dut->resend_pending, 0, PORTS * JOBS, 0);
		set_bits(dut->resend_behind, 0, PORTS * JOBS, 0);
		dut.reset();
		for (unsigned j = 0; j < JOBS; j++) {
			mask[j] = 1 + static_cast<unsigned>(random.below(15));
			if (mask[j] != 15 && random.chance(60)) {
				down[j] = (mask[j] + 1) & ~mask[j]; // the first port that is free
				border[j] = mask[j] & -mask[j];
			}
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
		const unsigned take = dut->issue_valid, job = dut->issue_job;
		if (dut->m_valid && dut->m_ready)
			in_flight.push_back(
			        {dut->m_kind, dut->m_job, dut->m_from, dut->m_mask, dut->m_part});
		finish_some();
		dut.tick();
		CHECK(dut->dropped == dropping, "counted as dropped: %x", dut->dropped);
		dropping = 0;
		if (finished_job >= 0)
			ahead[finished_job]--;
		finished_job = -1;
		if (dut->m_valid && !was_there)
			check_choice(take, job);
		else
			CHECK(take == 0, "taken from a queue, but not chosen");
		idle_clocks = dut->m_valid ? 0 : idle_clocks + 1;
		std::copy(std::begin(behind), std::end(behind), std::begin(was_behind));
		if (idle_clocks > 2 * LOOK_CLOCKS)
			check_idle();
	}

	unsigned counts[4] = {}, dropped = 0, merged = 0;

      private:
	struct Chosen {
		unsigned kind, job, from, mask, part;
	};

	bench::Random &random;
	bench::Dut<Vina_pick> dut;
	unsigned mask[JOBS], border[JOBS] = {}, down[JOBS] = {};     // ports
	unsigned waiting[PORTS][JOBS] = {}, there[PORTS][JOBS] = {}; // to be chosen, in all
	unsigned ahead[JOBS] = {}, sums[JOBS] = {}, parts[JOBS] = {};
	unsigned unsettled[PORTS] = {}, waited[CHOICES] = {}, eligible_for[CHOICES] = {};
	std::vector<uint64_t> settled_at[PORTS];
	bool resending[PORTS] = {}, probe[PORTS] = {}, part[PORTS] = {};
	unsigned resend_job[PORTS] = {}, ordinal[PORTS] = {}, quads[PORTS] = {};
	bool behind[JOBS] = {}, was_behind[JOBS] = {};
	int finished_job = -1;
	bool broken[JOBS] = {}, complete[JOBS] = {}, closing[JOBS] = {};
	unsigned room = 0, resends = 0, go_slot = 0, idle_clocks = 0;
	unsigned dropping = 0; // of these ports, to be counted in the next clock
	std::vector<Chosen> in_flight;

	void drive()
	{
		if (random.chance(1))
			for (unsigned j = 0; j < JOBS; j++) {
				broken[j] = random.chance(50);
				complete[j] = random.chance(75);
				closing[j] = random.chance(10);
			}
		if (random.chance(3))
			for (unsigned j = 0; j < JOBS; j++)
				behind[j] = random.chance(30);
		for (unsigned j = 0; j < JOBS; j++) {
			set_bits(dut->job_valid, j, 1, 1);
			set_bits(dut->job_broken, j, 1, broken[j]);
			set_bits(dut->job_complete, j, 1, complete[j]);
			set_bits(dut->job_closing, j, 1, closing[j]);
			for (unsigned p = 0; p < PORTS; p++) {
				const bool comes = random.chance(JOBS > 8 ? 5 : 20);

				waiting[p][j] += comes;
				there[p][j] += comes;
				set_bits(dut->job_mask, p * JOBS + j, 1, mask[j] >> p & 1);
				set_bits(dut->job_border, p * JOBS + j, 1, border[j] >> p & 1);
				set_bits(dut->job_down, p * JOBS + j, 1, down[j] >> p & 1);
				set_bits(dut->queue_ready, p * JOBS + j, 1, waiting[p][j] > 0);
				set_bits(dut->queue_waiting, p * JOBS + j, 1, there[p][j] > 0);
				set_bits(dut->resend_behind, p * JOBS + j, 1,
				         behind[j] && p == j % PORTS);
			}
		}
		room = static_cast<unsigned>(random.next() | random.next()) & 0xF;
		for (unsigned p = 0; p < PORTS; p++) {
			if (!(resends >> p & 1) && random.chance(50)) {
				resends |= 1u << p;
				probe[p] = random.chance(30);
				resend_job[p] =
				        static_cast<unsigned>(random.below(JOBS < 2 ? 1 : 2));
				part[p] = random.chance(50);
				ordinal[p] = (made(resend_job[p], part[p]) - SLOTS - 1 +
				              static_cast<unsigned>(random.below(4))) &
				             0xFFFF;
				quads[p] = 3 + static_cast<unsigned>(random.chance(20));
			}
			put_resend(dut, p,
			           {probe[p], resend_job[p], ordinal[p] % SLOTS, ordinal[p],
			            quads[p], part[p]});
			set_bits(dut->issue_slot, SLOT_W * p, SLOT_W,
			         dut->m_from >> p & 1 ? go_slot : ~go_slot);
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
		const bool undone = one.kind != RAW && random.chance(20);
		const bool is_part = one.kind == JOIN && one.part;
		dut->done_valid = !undone;
		dut->undo_valid = undone;
		dut->undo_part = is_part;
		dut->done_job = dut->undo_job = static_cast<uint8_t>(one.job);
		finished_job = static_cast<int>(one.job);
		if (undone)
			made(one.job, is_part) = (made(one.job, is_part) - 1) & 0xFFFF;
		for (unsigned p = 0; p < PORTS; p++) {
			unsigned &all = there[p][one.job], &unchosen = waiting[p][one.job];

			if (undone)
				unchosen += one.from >> p & 1;
			else if ((one.mask >> p & 1) && all > 0)
				all--;
			unchosen = std::min(unchosen, all);
		}
	}

	/// The sums of a job that have been chosen, or the parts.
	unsigned &made(unsigned job, bool is_part)
	{
		return is_part ? parts[job] : sums[job];
	}

	/// Where the sum of a job's children leaves, and where the one from above does.
	unsigned join_out(unsigned j) const
	{
		return border[j] ? border[j] : mask[j];
	}
	unsigned down_out(unsigned j) const
	{
		return down[j] | (mask[j] & ~border[j]);
	}
	bool is_behind(unsigned j, unsigned ports) const
	{
		return (behind[j] || was_behind[j]) && (ports >> j % PORTS & 1);
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
		if (choice >= DOWN_AT) {
			const unsigned j = choice - DOWN_AT;

			return down[j] && !closing[j] && !broken[j] &&
			       waiting[__builtin_ctz(down[j])][j] > 0 &&
			       !is_behind(j, down_out(j)) && has_credit(down_out(j));
		}
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

			return ((mask[j] | down[j]) >> p & 1) && there[p][j] > 0 && ahead[j] == 0 &&
			       has_credit(1u << p);
		}
		for (unsigned p = 0; p < PORTS; p++)
			if ((mask[j] >> p & 1) && waiting[p][j] == 0)
				return false;
		return complete[j] && !is_behind(j, join_out(j)) && has_credit(join_out(j));
	}

	void check_choice(unsigned take, unsigned issue_job)
	{
		const unsigned choice = choice_of(), kind = dut->m_kind, ports = dut->m_mask;
		const unsigned from = dut->m_from;

		counts[kind]++;
		CHECK(take == (kind == RESEND ? 0 : from), "chosen on %x, taken on %x", from, take);
		for (unsigned p = 0; p < PORTS; p++)
			if ((from >> p & 1) && kind != RESEND) {
				unsigned &count = (kind == RAW ? there : waiting)[p][dut->m_job];

				CHECK(count > 0, "nothing waits on port %u of job %u", p,
				      dut->m_job);
				count -= kind != RAW;
			}
		for (unsigned p = 0; p < PORTS; p++)
			if (ports >> p & 1) {
				CHECK(++unsettled[p] <= CHOSEN_MAX, "port %u has no room", p);
				if (kind == RESEND) {
					CHECK((resends >> p & 1) && !resending[p],
					      "port %u has nothing to resend", p);
					resending[p] = true;
				}
			}
		for (unsigned p = 0; p < PORTS; p++)
			if (ports >> p & 1)
				check_answer(kind, p);
		merged += kind == RESEND && (ports & (ports - 1));
		if (kind != RESEND) {
			CHECK(issue_job == dut->m_job, "taken from job %u", issue_job);
			CHECK(kind != RAW || ahead[dut->m_job] == 0, "raw behind others");
			ahead[dut->m_job]++;
			unsigned &count = made(dut->m_job, kind == JOIN && dut->m_part);
			count = (count + (kind != RAW)) & 0xFFFF;
			go_slot = static_cast<unsigned>(random.below(SLOTS));
		}
		for (unsigned i = 0; i < CHOICES; i++) {
			const bool goes = kind == RESEND && i >= RESEND_AT
			                          ? ports >> (i - RESEND_AT) & 1
			                          : i == choice;
			const bool could = eligible_for[i] > LOOK_CLOCKS && !goes;

			waited[i] = could ? waited[i] + 1 : 0;
			CHECK(waited[i] < 3 * PORTS * JOBS + 3, "choice %u waits", i);
		}
	}

	void check_answer(unsigned kind, unsigned port)
	{
		// A join that is called off in this clock still counts.
		const bool undone = dut->undo_valid && dut->undo_job == dut->m_job &&
		                    dut->undo_part == dut->m_part;
		const unsigned since =
		        (made(dut->m_job, dut->m_part) + undone - ordinal[port]) & 0xFFFF;
		const bool lost = kind == RESEND && !probe[port] && since > SLOTS;

		CHECK(dut->m_dropped == lost, "%u sums since the one that is asked for: dropped %u",
		      since, dut->m_dropped);
		dropping |= unsigned{lost} << port;
		dropped += lost;
		if (kind == RESEND)
			CHECK(dut->m_probe == probe[port] && dut->m_part == part[port] &&
			              dut->m_job == resend_job[port] &&
			              dut->m_slot == ordinal[port] % SLOTS,
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

		const unsigned job = dut.top.m_job;

		if (dut.top.m_kind == JOIN) {
			CHECK(dut.top.m_from == mask[job] && dut.top.m_mask == join_out(job),
			      "a join without some of its ports");
			CHECK(dut.top.m_part == (border[job] != 0), "a part, or not: %u",
			      dut.top.m_part);
			return job;
		}
		if (dut.top.m_kind == DOWN) {
			CHECK(dut.top.m_from == down[job] && dut.top.m_mask == down_out(job),
			      "a sum from above without some of its ports");
			CHECK(dut.top.m_part, "not held against the part");
			return DOWN_AT + job;
		}
		CHECK(dut.top.m_from == dut.top.m_mask, "from %x to %x", dut.top.m_from,
		      dut.top.m_mask);
		if (dut.top.m_kind == RESEND)
			return RESEND_AT + port;
		CHECK((dut.top.m_mask & (dut.top.m_mask - 1)) == 0, "several ports");
		return JOBS + dut.top.m_job * PORTS + port;
	}
};

/// One clock after the other with all ports' retransmissions as they are: the masks that are
/// chosen.
std::vector<unsigned> choices(bench::Dut<Vina_pick> &dut, unsigned clocks)
{
	std::vector<unsigned> masks;

	dut->m_ready = 1;
	for (unsigned i = 0; i < clocks; i++) {
		dut->resend_pop = dut->settled = 0;
		if (dut->m_valid) {
			masks.push_back(dut->m_mask);
			dut->settled = dut->m_mask;
			dut->resend_pop = dut->m_kind == RESEND ? dut->m_mask : 0;
		}
		dut.tick();
		if (dut->resend_pop)
			dut->resend_valid &= static_cast<uint8_t>(~dut->resend_pop);
	}
	return masks;
}

/// All ports want the same, but for one, of which one field differs; -1: none does.
void ask(bench::Dut<Vina_pick> &dut, int other, unsigned field)
{
	for (unsigned p = 0; p < PORTS; p++) {
		const bool differs = static_cast<int>(p) == other;

		put_resend(dut, p,
		           {differs && field == 0, differs && field == 1, differs && field == 2,
		            5u + (differs && field == 3), 4u + (differs && field == 4),
		            differs && field == 5});
	}
	dut->resend_valid = (1u << PORTS) - 1;
	dut->rebuild_room = (1u << PORTS) - 1;
}

void clear(bench::Dut<Vina_pick> &dut)
{
	dut->m_ready = 0;
	dut->opened = 0;
	dut->resend_valid = dut->resend_pop = dut->settled = 0;
	dut->rebuild_room = 0;
	dut->done_valid = dut->undo_valid = 0;
	set_bits(dut->job_valid, 0, JOBS, 0);
	set_bits(dut->job_complete, 0, JOBS, 0);
	set_bits(dut->job_broken, 0, JOBS, 0);
	set_bits(dut->job_closing, 0, JOBS, 0);
	set_bits(dut->job_mask, 0, PORTS * JOBS, 0);
	set_bits(dut->job_border, 0, PORTS * JOBS, 0);
	set_bits(dut->job_down, 0, PORTS * JOBS, 0);
	set_bits(dut->queue_waiting, 0, PORTS * JOBS, 0);
	set_bits(dut->queue_ready, 0, PORTS * JOBS, 0);
	set_bits(dut->resend_pending, 0, PORTS * JOBS, 0);
	set_bits(dut->resend_behind, 0, PORTS * JOBS, 0);
	dut.reset();
}

/// The same sum for several ports takes one transaction; what differs in anything, one of its own.
void test_one_transaction()
{
	bench::Dut<Vina_pick> dut;
	constexpr unsigned ALL = (1u << PORTS) - 1, CLOCKS = 40;

	clear(dut);
	ask(dut, -1, 0);
	CHECK(choices(dut, CLOCKS) == std::vector<unsigned>{ALL}, "the same sum, but not at once");
	for (unsigned field = 0; field < 6; field++)
		for (unsigned other = 0; other < PORTS; other++) {
			if (field == 1 && JOBS < 2)
				continue;
			ask(dut, static_cast<int>(other), field);
			std::vector<unsigned> masks = choices(dut, CLOCKS);

			std::sort(masks.begin(), masks.end());
			std::vector<unsigned> want = {1u << other, ALL & ~(1u << other)};
			std::sort(want.begin(), want.end());
			CHECK(masks == want, "field %u of port %u differs: %zu packets", field,
			      other, masks.size());
		}
	/* A port without room does not hold up the others. */
	ask(dut, -1, 0);
	dut->rebuild_room = ALL & ~4u;
	CHECK(choices(dut, CLOCKS) == std::vector<unsigned>{ALL & ~4u}, "others wait for room");
}

/// A job's sums wait while the receiver of one of them is behind; they go when it has caught up.
void test_behind()
{
	bench::Dut<Vina_pick> dut;

	for (unsigned p = 0; p < PORTS; p++) {
		clear(dut);
		dut->opened = 1;
		dut->opened_job = 0;
		dut.tick();
		dut->opened = 0;
		set_bits(dut->job_valid, 0, 1, 1);
		set_bits(dut->job_complete, 0, 1, 1);
		dut->rebuild_room = (1u << PORTS) - 1;
		set_bits(dut->resend_behind, p * JOBS, 1, 1);
		for (unsigned q = 0; q < PORTS; q++)
			set_bits(dut->job_mask, q * JOBS, 1, 1);
		dut.tick();
		for (unsigned q = 0; q < PORTS; q++)
			set_bits(dut->queue_ready, q * JOBS, 1, 1);
		CHECK(choices(dut, 40).empty(), "a sum overtakes the answers of port %u", p);
		set_bits(dut->resend_behind, p * JOBS, 1, 0);
		CHECK(!choices(dut, 6).empty(), "nothing goes when port %u has caught up", p);
	}
}

} // namespace

int main()
{
	bench::Random random(bench::seed());

	test_one_transaction();
	test_behind();
	unsigned downs = 0;

	for (unsigned round = 0; round < 20; round++) {
		Pick pick(random);

		for (unsigned i = 0; i < 5000; i++)
			pick.clock();
		downs += pick.counts[DOWN];
		CHECK(pick.counts[JOIN] && pick.counts[RAW] && pick.counts[RESEND] &&
		              pick.dropped && pick.merged,
		      "%u joins, %u raw, %u resent, %u dropped, %u for several ports",
		      pick.counts[JOIN], pick.counts[RAW], pick.counts[RESEND], pick.dropped,
		      pick.merged);
	}
	CHECK(downs > 1000, "%u sums from above", downs);
	return 0;
}
