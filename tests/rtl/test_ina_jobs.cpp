// SPDX-License-Identifier: Apache-2.0
//
// ina_jobs against the rules of docs/protocol.md (A connection's life, Refusal, Broken jobs, JOIN
// and LEAVE of several switches), alone and with uplinks, with requests, breaks, LEAVEs and packets
// of several ports in the same clock, and with pulses of `age`.

#include "bench.hpp"
#include "Vina_jobs.h"

#include <algorithm>

namespace
{

constexpr unsigned PORTS = 4, JOBS = INA_JOB_COUNT;
constexpr unsigned JOB_W = JOBS > 32 ? 6 : JOBS > 2 ? 2 : 1;
constexpr unsigned COUNT_W =
        32 - static_cast<unsigned>(__builtin_clz(JOBS)); // bits to count up to JOBS
constexpr unsigned ANSWER_CLOCKS = 5 * PORTS + 1; // the limit, whatever the other ports ask for

struct Job {
	bool valid = false, broken = false, freed = false, expired = false;
	bool heard = false, silent = false; // silent: no packet came until the latest pulse
	uint64_t id = 0;
	uint16_t tag = 0;    // of the JOIN that opened it
	unsigned opener = 0; // its port
	unsigned ranks = 0, children = 0, mask = 0, left = 0, gone = 0;
	unsigned border = 0, down = 0;     // ports, one or none
	bool begun = false;                // its JOIN has left through the uplink
	bool over = false, ticked = false; // ended, but kept for a quiet time; one tick of it has
	                                   // passed
	bool closed = false;               // all ranks have left, since this clock
	unsigned before = 0;               // number of jobs when it was opened

	bool complete() const
	{
		return valid && static_cast<unsigned>(__builtin_popcount(mask)) == children;
	}
};

/// The place of the switch.
struct Place {
	unsigned level = 1, uplinks = 0;
	unsigned quota = 0, vlan_quota = 0; // quotas as the inputs have them

	/// How many jobs that lack a rank a port may have opened.
	unsigned share() const
	{
		return quota > 0 && quota < JOBS ? quota : std::max(JOBS - 1, 1u);
	}

	/// How many contexts the jobs of one VLAN may have.
	unsigned vlan_share() const
	{
		return vlan_quota > 0 ? vlan_quota : JOBS;
	}

	bool has_others() const
	{
		return level > 1 || uplinks;
	}
};

struct Request {
	bool active = false;
	uint64_t id = 0;
	uint16_t tag = 0; // priority, DEI, VLAN id
	uint16_t ranks = 0;
	uint32_t place = 0;
	uint32_t window = 0;
	unsigned clocks = 0;
	unsigned others = 0; // requests of others that were answered since

	/// Without a place, all ranks are children.
	unsigned children(const Place &at) const
	{
		return place ? place >> 8 * (at.level - 1) & 0xFF : ranks;
	}
	bool is_border(const Place &at) const
	{
		return place >> 24 > at.level;
	}
};

// FULL: refused, and the JOIN wants a context.
constexpr int REFUSED = -1, NONE = -2, NEW = -3, HELD = -4, FULL = -5;

constexpr unsigned DECIDING_CLOCKS = 4; // for an answer
constexpr unsigned LOOK_CLOCKS = 3;     // from the look into the memory to the answer

/// The request to ina_memory, if there was one.
struct Look {
	bool active = false;
	uint32_t asked = 0;
};

/// The state that decides on a request, in one clock.
struct State {
	Job jobs[JOBS];
	bool quiet[JOBS] = {};
	bool held[JOBS] = {}; // it has memory

	bool is_idle(unsigned j) const
	{
		return !jobs[j].valid && !jobs[j].freed && quiet[j];
	}
	bool is_free(unsigned j) const
	{
		return !jobs[j].valid && !held[j];
	}
	/// Jobs that have a context.
	unsigned count() const
	{
		return static_cast<unsigned>(
		        std::count_if(jobs, jobs + JOBS, [](const Job &job) { return job.valid; }));
	}
};

/// A bit of a port of any width.
template <class Port> bool bit(const Port &port, unsigned at)
{
	return reinterpret_cast<const uint8_t *>(&port)[at / 8] >> (at % 8) & 1;
}

template <class Port> void set_bit(Port &port, unsigned at, bool value)
{
	uint8_t &byte = reinterpret_cast<uint8_t *>(&port)[at / 8];

	byte = static_cast<uint8_t>((byte & ~(1u << at % 8)) | unsigned{value} << at % 8);
}

class Jobs
{
      public:
	Jobs(bench::Random &generator, const Place &place) : random(generator), at(place)
	{
		dut->level = static_cast<uint8_t>(at.level);
		dut->uplinks = static_cast<uint8_t>(at.uplinks);
		dut->quota = static_cast<uint8_t>(at.quota);
		dut->vlan_quota = static_cast<uint8_t>(at.vlan_quota);
		dut->age = dut->tick = 0;
		dut->ask_valid = dut->break_valid = dut->leave_valid = dut->hit_valid = 0;
		dut->done_valid = 0;
		dut->contest_breaks = dut->contest_leaves = 0; // the proof of ina_jobs covers them
		for (unsigned j = 0; j < JOBS; j++)
			set_bit(dut->mismatch, j, false);
		dut.reset();
	}

	void clock()
	{
		Job next[JOBS];
		int answer = NONE, port = -1;

		for (Job &job : jobs) // only the JOINs of a complete job go up
			job.begun |= job.complete() && random.chance(10);
		drive_memory();
		std::copy(jobs, jobs + JOBS, next);
		drive();
		std::copy(past + 1, past + DECIDING_CLOCKS, past);
		past[DECIDING_CLOCKS - 1] = now;
		const unsigned stuck_ports = find_stuck();
		dut.tick();
		CHECK(dut->stuck == stuck_ports, "stuck %x, not %x", dut->stuck, stuck_ports);
		stuck_clocks += stuck_ports != 0;
		for (unsigned p = 0; p < PORTS; p++) {
			requests[p].clocks++;
			CHECK(requests[p].clocks <= ANSWER_CLOCKS + 1 || !requests[p].active,
			      "port %u waits for more than %u clocks", p, ANSWER_CLOCKS);
			if (!(dut->answer_valid >> p & 1))
				continue;
			CHECK(port < 0 && requests[p].active, "an answer too many, to port %u", p);
			port = static_cast<int>(p);
		}
		check_look(port);
		for (unsigned p = 0; port >= 0 && p < PORTS; p++) {
			requests[p].others += static_cast<unsigned>(port) != p;
			CHECK(requests[p].others < PORTS || !requests[p].active,
			      "port %u asks, and %u others were answered in the meantime", p,
			      requests[p].others);
		}
		for (const Job &job : jobs)
			if (lapses(job))
				lapsed_at[job.id] = dut.clocks;
		if (port >= 0)
			answer = check_answer(requests[port], static_cast<unsigned>(port));
		joined = answer;
		for (unsigned j = 0; j < JOBS; j++)
			advance(next[j], j);
		if (answer >= 0)
			attach(next[answer], requests[port], static_cast<unsigned>(port));
		if (port >= 0)
			requests[port].active = false;
		std::copy(next, next + JOBS, jobs);
		compare();
	}

	unsigned granted = 0, refused = 0, held = 0, freed = 0, broken = 0, expired = 0,
	         expected_expired = 0, downs = 0, downs_held = 0, borders = 0, overs = 0,
	         most_asked = 0, wanted = 0, vlan_wanted = 0, spared = 0, stuck_clocks = 0,
	         too_many = 0; // asked for by a port that is at its quota

      private:
	bench::Random &random;
	const Place at;
	bench::Dut<Vina_jobs> dut;
	State now, past[DECIDING_CLOCKS]; // the last states, including this clock's
	Job (&jobs)[JOBS] = now.jobs;
	bool (&quiet)[JOBS] = now.quiet;
	bool (&keeps)[JOBS] = now.held;
	int taker = -1; // the context that takes memory in this clock
	Look looks[LOOK_CLOCKS];
	Request requests[PORTS];
	bool breaking[JOBS], waiting[JOBS], hit[JOBS];
	uint64_t stuck = 0;     // contexts that do not become quiet
	bool calm = false;      // no job breaks without a cause from outside
	unsigned asking = ~0u;  // ports
	uint64_t wanted_by = 0; // the job that last asked for a context
	unsigned leaving[JOBS] = {}, going[JOBS] = {}, ready[JOBS] = {},
	         answers[JOBS] = {};       // ports
	int joined = -1;                   // the job of this clock's grant
	bool overdue[JOBS] = {};           // expired or freed at a pulse, and not given to a job
	                                   // since
	bool aged = false;                 // the pulse was in the clock before
	uint64_t lapsed_at[JOBS + 2] = {}; // clocks, by job id; 0: never

	/// The job lacks a rank and its time is up: it is forgotten, with all packets that wait.
	static bool lapses(const Job &job)
	{
		return job.valid && job.silent && !job.complete() && !job.broken && !job.over;
	}

	void advance(Job &job, unsigned j)
	{
		const bool empty = quiet[j] && !waiting[j];
		const bool drained = job.valid && job.expired && empty;
		const bool is_kept = at.has_others() && job.broken && !(dut->tick && job.ticked);

		job.freed = job.closed = false;
		if (job.valid && job.silent && !job.expired && !job.over) {
			expected_expired++;
			if (lapses(job)) {
				job = Job();
				job.closed = job.freed = true;
				return;
			}
			job.expired = breaking[j] = true;
		}
		/* For a job that lacks a rank only its JOINs count: attach(). */
		job.heard |= (hit[j] && job.complete()) || joined == static_cast<int>(j);
		job.silent = dut->age && !job.heard;
		job.heard &= !dut->age;
		if (breaking[j])
			job.broken |= job.valid;
		/* A flow that has left waits for its packets that are still in the queue. */
		job.left |= leaving[j] | (quiet[j] ? job.gone & ~ready[j] : 0);
		job.gone |= going[j];
		if (!job.valid || !(job.left == job.mask || drained || job.over))
			return;
		const bool closed = !job.over;

		if (!is_kept) {
			job = Job();
			job.closed = closed;
			job.freed = true;
			return;
		}
		job.closed = closed;
		overs += closed;
		if (dut->tick)
			job.ticked = job.over;
		job.over = true;
		job.expired = false;
	}

	/**
	 * Each answer has looked into the memory once, for the size that its JOIN asks for. If a
	 * child may be a switch, it looks for twice that size, up to the largest that the lane can
	 * express.
	 */
	void check_look(int port)
	{
		const Look look = looks[0];

		std::copy(looks + 1, looks + LOOK_CLOCKS, looks);
		looks[LOOK_CLOCKS - 1] = {dut->look != 0, dut->look_asked};
		CHECK(look.active == (port >= 0), "%s", port >= 0 ? "no look" : "no answer");
		if (port < 0 || static_cast<int32_t>(requests[port].window) >= 0)
			return;
		const uint64_t window = (uint64_t{1} << 32) - requests[port].window;
		const uint64_t packets =
		        std::min(at.level > 1 ? 2 * window : window, uint64_t{1} << 31);

		CHECK(0u - look.asked == packets, "a window of %llu: %u packets are asked for",
		      static_cast<unsigned long long>(window), 0u - look.asked);
		most_asked += at.level > 1 && window > uint64_t{1} << 30;
	}

	/// Finds the ports at which packets of an overdue context wait, and the contexts that are
	/// overdue then.
	unsigned find_stuck()
	{
		unsigned ports = 0;

		for (unsigned j = 0; j < JOBS; j++) {
			const bool late = jobs[j].expired || (keeps[j] && !jobs[j].valid);

			ports |= overdue[j] ? ready[j] | answers[j] : 0;
			overdue[j] = late && (overdue[j] || aged);
		}
		aged = dut->age;
		return ports & ((1u << PORTS) - 1);
	}

	/// Memory that was taken is held until the context is idle, and for some time longer.
	void drive_memory()
	{
		if (taker >= 0)
			keeps[taker] = true;
		for (unsigned j = 0; j < JOBS; j++) {
			keeps[j] = keeps[j] && !(now.is_idle(j) && random.chance(30));
			set_bit(dut->job_has_block, j, keeps[j]);
		}
		taker = dut->take ? static_cast<int>(dut->take_job) : -1;
	}

	void drive()
	{
		unsigned asks = 0;

		dut->age = random.chance(1);
		dut->tick = random.chance(3);
		if (random.below(1000) == 0)
			asking = random.chance(20) ? 1u << random.below(PORTS) : ~0u;
		for (unsigned p = 0; p < PORTS; p++) {
			Request &request = requests[p];

			if (!request.active && (asking >> p & 1) && random.chance(20))
				request = {true,
				           random.below(JOBS + 2),
				           random_tag(),
				           random_ranks(),
				           random_place(),
				           random_window(),
				           0,
				           0};
			asks |= unsigned{request.active} << p;
			// ina_pkg::ask_t, 20 bytes
			bench::put(dut->ask, 20 * p, &request.id, 8);
			bench::put(dut->ask, 20 * p + 8, &request.ranks, 2);
			bench::put(dut->ask, 20 * p + 10, &request.place, 4);
			bench::put(dut->ask, 20 * p + 14, &request.window, 4);
			bench::put(dut->ask, 20 * p + 18, &request.tag, 2);
		}
		dut->ask_valid = static_cast<uint8_t>(asks);
		if (random.below(1000) == 0)
			stuck = random.chance(50) ? random.next() : 0;
		if (random.below(1000) == 0)
			calm = random.chance(30);
		for (unsigned j = 0; j < JOBS; j++) {
			// A context that is free and quiet stays so, except in the clock in which
			// it is freed.
			quiet[j] = past[DECIDING_CLOCKS - 1].is_idle(j) ||
			           (random.chance(50) && !(stuck >> j & 1));
			waiting[j] = hit[j] = false;
			set_bit(dut->job_quiet, j, quiet[j]);
			ready[j] = static_cast<unsigned>(random.next() & random.next() &
			                                 random.next());
			answers[j] = static_cast<unsigned>(random.next() & random.next());
			for (unsigned p = 0; p < PORTS; p++) {
				set_bit(dut->queue_waiting, p * JOBS + j, ready[j] >> p & 1);
				set_bit(dut->resend_pending, p * JOBS + j, answers[j] >> p & 1);
			}
			waiting[j] |= (ready[j] & (jobs[j].mask | jobs[j].down)) != 0;
			set_bit(dut->job_begun, j, jobs[j].begun);
		}
		drive_ends();
	}

	void drive_ends()
	{
		unsigned breaks = 0, leaves = 0, hits = 0, hit_jobs = 0;

		std::fill(breaking, breaking + JOBS, false);
		std::fill(leaving, leaving + JOBS, 0);
		std::fill(going, going + JOBS, 0);
		for (unsigned p = 0; p < PORTS; p++) {
			const unsigned j = static_cast<unsigned>(random.below(JOBS));

			hit_jobs |= j << (JOB_W * p);
			if (random.chance(1)) {
				hits |= 1u << p;
				hit[j] = true;
			}
			if (!calm && random.chance(2)) {
				breaks |= 1u << p;
				breaking[j] = true;
			} else if (jobs[j].broken && (jobs[j].mask >> p & 1) && random.chance(10)) {
				leaves |= 1u << p;
				going[j] |= 1u << p;
			}
		}
		dut->break_valid = static_cast<uint8_t>(breaks);
		dut->leave_valid = static_cast<uint8_t>(leaves);
		dut->hit_valid = static_cast<uint8_t>(hits);
		std::memcpy(&dut->hit_job, &hit_jobs, sizeof(dut->hit_job));
		/* From both paths: for two jobs in the same clock, or for one. */
		const bool differs = !calm && random.chance(2);
		const uint64_t odd[] = {random.below(JOBS), random.below(JOBS)};
		for (unsigned j = 0; j < JOBS; j++) {
			const bool mismatch = differs && (j == odd[0] || j == odd[1]);

			set_bit(dut->mismatch, j, mismatch);
			breaking[j] |= mismatch;
		}
		const unsigned done = static_cast<unsigned>(random.below(JOBS));
		/* The sum of LEAVEs of a job with a border has come down. */
		const bool ends = jobs[done].broken || !jobs[done].border || jobs[done].down;
		dut->done_valid = jobs[done].complete() && ends && random.chance(10);
		dut->done_job = static_cast<uint8_t>(done);
		dut->done_mask = static_cast<uint8_t>(
		        jobs[done].broken ? jobs[done].mask & -jobs[done].mask : jobs[done].mask);
		if (dut->done_valid)
			leaving[done] |= dut->done_mask;
	}

	bool is_possible(const Request &request) const
	{
		const unsigned children = request.children(at);
		const unsigned ports =
		        PORTS - static_cast<unsigned>(__builtin_popcount(at.uplinks));

		return children >= 2 && children <= ports && children <= request.ranks &&
		       static_cast<int32_t>(request.window) < 0 &&
		       (!request.is_border(at) || at.uplinks);
	}

	/// The right answer to a request in this state.
	int admit(const State &state, const Request &request, unsigned port) const
	{
		if (at.uplinks >> port & 1)
			return admit_down(state, request);
		if (!is_possible(request))
			return REFUSED;
		for (unsigned j = 0; j < JOBS; j++) {
			const Job &job = state.jobs[j];

			if (job.valid && job.id == request.id)
				return job.broken || job.complete() || job.ranks != request.ranks ||
				                       job.children != request.children(at) ||
				                       (job.mask >> port & 1) ||
				                       (job.border && request.is_border(at))
				               ? REFUSED
				               : static_cast<int>(j);
		}
		if (!has_room(state) || is_vlan_full(state, request))
			return FULL;
		return has_share(state, port) ? HELD : NEW;
	}

	/// May the port open one more job that lacks a rank?
	bool has_share(const State &state, unsigned port) const
	{
		return static_cast<unsigned>(
		               std::count_if(state.jobs, state.jobs + JOBS, [&](const Job &job) {
			               return job.valid && job.opener == port && !job.complete();
		               })) >= at.share();
	}

	static bool is_of_vlan(const Job &job, const Request &request)
	{
		return job.valid && job.tag % 4096 == request.tag % 4096;
	}

	bool is_vlan_full(const State &state, const Request &request) const
	{
		return static_cast<unsigned>(
		               std::count_if(state.jobs, state.jobs + JOBS, [&](const Job &job) {
			               return is_of_vlan(job, request);
		               })) >= at.vlan_share();
	}

	/// Are these the contexts that a request asks for in this state?
	bool asks_for(const State &state, const Request &request) const
	{
		const bool in_vlan = is_vlan_full(state, request);
		bool same = true;

		for (unsigned j = 0; j < JOBS; j++) {
			const Job &job = state.jobs[j];
			const bool asked = job.valid && job.tag / 8192 <= request.tag / 8192 &&
			                   (!in_vlan || is_of_vlan(job, request));

			same &= asked == bit(dut.top.context_wanted, j);
		}
		return same;
	}

	bool context_wanted() const
	{
		bool wants = false;

		for (unsigned j = 0; j < JOBS; j++)
			wants |= bit(dut.top.context_wanted, j);
		return wants;
	}

	/// A JOIN from above must come again until the job's own JOIN has gone up.
	static int admit_down(const State &state, const Request &request)
	{
		for (unsigned j = 0; j < JOBS; j++) {
			const Job &job = state.jobs[j];

			if (!job.valid || job.id != request.id)
				continue;
			if (job.broken || job.down || (job.complete() && !job.border))
				return REFUSED;
			return job.begun ? static_cast<int>(j) : HELD;
		}
		return REFUSED;
	}

	/// Negated, with a few exceptions.
	uint32_t random_window()
	{
		if (random.chance(10))
			return static_cast<uint32_t>(random.below(2) << random.below(31));
		return 0u - static_cast<uint32_t>(1 + (random.chance(10)
		                                               ? random.below(uint64_t{1} << 31)
		                                               : random.below(256)));
	}

	/// Few VLANs and priorities.
	uint16_t random_tag()
	{
		return static_cast<uint16_t>(random.below(3) << 13 | random.below(2) << 12 |
		                             random.below(3));
	}

	/// Often the same count, because otherwise no job would be complete.
	uint16_t random_ranks()
	{
		return static_cast<uint16_t>(random.chance(50) ? 4 : random.below(6));
	}

	/// At four ports: any number of children, with the turn here, further up, or nowhere.
	uint32_t random_place()
	{
		if (random.chance(50))
			return 0;
		const uint64_t children = random.chance(50) ? 2 : random.below(5);

		return static_cast<uint32_t>(random.below(5) << 24 | children
		                                                             << 8 * (at.level - 1));
	}

	static bool has_room(const State &state)
	{
		bool room = false;

		for (unsigned j = 0; j < JOBS; j++)
			room |= state.is_free(j);
		return room;
	}

	/// A grant must be right in the clock before the answer, a refusal in one of the clocks in
	/// which it was decided.
	int check_answer(const Request &request, unsigned port)
	{
		const unsigned job = dut->answer_job;
		const int want = admit(past[DECIDING_CLOCKS - 1], request, port);
		bool refusal = false, holding = false, full = false, no_room = false,
		     no_share = false, fits = false, always_asks = true, always_lacks = true,
		     full_share = false;

		// The free contexts and those that the port holds may be from different clocks.
		for (const State &state : past) {
			const bool now_full = admit(state, request, port) == FULL;
			const bool now_wants = now_full && !has_share(state, port);

			full |= !has_room(state) || is_vlan_full(state, request);
			no_room |= !has_room(state);
			no_share |= !has_share(state, port);
			always_lacks &= now_wants && !has_room(state);
			fits |= asks_for(state, request);
			always_asks &= now_wants && !asks_for(state, request);
			full_share |= now_full && has_share(state, port);
			refusal |= now_full || admit(state, request, port) == REFUSED ||
			           (lapsed_at[request.id] &&
			            dut.clocks - lapsed_at[request.id] <= DECIDING_CLOCKS);
			holding |= admit(state, request, port) == HELD;
		}
		CHECK(dut->opened == (dut->answer_granted && want == NEW), "opened: %d",
		      dut->opened);
		CHECK(dut->opened ? taker == static_cast<int>(job) : taker < 0,
		      "context %d takes memory", taker);
		CHECK(!dut->answer_granted || !dut->answer_held, "granted and held");
		CHECK(!(dut->lacked || context_wanted()) ||
		              (is_possible(request) && !(at.uplinks >> port & 1)),
		      "a context is requested for an impossible job");
		CHECK(!dut->lacked || (no_room && no_share), "a context is lacked without a cause");
		CHECK(!context_wanted() || (full && no_share && fits && request.id != wanted_by),
		      "contexts are wanted without a cause");
		// In each clock in which it may have been decided, there were contexts to ask for.
		CHECK(dut->lacked || !always_lacks, "that a context is lacked is not said");
		CHECK(context_wanted() || !always_asks || request.id == wanted_by,
		      "that a context is wanted is not said");
		if (context_wanted()) {
			wanted_by = request.id;
			wanted++;
			vlan_wanted += has_room(past[DECIDING_CLOCKS - 1]);
			for (const Job &job : past[DECIDING_CLOCKS - 1].jobs)
				spared += job.tag / 8192 > request.tag / 8192;
		}
		if (dut->answer_held) {
			CHECK(holding, "held without a cause");
			(at.uplinks >> port & 1 ? downs_held : held)++;
			return HELD;
		}
		if (!dut->answer_granted) {
			CHECK(refusal, "refused without a cause");
			refused++;
			too_many += full_share && !context_wanted();
			return REFUSED;
		}
		granted++;
		CHECK(want != REFUSED && want != FULL && want != HELD, "granted against the rules");
		CHECK(want == NEW || static_cast<int>(job) == want, "context %u, not %d", job,
		      want);
		CHECK(want != NEW || past[DECIDING_CLOCKS - 1].is_free(job),
		      "context %u is not free", job);
		return static_cast<int>(job);
	}

	void attach(Job &job, const Request &request, unsigned port)
	{
		if (at.uplinks >> port & 1) {
			job.down = 1u << port;
			job.heard = !dut.top.age;
			downs++;
			return;
		}
		if (!job.valid) {
			job = Job();
			job.valid = true;
			job.before = past[DECIDING_CLOCKS - 2].count();
			job.id = request.id;
			job.tag = request.tag;
			job.opener = port;
			job.ranks = request.ranks;
			job.children = request.children(at);
		}
		if (request.is_border(at)) {
			job.border = 1u << port;
			borders++;
		}
		job.mask |= 1u << port;
		job.heard = !dut.top.age;
	}

	void compare()
	{
		bool busy = dut->age; // some job may expire

		CHECK(dut->job_count == past[DECIDING_CLOCKS - 1].count(), "%u jobs, not %u",
		      unsigned{dut->job_count}, past[DECIDING_CLOCKS - 1].count());
		for (unsigned j = 0; j < JOBS; j++) {
			const Job &job = jobs[j];

			CHECK(bit(dut->job_valid, j) == job.valid, "job %u: valid", j);
			CHECK(bit(dut->job_idle, j) == now.is_idle(j), "job %u: idle", j);
			CHECK(bit(dut->job_freed, j) == job.freed, "job %u: freed", j);
			CHECK(bit(dut->newly_closed, j) == job.closed, "job %u: closed", j);
			freed += job.freed;
			broken += bit(dut->newly_broken, j);
			expired += bit(dut->newly_expired, j);
			busy |= job.expired || (keeps[j] && !job.valid) || job.closed ||
			        bit(dut->newly_broken, j) || bit(dut->newly_expired, j);
			if (!job.valid)
				continue;
			busy |= (job.gone & ~job.left & ~ready[j]) != 0;
			CHECK(bit(dut->job_broken, j) == job.broken, "job %u: broken", j);
			CHECK(bit(dut->job_lingers, j) == job.over, "job %u: over", j);
			CHECK(bit(dut->job_complete, j) == job.complete(), "job %u: complete", j);
			for (unsigned b = 0; b < COUNT_W; b++)
				CHECK(bit(dut->job_before, j * COUNT_W + b) ==
				              (job.before >> b & 1),
				      "job %u: not %u before it", j, job.before);
			for (unsigned p = 0; p < PORTS; p++) {
				CHECK(bit(dut->job_mask, p * JOBS + j) == (job.mask >> p & 1),
				      "job %u: mask", j);
				CHECK(bit(dut->job_border, p * JOBS + j) == (job.border >> p & 1),
				      "job %u: border", j);
				CHECK(bit(dut->job_down, p * JOBS + j) == (job.down >> p & 1),
				      "job %u: down flow", j);
			}
		}
		CHECK(dut->busy == busy, "busy %d", dut->busy);
	}
};

void run(bench::Random &random, const Place &place)
{
	Jobs jobs(random, place);

	for (unsigned i = 0; i < 300000; i++)
		jobs.clock();
	CHECK(JOBS == 1 || JOBS > 4 || jobs.held > 3, "%u held", jobs.held);
	CHECK(jobs.granted > 1000 && jobs.refused > 1000 && jobs.freed > 500 && jobs.broken > 500 &&
	              jobs.expired > 10 && jobs.expired == jobs.expected_expired,
	      "%u granted, %u refused, %u freed, %u broken, %u expired, not %u", jobs.granted,
	      jobs.refused, jobs.freed, jobs.broken, jobs.expired, jobs.expected_expired);
	CHECK(jobs.stuck_clocks > 10, "ports were stuck in %u clocks", jobs.stuck_clocks);
	CHECK(JOBS > 4 || jobs.wanted > 100, "a context was wanted %u times", jobs.wanted);
	CHECK(JOBS < 2 || JOBS > 4 || jobs.spared > 100, "%u jobs of a higher priority were spared",
	      jobs.spared);
	CHECK(place.quota != 1 || JOBS > 4 || jobs.too_many > 100,
	      "a port with its quota was refused %u times", jobs.too_many);
	CHECK(!place.vlan_quota || place.vlan_quota >= JOBS || jobs.vlan_wanted > 100,
	      "a VLAN wanted a context %u times", jobs.vlan_wanted);
	CHECK(place.level < 2 || jobs.most_asked > 100, "%u asked for the most", jobs.most_asked);
	CHECK(!place.has_others() || jobs.overs > 300, "%u over", jobs.overs);
	// With this number of jobs, hardly one gets a JOIN from above.
	CHECK(!place.uplinks ||
	              (jobs.borders > 100 && (jobs.downs > 0 || JOBS > 4) && jobs.downs_held > 100),
	      "%u borders, %u down flows, %u of them held before", jobs.borders, jobs.downs,
	      jobs.downs_held);
}

} // namespace

int main()
{
	bench::Random random(bench::seed());

	for (const Place &place : {Place{1, 0, 0, 0}, Place{1, 8, JOBS, JOBS}, Place{2, 1, 2, 1},
	                           Place{3, 6, 64, 64}, Place{2, 0, 1, 2}})
		run(random, place);
	return 0;
}
