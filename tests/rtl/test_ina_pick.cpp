// SPDX-License-Identifier: Apache-2.0
//
// ina_pick. It chooses only packets that wait and that have room at their output, and chooses none
// of them twice. A packet that could go all the time waits no longer than its turns. An answer
// whose sum has left the history is marked as dropped. Retransmissions that want the same sum go as
// one packet. No sum is chosen of a job that is behind. A part leaves with its job's border. A sum
// from above leaves with its own flow and with the others whose packets are in the part. Sums and
// raw packets go to the join. Packets from above, retransmissions and raw packets of uplinks go to
// the relay. If one of these two takes nothing, the other still gets its packets.

#include "bench.hpp"
#include "Vina_pick.h"

#include <algorithm>

namespace
{

constexpr unsigned PORTS = 4, JOBS = INA_JOB_COUNT, SLOTS = INA_SLOT_COUNT;
constexpr unsigned ALL = (1u << PORTS) - 1;
constexpr unsigned SLOT_W = bench::width_of(SLOTS);
constexpr unsigned JOIN = 0, RAW = 1, RESEND = 2, DOWN = 3;
constexpr unsigned THE_JOIN = 0, THE_RELAY = 1, PATHS = 2;
constexpr unsigned RESEND_AT = JOBS + JOBS * PORTS, DOWN_AT = RESEND_AT + PORTS,
                   CHOICES = DOWN_AT + JOBS;
constexpr unsigned CHOSEN_MAX = 3;  // promised by ina_rebuild's `room`
constexpr unsigned LOOK_CLOCKS = 3; // from a choice that is possible to the choice itself
// If a path stands still, its turn comes at the latest when all kinds and ports have had theirs.
constexpr unsigned PATH_CLOCKS = 2 * LOOK_CLOCKS + 2 * 4 * PORTS;
constexpr unsigned ROUNDS = 40, CLOCKS = 2500;

using bench::set_bits;

/// The number of packets in the history of a job.
unsigned window_of(unsigned job)
{
	return job % 3 == 1 ? SLOTS / 2 : SLOTS;
}

template <class Port> bool bit(const Port &port, unsigned at)
{
	return reinterpret_cast<const uint8_t *>(&port)[at / 8] >> (at % 8) & 1;
}

void put_resend(bench::Dut<Vina_pick> &dut, unsigned port, const bench::Resend &resend)
{
	set_bits(dut->resend, bench::Resend::WIDTH * port, bench::Resend::WIDTH, resend.bits());
}

/// The packet that waits at one path.
struct Chosen {
	bool valid, ready;
	unsigned kind, job, slot, from, mask;
	bool part;
};

Chosen chosen_of(bench::Dut<Vina_pick> &dut, unsigned path)
{
	if (path == THE_JOIN)
		return {dut->m_join_valid != 0,
		        dut->m_join_ready != 0,
		        dut->m_join_raw ? RAW : JOIN,
		        dut->m_join_job,
		        dut->m_join_slot,
		        dut->m_join_from,
		        dut->m_join_mask,
		        dut->m_join_part != 0};
	return {dut->m_relay_valid != 0, dut->m_relay_ready != 0,
	        dut->m_relay_kind,       dut->m_relay_job,
	        dut->m_relay_slot,       dut->m_relay_from,
	        dut->m_relay_mask,       false};
}

/// No packet waits, and nothing has room.
void clear(bench::Dut<Vina_pick> &dut)
{
	dut->m_join_ready = dut->m_relay_ready = 0;
	dut->opened = dut->uplinks = 0;
	dut->resend_valid = dut->resend_pop = 0;
	dut->join_room = dut->relay_room = 0;
	dut->join_settled = dut->relay_settled = 0;
	dut->done_valid = dut->join_undo = dut->relay_undo = 0;
	set_bits(dut->job_valid, 0, JOBS, 0);
	for (unsigned j = 0; j < JOBS; j++)
		set_bits(dut->job_window, j * bench::width_of(SLOTS), bench::width_of(SLOTS),
		         window_of(j) - 1);
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

class Pick
{
      public:
	explicit Pick(bench::Random &generator) : random(generator)
	{
		clear(dut);
		uplinks = random.chance(30) ? 0 : 1 + static_cast<unsigned>(random.below(14));
		dut->uplinks = static_cast<uint8_t>(uplinks);
		for (unsigned j = 0; j < JOBS; j++) {
			mask[j] = draw_ports(ALL & ~uplinks);
			if (uplinks && random.chance(60)) {
				border[j] = one_of(mask[j]);
				down[j] = random.chance(80) ? one_of(uplinks) : 0;
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
		Chosen before[PATHS];
		const unsigned take[] = {dut->join_issue, dut->relay_issue};
		const unsigned job[] = {dut->join_issue_job, dut->relay_issue_job};
		const bool raw[] = {dut->join_issue_raw != 0, dut->relay_issue_raw != 0};
		for (unsigned path = 0; path < PATHS; path++) {
			before[path] = chosen_of(dut, path);
			if (before[path].valid && before[path].kind != RESEND)
				CHECK(before[path].slot == go_slot[path], "slot %u, not %u",
				      before[path].slot, go_slot[path]);
			if (before[path].valid && before[path].ready)
				in_flight[path].push_back(before[path]);
			finish_some(path);
		}
		was_held = is_held;
		for (unsigned path = 0; path < PATHS; path++)
			held[path] = before[path].valid && !before[path].ready;
		is_held = held[THE_JOIN];
		dut.tick();
		CHECK(dut->dropped == dropping, "counted as dropped: %x", dut->dropped);
		dropping = 0;
		for (unsigned j : finished)
			ahead[j]--;
		finished.clear();
		/* The relay's packet was chosen before the join's packet of this clock. */
		for (unsigned path : {THE_RELAY, THE_JOIN}) {
			const Chosen now = chosen_of(dut, path);

			if (now.valid && !held[path])
				check_choice(path, now, take[path], job[path], raw[path]);
			else
				CHECK(take[path] == 0, "taken from a queue, but not chosen");
			idle_clocks[path] = now.valid ? 0 : idle_clocks[path] + 1;
		}
		for (unsigned j = 0; j < JOBS; j++)
			CHECK(!ahead[j] || !bit(dut->job_quiet, j), "job %u is quiet", j);
		std::copy(std::begin(behind), std::end(behind), std::begin(was_behind));
		check_idle();
	}

	unsigned counts[4] = {}, dropped = 0, merged = 0, raw_up = 0, while_held[PATHS] = {};

      private:
	bench::Random &random;
	bench::Dut<Vina_pick> dut;
	unsigned uplinks, mask[JOBS], border[JOBS] = {}, down[JOBS] = {}; // ports
	unsigned waiting[PORTS][JOBS] = {}, there[PORTS][JOBS] = {};      // packets that can be
	                                                             // chosen, and all that are
	                                                             // there
	unsigned ahead[JOBS] = {}, here[JOBS] = {}, above[JOBS] = {}; // numbers of sums, by
	                                                              // their source
	unsigned unsettled[PATHS][PORTS] = {}, waited[CHOICES] = {}, eligible_for[CHOICES] = {};
	std::vector<uint64_t> settled_at[PATHS][PORTS];
	bool resending[PORTS] = {}, probe[PORTS] = {}, part[PORTS] = {};
	unsigned resend_job[PORTS] = {}, ordinal[PORTS] = {}, quads[PORTS] = {};
	bool behind[JOBS] = {}, was_behind[JOBS] = {};
	std::vector<unsigned> finished; // jobs that finished in this clock
	bool broken[JOBS] = {}, complete[JOBS] = {}, closing[JOBS] = {};
	unsigned room[PATHS] = {}, ready_percent[PATHS] = {100, 100}, room_percent = 100;
	unsigned resends = 0, go_slot[PATHS] = {}, idle_clocks[PATHS] = {};
	bool held[PATHS] = {}; // the packet that waited at the path in the clock before was not
	                       // taken
	bool is_held = false, was_held = false; // ... the one at the join; and one clock earlier
	unsigned dropping = 0;                  // answers of these ports are counted as dropped in
	                                        // the next clock
	std::vector<Chosen> in_flight[PATHS];

	unsigned draw_ports(unsigned of)
	{
		const unsigned ports = static_cast<unsigned>(random.next()) & of;

		return ports ? ports : of;
	}
	unsigned one_of(unsigned ports)
	{
		while (ports & (ports - 1))
			ports &= random.chance(50) ? ports - 1 : ports & -ports;
		return ports;
	}

	void drive()
	{
		drive_jobs();
		drive_resends();
		if (random.chance(1)) {
			const unsigned percents[] = {0, 30, 70, 100};

			room_percent = random.chance(50) ? 100 : 75;
			for (unsigned &percent : ready_percent)
				percent = percents[random.below(4)];
		}
		std::fill(room, room + PATHS, 0);
		for (unsigned p = 0; p < PORTS; p++) {
			for (unsigned &ports : room)
				ports |= unsigned{random.chance(room_percent)} << p;
			const bool joins = dut->m_join_from >> p & 1;
			const bool relays =
			        dut->m_relay_kind != RESEND && (dut->m_relay_from >> p & 1);

			set_bits(dut->issue_slot, SLOT_W * p, SLOT_W,
			         uplinks >> p & 1
			                 ? relays ? go_slot[THE_RELAY] : ~go_slot[THE_RELAY]
			         : joins ? go_slot[THE_JOIN]
			                 : ~go_slot[THE_JOIN]);
		}
		dut->join_room = static_cast<uint8_t>(room[THE_JOIN]);
		dut->relay_room = static_cast<uint8_t>(room[THE_RELAY]);
		dut->m_join_ready = random.chance(ready_percent[THE_JOIN]);
		dut->m_relay_ready = random.chance(ready_percent[THE_RELAY]);
		dut->resend_pop = dut->join_settled = dut->relay_settled = 0;
		dut->done_valid = dut->join_undo = dut->relay_undo = 0;
	}

	void drive_jobs()
	{
		if (random.chance(1))
			for (unsigned j = 0; j < JOBS; j++) {
				broken[j] |= random.chance(7);
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
	}

	void drive_resends()
	{
		for (unsigned p = 0; p < PORTS; p++) {
			if (!(resends >> p & 1) && random.chance(50)) {
				resends |= 1u << p;
				probe[p] = random.chance(30);
				resend_job[p] =
				        static_cast<unsigned>(random.below(JOBS < 2 ? 1 : 2));
				part[p] = border[resend_job[p]] && random.chance(50);
				ordinal[p] = (wanted(p) - SLOTS - 1 +
				              static_cast<unsigned>(random.below(4))) &
				             0xFFFF;
				quads[p] = 3 + static_cast<unsigned>(random.chance(20));
			}
			put_resend(dut, p,
			           {probe[p], resend_job[p], ordinal[p] % SLOTS, ordinal[p],
			            quads[p], part[p]});
		}
		dut->resend_valid = static_cast<uint8_t>(resends);
	}

	/// ina_rebuild has its header, and it is popped or called off. Two clocks later its ports
	/// have their room back.
	void finish_some(unsigned path)
	{
		for (unsigned p = 0; p < PORTS; p++) {
			std::vector<uint64_t> &clocks = settled_at[path][p];

			while (!clocks.empty() && dut.clocks >= clocks.front() + 2) {
				unsettled[path][p]--;
				clocks.erase(clocks.begin());
			}
		}
		if (in_flight[path].empty() || !random.chance(40))
			return;
		const Chosen one = in_flight[path].front();
		const bool undone = (one.kind == JOIN || one.kind == DOWN) && random.chance(20);

		/* One end a clock, over both paths. */
		if (one.kind != RESEND && !undone && dut->done_valid)
			return;
		in_flight[path].erase(in_flight[path].begin());
		if (path == THE_JOIN)
			dut->join_settled = static_cast<uint8_t>(one.mask);
		else
			dut->relay_settled = static_cast<uint8_t>(one.mask);
		for (unsigned p = 0; p < PORTS; p++)
			if (one.mask >> p & 1)
				settled_at[path][p].push_back(dut.clocks);
		if (one.kind == RESEND) {
			dut->resend_pop = static_cast<uint8_t>(one.mask);
			resends &= ~one.mask;
			for (unsigned p = 0; p < PORTS; p++)
				if (one.mask >> p & 1)
					resending[p] = false;
			return;
		}
		if (undone)
			undo(path, one);
		else
			end(one);
		finished.push_back(one.job);
	}

	void undo(unsigned path, const Chosen &one)
	{
		unsigned &count = (path == THE_JOIN ? here : above)[one.job];

		count = (count - 1) & 0xFFFF;
		if (path == THE_JOIN) {
			dut->join_undo = 1;
			dut->join_undo_job = static_cast<uint8_t>(one.job);
		} else {
			dut->relay_undo = 1;
			dut->relay_undo_job = static_cast<uint8_t>(one.job);
		}
		for (unsigned p = 0; p < PORTS; p++) {
			unsigned &unchosen = waiting[p][one.job];

			unchosen = std::min(unchosen + (one.from >> p & 1), there[p][one.job]);
		}
	}

	void end(const Chosen &one)
	{
		dut->done_valid = 1;
		dut->done_job = static_cast<uint8_t>(one.job);
		for (unsigned p = 0; p < PORTS; p++) {
			unsigned &all = there[p][one.job], &unchosen = waiting[p][one.job];

			/* Packets that were not chosen stay, except those that were sent raw. */
			all -= (one.mask >> p & 1) && all > (one.kind == RAW ? 0 : unchosen);
			unchosen = std::min(unchosen, all);
		}
	}

	/// Does a port's retransmission want the sum from above?
	bool wants_above(unsigned port) const
	{
		return border[resend_job[port]] && !part[port];
	}
	/// The number of chosen sums of the kind that it wants.
	unsigned wanted(unsigned port) const
	{
		return (wants_above(port) ? above : here)[resend_job[port]];
	}

	/// The ports where the sum of a job's children leaves, and where the one from above does.
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

	unsigned path_of(unsigned choice) const
	{
		if (choice >= RESEND_AT)
			return THE_RELAY;
		return choice >= JOBS && (uplinks >> (choice - JOBS) % PORTS & 1) ? THE_RELAY
		                                                                  : THE_JOIN;
	}

	/// Room for one packet, even if another one that is not visible yet was chosen for the same
	/// port.
	bool has_credit(unsigned path, unsigned ports) const
	{
		for (unsigned p = 0; p < PORTS; p++)
			if ((ports >> p & 1) &&
			    (!(room[path] >> p & 1) || unsettled[path][p] >= CHOSEN_MAX - 1))
				return false;
		return true;
	}

	bool is_eligible(unsigned choice) const
	{
		const unsigned path = path_of(choice);

		if (choice >= DOWN_AT) {
			const unsigned j = choice - DOWN_AT;

			return down[j] && !closing[j] && !broken[j] &&
			       waiting[__builtin_ctz(down[j])][j] > 0 &&
			       !is_behind(j, down_out(j)) && has_credit(path, down_out(j));
		}
		if (choice >= RESEND_AT) {
			const unsigned p = choice - RESEND_AT;

			return (resends >> p & 1) && !resending[p] && has_credit(path, 1u << p);
		}
		const bool raw = choice >= JOBS;
		const unsigned j = raw ? (choice - JOBS) / PORTS : choice;

		if (closing[j] || raw != broken[j])
			return false;
		if (raw) {
			const unsigned p = (choice - JOBS) % PORTS;

			/* After the packet that is held there may be one more, which is not
			 * visible. */
			return ((mask[j] | down[j]) >> p & 1) && there[p][j] > 0 && ahead[j] == 0 &&
			       !held[THE_JOIN] && !held[THE_RELAY] && has_credit(path, 1u << p);
		}
		for (unsigned p = 0; p < PORTS; p++)
			if ((mask[j] >> p & 1) && waiting[p][j] == 0)
				return false;
		return complete[j] && !is_behind(j, join_out(j)) && has_credit(path, join_out(j));
	}

	void check_choice(unsigned path, const Chosen &now, unsigned take, unsigned issue_job,
	                  bool issue_raw)
	{
		const unsigned choice = choice_of(now), kind = now.kind, ports = now.mask;

		CHECK(path_of(choice) == path, "kind %u of ports %x on the other path", kind,
		      now.from);
		counts[kind]++;
		raw_up += kind == RAW && path == THE_RELAY;
		while_held[path] += held[1 - path];
		CHECK(take == (kind == RESEND ? 0 : now.from), "chosen on %x, taken on %x",
		      now.from, take);
		for (unsigned p = 0; p < PORTS; p++)
			if ((now.from >> p & 1) && kind != RESEND) {
				unsigned &count = (kind == RAW ? there : waiting)[p][now.job];

				CHECK(count > 0, "nothing waits on port %u of job %u", p, now.job);
				count -= kind != RAW;
			}
		for (unsigned p = 0; p < PORTS; p++)
			if (ports >> p & 1) {
				CHECK(++unsettled[path][p] <= CHOSEN_MAX, "port %u has no room", p);
				if (kind == RESEND)
					check_answer(p, now);
			}
		CHECK(path == THE_JOIN || kind == RESEND || !dut->m_relay_dropped,
		      "no answer, and dropped");
		merged += kind == RESEND && (ports & (ports - 1));
		if (kind != RESEND) {
			CHECK(issue_job == now.job, "taken from job %u", issue_job);
			CHECK(issue_raw == (kind == RAW), "taken at the head: %u", issue_raw);
			CHECK(kind != RAW || ahead[now.job] == 0, "raw behind others");
			ahead[now.job]++;
			unsigned &count = (kind == DOWN ? above : here)[now.job];
			count = (count + (kind != RAW)) & 0xFFFF;
			go_slot[path] = static_cast<unsigned>(random.below(SLOTS));
		}
		for (unsigned i = 0; i < CHOICES; i++) {
			if (path_of(i) != path)
				continue;
			const bool goes = kind == RESEND && i >= RESEND_AT && i < DOWN_AT
			                          ? ports >> (i - RESEND_AT) & 1
			                          : i == choice;
			const bool could = eligible_for[i] > LOOK_CLOCKS && !goes;

			waited[i] = could ? waited[i] + 1 : 0;
			CHECK(waited[i] < 3 * PORTS * JOBS + 3, "choice %u waits", i);
		}
	}

	void check_answer(unsigned port, const Chosen &now)
	{
		CHECK((resends >> port & 1) && !resending[port], "port %u has nothing to resend",
		      port);
		resending[port] = true;
		CHECK(dut->m_relay_probe == probe[port] && now.job == resend_job[port] &&
		              now.slot == ordinal[port] % SLOTS &&
		              dut->m_relay_quads == quads[port],
		      "another port's answer");
		CHECK(dut->m_relay_above == wants_above(port), "from above: %u",
		      dut->m_relay_above);
		/* A sum that is called off in this clock still counts. So does one that was chosen
		 * after a packet that the join did not take, although it is not visible. */
		const bool from_above = wants_above(port);
		const bool undone = from_above ? dut->relay_undo && dut->relay_undo_job == now.job
		                               : dut->join_undo && dut->join_undo_job == now.job;
		const unsigned since = (wanted(port) + undone - ordinal[port]) & 0xFFFF;
		const bool unseen = !from_above && was_held;
		const unsigned window = window_of(now.job);
		const bool lost = !probe[port] && since > window;
		const bool may_be = lost || (!probe[port] && unseen && since + 1 > window);

		CHECK(dut->m_relay_dropped == lost || dut->m_relay_dropped == may_be,
		      "%u sums since the one that is asked for: dropped %u", since,
		      dut->m_relay_dropped);
		dropping |= unsigned{dut->m_relay_dropped} << port;
		dropped += dut->m_relay_dropped;
	}

	/// If nothing leaves, no packet could be chosen for as long as a choice takes. If nothing
	/// leaves on one path, no packet could be chosen for that path for as long as the turns of
	/// all others take.
	void check_idle()
	{
		for (unsigned i = 0; i < CHOICES; i++) {
			const unsigned other = idle_clocks[1 - path_of(i)];
			const unsigned idle = idle_clocks[path_of(i)];
			const bool waits = eligible_for[i] > 2 * LOOK_CLOCKS &&
			                   std::min(idle, other) > 2 * LOOK_CLOCKS;
			const bool path_waits = eligible_for[i] > PATH_CLOCKS && idle > PATH_CLOCKS;

			CHECK(!waits && !path_waits, "clock %llu: choice %u could go",
			      static_cast<unsigned long long>(dut.clocks), i);
		}
	}

	unsigned choice_of(const Chosen &now) const
	{
		const unsigned port = static_cast<unsigned>(__builtin_ctz(now.mask)), job = now.job;

		if (now.kind == JOIN) {
			CHECK(now.from == mask[job] && now.mask == join_out(job),
			      "a join without some of its ports");
			CHECK(now.part == (border[job] != 0), "a part, or not: %u", now.part);
			return job;
		}
		if (now.kind == DOWN) {
			CHECK(now.from == down[job] && now.mask == down_out(job),
			      "a sum from above without some of its ports");
			return DOWN_AT + job;
		}
		CHECK(now.from == now.mask, "from %x to %x", now.from, now.mask);
		if (now.kind == RESEND)
			return RESEND_AT + port;
		CHECK((now.mask & (now.mask - 1)) == 0, "several ports");
		return JOBS + job * PORTS + port;
	}
};

/// Runs clock after clock with all ports' retransmissions unchanged, and returns the masks that are
/// chosen on both paths.
std::vector<unsigned> choices(bench::Dut<Vina_pick> &dut, unsigned clocks)
{
	std::vector<unsigned> masks;

	dut->m_join_ready = dut->m_relay_ready = 1;
	for (unsigned i = 0; i < clocks; i++) {
		dut->resend_pop = dut->join_settled = dut->relay_settled = 0;
		if (dut->m_join_valid) {
			masks.push_back(dut->m_join_mask);
			dut->join_settled = dut->m_join_mask;
		}
		if (dut->m_relay_valid) {
			masks.push_back(dut->m_relay_mask);
			dut->relay_settled = dut->m_relay_mask;
			dut->resend_pop = dut->m_relay_kind == RESEND ? dut->m_relay_mask : 0;
		}
		dut.tick();
		if (dut->resend_pop)
			dut->resend_valid &= static_cast<uint8_t>(~dut->resend_pop);
	}
	return masks;
}

/// All ports want the same sum, except port `other`, whose request differs in one field; -1: no
/// port differs.
void ask(bench::Dut<Vina_pick> &dut, int other, unsigned field)
{
	for (unsigned p = 0; p < PORTS; p++) {
		const bool differs = static_cast<int>(p) == other;

		put_resend(dut, p,
		           {differs && field == 0, differs && field == 1, differs && field == 2,
		            5u + (differs && field == 3), 4u + (differs && field == 4),
		            differs && field == 5});
	}
	dut->resend_valid = dut->relay_room = ALL;
}

/// One transaction sends the same sum to several ports. A request that differs in anything takes a
/// separate transaction.
void test_one_transaction()
{
	bench::Dut<Vina_pick> dut;
	constexpr unsigned CLOCKS = 40;

	clear(dut);
	ask(dut, -1, 0);
	CHECK(choices(dut, CLOCKS) == std::vector<unsigned>{ALL},
	      "the same sum, but not in the same clock");
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
	dut->relay_room = ALL & ~4u;
	CHECK(choices(dut, CLOCKS) == std::vector<unsigned>{ALL & ~4u}, "others wait for room");
}

/// A job with three children, and with its top above if `border` is set. Its sums have room.
void open_job(bench::Dut<Vina_pick> &dut, unsigned job, bool border)
{
	constexpr unsigned UPLINK = PORTS - 1;

	dut->opened = 1;
	dut->opened_job = static_cast<uint8_t>(job);
	dut.tick();
	dut->opened = 0;
	dut->uplinks = 1u << UPLINK;
	dut->join_room = dut->relay_room = ALL;
	set_bits(dut->job_valid, job, 1, 1);
	set_bits(dut->job_complete, job, 1, 1);
	set_bits(dut->job_border, 0 * JOBS + job, 1, border);
	set_bits(dut->job_down, UPLINK * JOBS + job, 1, border);
	for (unsigned p = 0; p < UPLINK; p++)
		set_bits(dut->job_mask, p * JOBS + job, 1, 1);
	dut.tick();
}

/// A job's sums wait while the receiver of one of them is behind; they go when it has caught up. A
/// part waits only for the border; a sum from above waits for all others.
void test_behind()
{
	constexpr unsigned CHILDREN = 7, BORDER = 1, UPLINK = 8;
	const struct {
		bool border;
		unsigned ready, receivers;
	} cases[] = {{false, CHILDREN, CHILDREN},
	             {true, CHILDREN, BORDER},
	             {true, UPLINK, UPLINK | (CHILDREN & ~BORDER)}};
	bench::Dut<Vina_pick> dut;

	for (const auto &one : cases)
		for (unsigned p = 0; p < PORTS; p++) {
			const bool holds = one.receivers >> p & 1;

			clear(dut);
			set_bits(dut->resend_behind, p * JOBS, 1, 1);
			open_job(dut, 0, one.border);
			for (unsigned q = 0; q < PORTS; q++)
				set_bits(dut->queue_ready, q * JOBS, 1, one.ready >> q & 1);
			CHECK(choices(dut, 40).empty() == holds,
			      "a sum of ports %x, port %u behind: it goes, or waits for another's",
			      one.ready, p);
			set_bits(dut->resend_behind, p * JOBS, 1, 0);
			CHECK(!choices(dut, 6).empty(), "nothing goes when port %u has caught up",
			      p);
		}
}

/// A packet that is chosen after one that the join does not take counts already. So its job is not
/// quiet, and an answer whose sum it may overwrite is dropped.
void test_chosen_behind()
{
	bench::Dut<Vina_pick> dut;

	for (bool lost : {false, true}) {
		clear(dut);
		open_job(dut, 0, false);
		for (unsigned p = 0; p < PORTS - 1; p++)
			set_bits(dut->queue_ready, p * JOBS, 1, 1);
		for (unsigned i = 0; i < 20; i++)
			dut.tick();
		CHECK(dut->m_join_valid, "no sum is chosen");
		/* Two sums are chosen: the one that waits, and the one after it. */
		const unsigned ordinal = (2 - SLOTS - lost) & 0xFFFF;

		put_resend(dut, 0, {0, 0, 0, ordinal, 4});
		dut->resend_valid = 1;
		for (unsigned i = 0; i < 20; i++)
			dut.tick();
		CHECK(dut->m_relay_valid && dut->m_relay_dropped == lost,
		      "%u sums since the one that is asked for: dropped %u", SLOTS + lost,
		      dut->m_relay_dropped);
	}
	if (JOBS < 2)
		return;
	clear(dut);
	for (unsigned j = 0; j < 2; j++) {
		open_job(dut, j, false);
		for (unsigned p = 0; p < PORTS - 1; p++)
			set_bits(dut->queue_ready, p * JOBS + j, 1, 1);
	}
	for (unsigned i = 0; i < 20; i++)
		dut.tick();
	CHECK(!bit(dut->job_quiet, 0) && !bit(dut->job_quiet, 1),
	      "a job with a chosen sum is quiet");
}

/// Jobs with packets of every kind at all times. One has its top above. One is broken, with packets
/// at the ports of its children and one at the uplink. There are retransmissions too.
struct Crowd {
	explicit Crowd(bench::Dut<Vina_pick> &pick) : dut(pick)
	{
		clear(dut);
		dut->uplinks = 1u << UPLINK;
		for (unsigned j = 0; j < std::min(JOBS, 3u); j++) {
			set_bits(dut->job_valid, j, 1, 1);
			set_bits(dut->job_complete, j, 1, 1);
			set_bits(dut->job_broken, j, 1, j != SUMS);
			set_bits(dut->job_border, 0 * JOBS + j, 1, 1);
			for (unsigned p = 0; p < UPLINK; p++)
				set_bits(dut->job_mask, p * JOBS + j, 1, 1);
			set_bits(dut->job_down, UPLINK * JOBS + j, 1, 1);
			for (unsigned p = 0; p < PORTS; p++) {
				const bool is_there =
				        j == SUMS || (j == BROKEN_UP) == (p == UPLINK);

				set_bits(dut->queue_ready, p * JOBS + j, 1, is_there);
				set_bits(dut->queue_waiting, p * JOBS + j, 1, is_there);
			}
		}
		for (unsigned p = 0; p < PORTS; p++)
			put_resend(dut, p, {0, 0, p, p, 4});
		dut->resend_valid = dut->join_room = dut->relay_room = ALL;
		dut->m_join_ready = dut->m_relay_ready = 1;
	}

	/// A packet that goes settles immediately, and ends in the following clocks, one by one.
	void clock()
	{
		Chosen now[PATHS];

		for (unsigned path = 0; path < PATHS; path++) {
			now[path] = chosen_of(dut, path);
			if (!now[path].valid || !now[path].ready)
				now[path].mask = 0;
			else if (now[path].kind != RESEND)
				ends.push_back(now[path].job);
			if (now[path].mask)
				counts[path][now[path].kind]++;
		}
		dut->join_settled = static_cast<uint8_t>(now[THE_JOIN].mask);
		dut->relay_settled = static_cast<uint8_t>(now[THE_RELAY].mask);
		dut->resend_pop = now[THE_RELAY].kind == RESEND ? dut->relay_settled : 0;
		dut->done_valid = !ends.empty();
		if (!ends.empty()) {
			dut->done_job = static_cast<uint8_t>(ends.front());
			ends.erase(ends.begin());
		}
		dut.tick();
	}

	static constexpr unsigned UPLINK = PORTS - 1, SUMS = 0, BROKEN_UP = 1;
	bench::Dut<Vina_pick> &dut;
	std::vector<unsigned> ends; // jobs
	unsigned counts[PATHS][4] = {};
};

/// While one path takes nothing or has no room, the other one continues.
void test_held_path()
{
	constexpr unsigned CLOCKS = 200, LEAST = 10; // of each kind
	bench::Dut<Vina_pick> dut;

	for (unsigned held = 0; held < PATHS; held++)
		for (bool has_room : {false, true}) {
			Crowd crowd(dut);

			if (!has_room)
				(held == THE_JOIN ? dut->join_room : dut->relay_room) = 0;
			else
				(held == THE_JOIN ? dut->m_join_ready : dut->m_relay_ready) = 0;
			for (unsigned i = 0; i < CLOCKS; i++)
				crowd.clock();
			const unsigned(&went)[4] = crowd.counts[1 - held];
			const bool raws = JOBS < 3 || went[RAW] >= LEAST;
			const bool others = held == THE_JOIN
			                            ? went[DOWN] >= LEAST && went[RESEND] >= LEAST
			                            : went[JOIN] >= LEAST;

			CHECK(raws && others,
			      "path %u %s: on the other %u sums, %u raw, %u resent, %u from above",
			      held, has_room ? "is held" : "has no room", went[JOIN], went[RAW],
			      went[RESEND], went[DOWN]);
			for (unsigned kind = 0; kind < 4; kind++)
				CHECK(!crowd.counts[held][kind],
				      "kind %u leaves on an impossible path", kind);
		}
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	unsigned counts[4] = {}, dropped = 0, merged = 0, raw_up = 0, while_held[PATHS] = {};

	test_one_transaction();
	test_behind();
	test_chosen_behind();
	test_held_path();
	for (unsigned round = 0; round < ROUNDS; round++) {
		Pick pick(random);

		for (unsigned i = 0; i < CLOCKS; i++)
			pick.clock();
		for (unsigned kind = 0; kind < 4; kind++)
			counts[kind] += pick.counts[kind];
		for (unsigned path = 0; path < PATHS; path++)
			while_held[path] += pick.while_held[path];
		dropped += pick.dropped;
		merged += pick.merged;
		raw_up += pick.raw_up;
	}
	CHECK(counts[JOIN] > 500 && counts[RAW] > 500 && counts[RESEND] > 1000 &&
	              counts[DOWN] > 100 && dropped > 100 && merged > 100 && raw_up > 50,
	      "%u joins, %u raw, %u of them at uplinks, %u resent, %u dropped, %u for several "
	      "ports, %u from above",
	      counts[JOIN], counts[RAW], raw_up, counts[RESEND], dropped, merged, counts[DOWN]);
	CHECK(while_held[0] > 100 && while_held[1] > 100, "%u and %u while the other path was held",
	      while_held[0], while_held[1]);
	return 0;
}
