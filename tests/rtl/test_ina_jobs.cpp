// SPDX-License-Identifier: Apache-2.0
//
// ina_jobs against the rules of docs/protocol.md (A connection's life, Refusal, Broken jobs), with
// requests, breaks and LEAVEs of several ports in the same clock.

#include "bench.hpp"
#include "Vina_jobs.h"

namespace
{

constexpr unsigned PORTS = 4, JOBS = 4, SLOTS = 128;

struct Job {
	bool valid = false, broken = false, freed = false;
	uint64_t id = 0;
	unsigned ranks = 0, mask = 0, left = 0;

	bool complete() const
	{
		return valid && static_cast<unsigned>(__builtin_popcount(mask)) == ranks;
	}
};

struct Request {
	bool active = false;
	uint64_t id = 0;
	uint16_t ranks = 0;
	uint32_t window = 0;
};

constexpr int REFUSED = -1, WAITS = -2;

class Jobs
{
      public:
	explicit Jobs(bench::Random &generator) : random(generator)
	{
		dut->ask_valid = dut->break_valid = dut->leave_valid = 0;
		dut->mismatch_valid = dut->done_valid = 0;
		dut.reset();
	}

	void clock()
	{
		Job next[JOBS];
		int asking = -1, answer = WAITS;

		std::copy(jobs, jobs + JOBS, next);
		drive();
		for (unsigned p = PORTS; p-- > 0;)
			if (requests[p].active && !(answered >> p & 1))
				asking = static_cast<int>(p);
		for (unsigned j = 0; j < JOBS; j++) {
			next[j].freed = false;
			if (breaking >> j & 1)
				next[j].broken |= jobs[j].valid;
			next[j].left |= leaving[j];
			if (jobs[j].valid && next[j].left == next[j].mask) {
				next[j] = Job();
				next[j].freed = true;
			}
		}
		if (asking >= 0) {
			const unsigned port = static_cast<unsigned>(asking);

			answer = admit(requests[port], port);
			if (answer >= 0)
				attach(next[answer], requests[port], port);
		}
		for (unsigned p = 0; p < PORTS; p++)
			if (answered >> p & 1)
				requests[p].active = false; // it has acted on the answer
		dut.tick();
		std::copy(next, next + JOBS, jobs);
		answered = asking >= 0 && answer != WAITS ? 1u << asking : 0;
		compare(answer);
	}

	unsigned granted = 0, refused = 0, freed = 0, broken = 0;

      private:
	bench::Random &random;
	bench::Dut<Vina_jobs> dut;
	Job jobs[JOBS];
	Request requests[PORTS];
	unsigned answered = 0, breaking = 0, quiet = 0;
	unsigned leaving[JOBS] = {};

	void drive()
	{
		unsigned asks = 0;

		for (unsigned p = 0; p < PORTS; p++) {
			Request &request = requests[p];

			if (!request.active && random.chance(20))
				request = {true, random.below(6),
				           static_cast<uint16_t>(random.below(6)),
				           static_cast<uint32_t>(random.chance(90)
				                                         ? 1 + random.below(SLOTS)
				                                         : random.below(2) *
				                                                   (SLOTS + 1))};
			asks |= unsigned{request.active} << p;
			bench::put(dut->ask_job_id, 8 * p, &request.id, 8);
			bench::put(dut->ask_window, 4 * p, &request.window, 4);
			dut->ask_rank_count &= ~(uint64_t{0xFFFF} << (16 * p));
			dut->ask_rank_count |= uint64_t{request.ranks} << (16 * p);
		}
		dut->ask_valid = static_cast<uint8_t>(asks);
		drive_ends();
		quiet = static_cast<unsigned>(random.next()) & 0xF;
		dut->job_quiet = static_cast<uint8_t>(quiet);
	}

	void drive_ends()
	{
		unsigned breaks = 0, leaves = 0, hits = 0;

		breaking = 0;
		std::fill(leaving, leaving + JOBS, 0);
		for (unsigned p = 0; p < PORTS; p++) {
			const unsigned j = static_cast<unsigned>(random.below(JOBS));

			hits |= j << (2 * p);
			if (random.chance(2)) {
				breaks |= 1u << p;
				breaking |= 1u << j;
			} else if (jobs[j].broken && (jobs[j].mask >> p & 1) && random.chance(10)) {
				leaves |= 1u << p;
				leaving[j] |= 1u << p;
			}
		}
		dut->break_valid = static_cast<uint8_t>(breaks);
		dut->leave_valid = static_cast<uint8_t>(leaves);
		dut->hit_job = static_cast<uint8_t>(hits);
		const unsigned odd = static_cast<unsigned>(random.below(JOBS));
		dut->mismatch_valid = random.chance(2);
		dut->mismatch_job = static_cast<uint8_t>(odd);
		breaking |= unsigned{dut->mismatch_valid} << odd;
		const unsigned done = static_cast<unsigned>(random.below(JOBS));
		dut->done_valid = jobs[done].complete() && random.chance(10);
		dut->done_job = static_cast<uint8_t>(done);
		dut->done_mask = static_cast<uint8_t>(
		        jobs[done].broken ? jobs[done].mask & -jobs[done].mask : jobs[done].mask);
		if (dut->done_valid)
			leaving[done] |= dut->done_mask;
	}

	int admit(const Request &request, unsigned port) const
	{
		if (request.ranks < 1 || request.ranks > PORTS || request.window < 1 ||
		    request.window > SLOTS)
			return REFUSED;
		for (unsigned j = 0; j < JOBS; j++)
			if (jobs[j].valid && jobs[j].id == request.id)
				return jobs[j].broken || jobs[j].complete() ||
				                       jobs[j].ranks != request.ranks ||
				                       (jobs[j].mask >> port & 1)
				               ? REFUSED
				               : static_cast<int>(j);
		for (unsigned j = 0; j < JOBS; j++)
			if (!jobs[j].valid)
				return (quiet >> j & 1) && !jobs[j].freed ? static_cast<int>(j)
				                                          : WAITS;
		return REFUSED;
	}

	static void attach(Job &job, const Request &request, unsigned port)
	{
		if (!job.valid) {
			job = Job();
			job.valid = true;
			job.id = request.id;
			job.ranks = request.ranks;
		}
		job.mask |= 1u << port;
	}

	void compare(int answer)
	{
		CHECK(dut->answer_valid == answered, "answer to %x, not %x", dut->answer_valid,
		      answered);
		if (answered) {
			CHECK(dut->answer_granted == (answer >= 0), "granted: %d, not %d",
			      dut->answer_granted, answer >= 0);
			CHECK(answer < 0 || dut->answer_job == answer, "context %u, not %d",
			      dut->answer_job, answer);
			(answer >= 0 ? granted : refused)++;
		}
		for (unsigned j = 0; j < JOBS; j++) {
			const Job &job = jobs[j];

			CHECK((dut->job_valid >> j & 1) == job.valid, "job %u: valid", j);
			CHECK((dut->job_freed >> j & 1) == job.freed, "job %u: freed", j);
			freed += job.freed;
			broken += dut->newly_broken >> j & 1;
			if (!job.valid)
				continue;
			CHECK((dut->job_broken >> j & 1) == job.broken, "job %u: broken", j);
			CHECK((dut->job_complete >> j & 1) == job.complete(), "job %u: complete",
			      j);
			CHECK((dut->job_mask >> (PORTS * j) & 0xF) == job.mask, "job %u: mask", j);
		}
	}
};

} // namespace

int main()
{
	bench::Random random(bench::seed());
	Jobs jobs(random);

	for (unsigned i = 0; i < 200000; i++)
		jobs.clock();
	CHECK(jobs.granted > 1000 && jobs.refused > 1000 && jobs.freed > 500 && jobs.broken > 500,
	      "%u granted, %u refused, %u freed, %u broken", jobs.granted, jobs.refused, jobs.freed,
	      jobs.broken);
	return 0;
}
