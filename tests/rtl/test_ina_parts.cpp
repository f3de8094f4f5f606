// SPDX-License-Identifier: Apache-2.0
//
// ina_parts against a count for each job: parts that have gone up, and packets of the down flow
// that were taken for them. Both may come in the same clock for the same job, and a context may
// begin again.

#include "bench.hpp"
#include "Vina_parts.h"

namespace
{

constexpr unsigned PORTS = 4, JOBS = 4; // the parameters' defaults

struct Job {
	bool open = false;
	int down = -1; // the down flow's port
	unsigned up = 0, taken = 0;
	bool answered = false;
};

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_parts> dut;
	Job jobs[JOBS];
	unsigned early = 0;

	dut->opened = dut->up_valid = dut->sum_valid = dut->commit_valid = 0;
	for (unsigned i = 0; i < 100000; i++) {
		const unsigned opened = static_cast<unsigned>(random.below(JOBS));
		const unsigned up = static_cast<unsigned>(random.below(JOBS));
		unsigned commit_jobs = 0, mask = 0;

		dut->opened = !jobs[opened].open || random.below(500) == 0;
		dut->opened_job = static_cast<uint8_t>(opened);
		dut->up_job = static_cast<uint8_t>(up);
		dut->up_valid = jobs[up].open && random.chance(30);
		dut->sum_job = static_cast<uint8_t>(up);
		dut->sum_valid = jobs[up].up > 0 && random.chance(2);
		dut->commit_valid = 0;
		for (unsigned p = 0; p < PORTS; p++) {
			const unsigned j = static_cast<unsigned>(random.below(JOBS));
			const bool is_down = jobs[j].down == static_cast<int>(p);

			/* A packet that comes too early is not taken. */
			commit_jobs |= j << (2 * p);
			if (jobs[j].open && random.chance(60) &&
			    (!is_down || jobs[j].taken < jobs[j].up)) {
				dut->commit_valid |= static_cast<uint8_t>(1 << p);
				jobs[j].taken += is_down;
			}
		}
		for (unsigned j = 0; j < JOBS; j++)
			mask |= jobs[j].down >= 0 ? 1u << (jobs[j].down * JOBS + j) : 0;
		dut->commit_job = static_cast<uint8_t>(commit_jobs);
		dut->job_down = static_cast<uint16_t>(mask);
		dut.tick();
		jobs[up].up += dut->up_valid;
		jobs[up].answered |= dut->sum_valid;
		if (dut->opened) {
			jobs[opened] = Job();
			jobs[opened].open = true;
		}
		for (unsigned j = 0; j < JOBS; j++) {
			Job &job = jobs[j];

			if (!job.open)
				continue;
			CHECK((dut->begun >> j & 1) == (job.up > 0), "job %u: begun", j);
			CHECK((dut->answered >> j & 1) == job.answered, "job %u: answered", j);
			CHECK((dut->early >> j & 1) == (job.taken == job.up),
			      "job %u: %u up, %u taken", j, job.up, job.taken);
			early += job.down >= 0 && job.taken == job.up;
			/* The down flow's JOIN is granted when the job's own JOIN has gone up. */
			if (job.down < 0 && job.up > 0 && random.chance(20))
				job.down = static_cast<int>(random.below(PORTS));
		}
	}
	CHECK(early > 1000, "%u were early", early);
	return 0;
}
