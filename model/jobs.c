/* SPDX-License-Identifier: Apache-2.0 */
/* Admission, from the lowest free context up, and the end of jobs. */
#include "jobs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

bool jobs_open(struct jobs *jobs, unsigned job_count, unsigned port_count, unsigned slot_count,
               struct ina_counters *counters)
{
	jobs->entries = calloc(job_count, sizeof(*jobs->entries));
	jobs->job_count = job_count;
	jobs->port_count = port_count;
	jobs->slot_count = slot_count;
	jobs->counters = counters;
	return jobs->entries != NULL;
}

void jobs_close(struct jobs *jobs)
{
	free(jobs->entries);
	jobs->entries = NULL;
}

static int find_job(const struct jobs *jobs, uint64_t job_id)
{
	for (unsigned i = 0; i < jobs->job_count; i++)
		if (jobs->entries[i].valid && jobs->entries[i].job_id == job_id)
			return (int)i;
	return -1;
}

static int find_free(const struct jobs *jobs)
{
	for (unsigned i = 0; i < jobs->job_count; i++)
		if (!jobs->entries[i].valid)
			return (int)i;
	return -1;
}

static bool is_possible(const struct jobs *jobs, const struct ina_wire_header *header)
{
	uint32_t window_packets = (uint32_t)header->exponent;

	return header->rank_count >= 1 && header->rank_count <= jobs->port_count &&
	       window_packets >= 1 && window_packets <= jobs->slot_count;
}

static bool may_attach(const struct job *job, unsigned port, const struct ina_wire_header *header)
{
	return !job->broken && job->rank_count == header->rank_count && !jobs_is_complete(job) &&
	       !(job->port_mask >> port & 1);
}

/* Does the port hold all contexts but one alone, or the only one? */
static bool has_share(const struct jobs *jobs, unsigned port)
{
	unsigned alone = 0;

	for (unsigned i = 0; i < jobs->job_count; i++)
		alone += jobs->entries[i].valid && jobs->entries[i].port_mask == 1u << port;
	return alone >= (jobs->job_count > 1 ? jobs->job_count - 1 : 1);
}

int jobs_admit(struct jobs *jobs, unsigned port, const struct ina_wire_header *header)
{
	int index = find_job(jobs, header->job_id);

	if (!is_possible(jobs, header))
		goto refused;
	if (index < 0) {
		index = find_free(jobs);
		if (index < 0)
			goto refused;
		if (has_share(jobs, port)) {
			jobs->counters->joins_held++;
			return JOBS_HELD;
		}
		jobs->entries[index] = (struct job){
		        .valid = true,
		        .job_id = header->job_id,
		        .rank_count = header->rank_count,
		};
		jobs->counters->jobs_opened++;
	} else if (!may_attach(&jobs->entries[index], port, header)) {
		goto refused;
	}
	jobs->entries[index].port_mask |= 1u << port;
	jobs->entries[index].attached++;
	jobs->entries[index].heard = true;
	jobs->counters->joins_granted++;
	return index;

refused:
	jobs->counters->joins_refused++;
	return JOBS_REFUSED;
}

bool jobs_is_complete(const struct job *job)
{
	return job->attached == job->rank_count;
}

void jobs_break(struct jobs *jobs, unsigned index)
{
	assert(jobs->entries[index].valid);
	if (jobs->entries[index].broken)
		return;
	jobs->entries[index].broken = true;
	jobs->counters->jobs_broken++;
}

bool jobs_age(struct jobs *jobs, unsigned index)
{
	struct job *job = &jobs->entries[index];

	if (!job->valid)
		return false;
	if (job->heard) {
		job->heard = false;
		return false;
	}
	jobs_break(jobs, index);
	jobs->counters->jobs_expired++;
	return true;
}

bool jobs_leave(struct jobs *jobs, unsigned index, unsigned port)
{
	struct job *job = &jobs->entries[index];

	assert(job->valid && job->port_mask >> port & 1);
	job->left |= 1u << port;
	if (job->left != job->port_mask)
		return false;
	job->valid = false;
	jobs->counters->jobs_closed++;
	return true;
}
