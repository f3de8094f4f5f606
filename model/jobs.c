/* SPDX-License-Identifier: Apache-2.0 */
/* Admission, which takes the lowest free context, and the end of jobs. */
#include "jobs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/headers.h"

bool jobs_open(struct jobs *jobs, const struct jobs *shape)
{
	*jobs = *shape;
	jobs->entries = calloc(jobs->job_count, sizeof(*jobs->entries));
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

unsigned jobs_count(const struct jobs *jobs)
{
	unsigned count = 0;

	for (unsigned i = 0; i < jobs->job_count; i++)
		count += jobs->entries[i].valid;
	return count;
}

/*
 * Returns the number of the job's children at this switch, from a JOIN. If the JOIN has no place,
 * all ranks of the job are at this switch.
 */
static unsigned child_count(const struct jobs *jobs, const struct ina_wire_header *header)
{
	return header->remaining_bytes ? ina_wire_children(header->remaining_bytes, jobs->level)
	                               : header->rank_count;
}

/* Returns whether the sender's connection turns round higher up. */
static bool is_border(const struct jobs *jobs, const struct ina_wire_header *header)
{
	return ina_wire_turn(header->remaining_bytes) > jobs->level;
}

static bool is_possible(const struct jobs *jobs, const struct ina_wire_header *header)
{
	unsigned children = child_count(jobs, header);
	unsigned ports = jobs->port_count - (unsigned)__builtin_popcount(jobs->uplinks);

	return children >= 2 && children <= ports && children <= header->rank_count &&
	       header->exponent < 0 && (!is_border(jobs, header) || jobs->uplinks);
}

/*
 * Returns how many windows a job's block must hold. If a child is a switch, it may break the job
 * or be reset on its own. Then its border no longer waits for its other children. With the sums
 * that all ranks have, one more window can be sent, and summed here, while a receiver still lacks
 * the oldest of these sums.
 */
static unsigned windows_of_block(const struct jobs *jobs)
{
	return jobs->level > 1 ? 2 : 1;
}

/* Opens a context for the job of this JOIN. */
static struct job open_job(struct jobs *jobs, unsigned port, const struct ina_wire_header *header,
                           uint16_t tag)
{
	unsigned windows = windows_of_block(jobs);
	uint64_t asked = 0u - (uint32_t)header->exponent;
	struct memory_block block = memory_take(jobs->memory, windows * asked);

	jobs->counters->jobs_opened++;
	return (struct job){
	        .valid = true,
	        .job_id = header->job_id,
	        .opener = port,
	        .tag = tag,
	        .rank_count = header->rank_count,
	        .child_count = child_count(jobs, header),
	        .block = block,
	        .window_packets = block.packets / windows,
	        .before = jobs_count(jobs),
	};
}

/* Returns why a JOIN cannot be of this job, or REPORT_NONE. */
static enum report_reason attach_refusal(const struct jobs *jobs, const struct job *job,
                                         unsigned port, const struct ina_wire_header *header)
{
	if (job->broken)
		return REPORT_IS_BROKEN;
	if (job->rank_count != header->rank_count || job->child_count != child_count(jobs, header))
		return REPORT_OTHER_RANKS;
	return jobs_is_complete(job) || jobs_has_child(job, port) ||
	                       (job->has_border && is_border(jobs, header))
	               ? REPORT_TAKEN
	               : REPORT_NONE;
}

/* Returns whether the port is at its quota of jobs that lack a rank. */
static bool has_share(const struct jobs *jobs, unsigned port)
{
	unsigned waiting = 0;

	for (unsigned i = 0; i < jobs->job_count; i++) {
		const struct job *job = &jobs->entries[i];

		waiting += job->valid && job->opener == port && !jobs_is_complete(job);
	}
	return waiting >= jobs->quota;
}

/* A down flow may join only after this switch has sent its own JOIN up. */
static int admit_down(struct jobs *jobs, unsigned port, const struct ina_wire_header *header)
{
	int index = find_job(jobs, header->job_id);
	struct job *job = &jobs->entries[index < 0 ? 0 : index];

	if (index < 0 || job->broken || job->has_down ||
	    (jobs_is_complete(job) && !job->has_border)) {
		jobs->counters->joins_refused++;
		return JOBS_REFUSED;
	}
	if (job->up_count == 0) {
		jobs->counters->no_room_dropped++;
		return JOBS_HELD;
	}
	job->has_down = true;
	job->down = port;
	job->heard = true;
	jobs->counters->joins_granted++;
	return index;
}

static unsigned priority_of(uint16_t tag)
{
	return tag >> 13;
}

static bool is_of_vlan(const struct job *job, uint16_t tag)
{
	return job->valid && ((job->tag ^ tag) & PACKET_VLAN_ID_MASK) == 0;
}

/* Returns whether the VLAN is at its quota of contexts. */
static bool is_vlan_full(const struct jobs *jobs, uint16_t tag)
{
	unsigned count = 0;

	for (unsigned i = 0; i < jobs->job_count; i++)
		count += is_of_vlan(&jobs->entries[i], tag);
	return count >= jobs->vlan_quota;
}

/*
 * The JOIN asks for a context: of any job whose priority is not higher and, if its VLAN is at its
 * quota, only of its VLAN's jobs. The JOINs of all ranks of a job ask once.
 */
static void want_context(struct jobs *jobs, uint64_t job_id, uint16_t tag, bool vlan_full)
{
	if (job_id == jobs->wanted_by)
		return;
	for (unsigned i = 0; i < jobs->job_count; i++) {
		struct job *job = &jobs->entries[i];

		if (!job->valid || priority_of(job->tag) > priority_of(tag) ||
		    (vlan_full && !is_of_vlan(job, tag)))
			continue;
		job->asked = true;
		jobs->wanted_by = job_id;
	}
}

void jobs_have_asked(struct jobs *jobs)
{
	for (unsigned i = 0; i < jobs->job_count; i++)
		jobs->entries[i].asked = false;
}

static void tell(const struct jobs *jobs, const struct report_event *event)
{
	if (jobs->tell)
		jobs->tell(jobs->tell_context, event);
}

void jobs_tell(const struct jobs *jobs, unsigned index, struct report_event event)
{
	event.job_id = jobs->entries[index].job_id;
	tell(jobs, &event);
}

static int refuse(struct jobs *jobs, unsigned port, const struct ina_wire_header *header,
                  enum report_reason reason)
{
	const bool is_held = reason == REPORT_PORT_QUOTA;
	const struct report_event event = {
	        .kind = is_held ? REPORT_HELD : REPORT_REFUSED,
	        .reason = reason,
	        .job_id = header->job_id,
	        .port = port,
	};

	++*(is_held ? &jobs->counters->joins_held : &jobs->counters->joins_refused);
	tell(jobs, &event);
	return is_held ? JOBS_HELD : JOBS_REFUSED;
}

static int admit_child(struct jobs *jobs, unsigned port, const struct ina_wire_header *header,
                       uint16_t tag)
{
	int index = find_job(jobs, header->job_id);
	bool vlan_full = is_vlan_full(jobs, tag);
	enum report_reason reason = REPORT_NONE;

	if (!is_possible(jobs, header))
		return refuse(jobs, port, header, REPORT_NO_FIT);
	if (index < 0) {
		index = find_free(jobs);
		if (index < 0 || vlan_full) {
			if (!has_share(jobs, port)) {
				jobs->counters->contexts_lacked += index < 0;
				want_context(jobs, header->job_id, tag, vlan_full);
			}
			return refuse(jobs, port, header,
			              index < 0 ? REPORT_NO_CONTEXT : REPORT_VLAN_QUOTA);
		}
		if (has_share(jobs, port))
			return refuse(jobs, port, header, REPORT_PORT_QUOTA);
		jobs->entries[index] = open_job(jobs, port, header, tag);
	} else {
		reason = attach_refusal(jobs, &jobs->entries[index], port, header);
		if (reason != REPORT_NONE)
			return refuse(jobs, port, header, reason);
	}
	jobs->entries[index].port_mask |= 1u << port;
	jobs->entries[index].attached++;
	if (is_border(jobs, header)) {
		jobs->entries[index].has_border = true;
		jobs->entries[index].border = port;
	}
	jobs->entries[index].heard = true;
	jobs->counters->joins_granted++;
	return index;
}

int jobs_admit(struct jobs *jobs, unsigned port, const struct ina_wire_header *header, uint16_t tag)
{
	return jobs_is_uplink(jobs, port) ? admit_down(jobs, port, header)
	                                  : admit_child(jobs, port, header, tag);
}

bool jobs_is_uplink(const struct jobs *jobs, unsigned port)
{
	return jobs->uplinks >> port & 1;
}

bool jobs_is_complete(const struct job *job)
{
	return job->attached == job->child_count;
}

bool jobs_is_border(const struct job *job, unsigned port)
{
	return job->has_border && job->border == port;
}

bool jobs_is_down(const struct job *job, unsigned port)
{
	return job->has_down && job->down == port;
}

bool jobs_has_child(const struct job *job, unsigned port)
{
	return job->port_mask >> port & 1;
}

uint64_t jobs_sums_sent(const struct job *job, unsigned port)
{
	return jobs_is_border(job, port) ? job->up_count : job->down_count;
}

void jobs_break(struct jobs *jobs, unsigned index, struct report_event why)
{
	assert(jobs->entries[index].valid);
	if (jobs->entries[index].broken)
		return;
	jobs->entries[index].broken = true;
	jobs->counters->jobs_broken++;
	why.kind = REPORT_BROKEN;
	jobs_tell(jobs, index, why);
}

bool jobs_age(struct jobs *jobs, unsigned index)
{
	struct job *job = &jobs->entries[index];

	if (!job->valid || job->quiet > 0)
		return false;
	if (job->heard) {
		job->heard = false;
		return false;
	}
	const struct report_event silent = {
	        .kind = REPORT_EXPIRED, .reason = REPORT_SILENT, .port = REPORT_NO_PORT};

	if (jobs_is_complete(job))
		jobs_break(jobs, index, silent);
	jobs->counters->jobs_expired++;
	jobs_tell(jobs, index, silent);
	return true;
}

/* Always returns true. */
static bool forget(struct jobs *jobs, struct job *job)
{
	jobs_tell(jobs, (unsigned)(job - jobs->entries),
	          (struct report_event){.kind = REPORT_ENDED, .port = REPORT_NO_PORT});
	job->valid = false;
	memory_give(jobs->memory, job->block);
	return true;
}

/*
 * A receiver at another switch may not have left. If packets of a broken job passed raw after its
 * sums, it could combine them with a sum that is still under way.
 */
bool jobs_leave(struct jobs *jobs, unsigned index, unsigned port)
{
	struct job *job = &jobs->entries[index];

	assert(job->valid && jobs_has_child(job, port));
	job->left |= 1u << port;
	if (job->left != job->port_mask || job->quiet > 0)
		return false;
	jobs->counters->jobs_closed++;
	if (job->broken && (jobs->level > 1 || jobs->uplinks))
		job->quiet = jobs->quiet_ticks;
	return job->quiet == 0 && forget(jobs, job);
}

/* As after a reset, no packet of the job may pass raw while a sum may be under way. */
bool jobs_forget(struct jobs *jobs, unsigned index)
{
	struct job *job = &jobs->entries[index];

	if (job->quiet > 0)
		return false;
	jobs_break(jobs, index,
	           (struct report_event){.reason = REPORT_FORGOTTEN, .port = REPORT_NO_PORT});
	jobs->counters->jobs_closed++;
	job->quiet = jobs->quiet_ticks;
	return job->quiet == 0 && forget(jobs, job);
}

bool jobs_tick(struct jobs *jobs, unsigned index)
{
	struct job *job = &jobs->entries[index];

	if (!job->valid || job->quiet == 0)
		return false;
	job->quiet--;
	return job->quiet == 0 && forget(jobs, job);
}
