/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's life as libina leads it: all ranks JOIN, send their messages and LEAVE. A rank that finds
 * a fault sends a LEAVE. The others are informed outside the fabric, or must find the fault
 * themselves. Then all end their connections, and try again.
 */
#include <stdio.h>
#include <string.h>

#include "common/random.h"
#include "bed.h"

/* A job that has failed this many times sometimes waits longer, as libina does. */
enum { PATIENT_FAILURES = 10 };

static act begin_rank, end_rank, destroy_rank, watch;

static uint64_t later(struct bed *bed, unsigned frame_times)
{
	return bed->now + bed_below(bed, frame_times * FRAME_TIME + 1);
}

static void begin_sums(struct job *job)
{
	/* Adds up the elements that packets.c gives each rank for each packet. */
	for (uint32_t index = 1; index <= job->messages * job->packets; index++)
		for (unsigned lane = 0; lane < ELEMENTS; lane++) {
			uint32_t sum = 0;

			for (unsigned rank = 0; rank < job->rank_count; rank++)
				sum += packet_element(job, rank, index, lane);
			job->sums[index][lane] = sum;
		}
}

void job_begin(struct bed *bed, void *who, uint32_t argument, struct frame *frame)
{
	struct job *job = who;

	(void)argument, (void)frame;
	job->generation++;
	job->id = ina_random(&bed->random);
	job->is_ending = false;
	begin_sums(job);
	for (unsigned i = 0; i < job->rank_count; i++) {
		struct rank *rank = &job->ranks[i];

		*rank = (struct rank){
		        .job = job,
		        .index = i,
		        .host = rank->host,
		        .place = rank->place,
		        .is_alive = true,
		        .first_psn = (uint32_t)ina_random(&bed->random) & 0xFFFFFF,
		        .leave_at = NEVER,
		        .deadline = UINT64_MAX,
		};
		bed_at(bed, later(bed, bed_chance(bed, 700000) ? 5 : (unsigned)job->late + 5),
		       begin_rank, rank, job->generation, NULL);
	}
	job->progress_seen = job->progress;
	bed_at(bed, bed->now + (uint64_t)bed->set.patience * FRAME_TIME, watch, job,
	       job->generation, NULL);
}

static void begin_rank(struct bed *bed, void *who, uint32_t generation, struct frame *frame)
{
	struct rank *rank = who;

	(void)frame;
	if (generation != rank->job->generation)
		return;
	rank->is_started = true;
	rank_pump(bed, rank);
}

static void show(const struct bed *bed, const struct job *job)
{
	printf("%llu: job %u: out of patience\n", (unsigned long long)bed->now, job->number);
	for (unsigned i = 0; i < job->rank_count; i++) {
		const struct rank *rank = &job->ranks[i];

		printf("  rank %u at host %u, place %#x: posted %u, acknowledged %u, expects %u, "
		       "%u sums\n",
		       i, rank->host, rank->place, rank->posted, rank->acknowledged, rank->expected,
		       rank->sums);
	}
}

static void end_all(struct bed *bed, struct job *job)
{
	if (job->is_ending)
		return;
	job->is_ending = true;
	job->failures++;
	bed->failed++;
	for (unsigned i = 0; i < job->rank_count; i++)
		bed_at(bed, later(bed, 100), end_rank, &job->ranks[i], job->generation, NULL);
}

/* A switch that has forgotten a broken job would learn it again from a late JOIN. */
static bool all_have_joined(const struct job *job)
{
	for (unsigned i = 0; i < job->rank_count; i++)
		if (job->ranks[i].sums == 0)
			return false;
	return true;
}

void job_fault(struct bed *bed, struct rank *rank)
{
	if (bed->set.tells || !all_have_joined(rank->job))
		end_all(bed, rank->job);
	else
		bed_at(bed, later(bed, 100), end_rank, rank, rank->job->generation, NULL);
}

/* Has a rank failed, and do the other ranks have nothing to wait for? */
static bool is_lost(const struct job *job)
{
	bool has_failed = false;

	for (unsigned i = 0; i < job->rank_count; i++) {
		if (!job->ranks[i].has_failed && job->ranks[i].sums < 1 + job->messages)
			return false;
		has_failed = has_failed || job->ranks[i].has_failed;
	}
	return has_failed;
}

static void end_rank(struct bed *bed, void *who, uint32_t generation, struct frame *frame)
{
	struct rank *rank = who;

	(void)frame;
	if (generation != rank->job->generation)
		return;
	rank->has_failed = true;
	if (rank->leave_at == NEVER && rank->is_started && rank->posted > 0)
		rank->leave_at = rank->posted++;
	rank_pump(bed, rank);
	if (rank->job->is_ending)
		bed_at(bed, later(bed, 100), destroy_rank, rank, generation, NULL);
	else if (is_lost(rank->job))
		end_all(bed, rank->job);
}

static void start_again(struct bed *bed, struct job *job)
{
	/* Sometimes immediately, sometimes when the switches have forgotten everything. */
	unsigned pause = bed_chance(bed, 500000) ? 20 : 3 * bed->set.time_to_live;

	/* If there is not enough memory for all jobs, they must not ask at the same time again and
	 * again. */
	if (job->failures > PATIENT_FAILURES)
		pause <<=
		        job->failures < PATIENT_FAILURES + 6 ? job->failures - PATIENT_FAILURES : 6;

	bed_at(bed, later(bed, pause), job_begin, job, 0, NULL);
}

static void destroy_rank(struct bed *bed, void *who, uint32_t generation, struct frame *frame)
{
	struct rank *rank = who;
	struct job *job = rank->job;

	(void)frame;
	if (generation != job->generation || !rank->is_alive)
		return;
	rank->is_alive = false;
	for (unsigned i = 0; i < job->rank_count; i++)
		if (job->ranks[i].is_alive)
			return;
	start_again(bed, job);
}

static void end_well(struct bed *bed, struct job *job)
{
	for (unsigned i = 0; i < job->rank_count; i++)
		job->ranks[i].is_alive = false;
	job->is_ending = true;
	job->well++;
	job->failures = 0;
	job->is_over = job->well == job->generations;
	if (!job->is_over)
		start_again(bed, job);
}

/* Have all ranks sent and received everything, including the LEAVEs? */
static bool is_done(const struct job *job)
{
	uint32_t all = 2 + job->messages * job->packets;

	for (unsigned i = 0; i < job->rank_count; i++)
		if (job->ranks[i].expected < all || job->ranks[i].acknowledged < all)
			return false;
	return true;
}

/* A rank has made progress. */
void job_heard(struct bed *bed, struct rank *rank)
{
	struct job *job = rank->job;

	if (job->is_ending || job->is_over)
		return;
	if (is_lost(job))
		end_all(bed, job);
	else if (is_done(job))
		end_well(bed, job);
}

/*
 * The hosts' patience: no rank has made progress for a long time, although all are alive. Only a
 * LEAVE may stay without its ACK, because a rank that has all sums closes its connections after
 * some time.
 */
static void watch(struct bed *bed, void *who, uint32_t generation, struct frame *frame)
{
	struct job *job = who;
	bool all_there = true, all_sums = true;

	(void)frame;
	if (generation != job->generation || job->is_ending || job->is_over)
		return;
	for (unsigned i = 0; i < job->rank_count; i++) {
		all_there = all_there && job->ranks[i].is_started;
		all_sums = all_sums && job->ranks[i].sums == 1 + job->messages;
	}
	if (!all_there || job->progress != job->progress_seen) {
		job->progress_seen = job->progress;
		bed_at(bed, bed->now + (uint64_t)bed->set.patience * FRAME_TIME, watch, job,
		       generation, NULL);
	} else if (all_sums) {
		end_well(bed, job);
	} else {
		bed->impatient++;
		bool may_stall = watch_may_stall(bed, job);

		bed->stalled += !may_stall;
		bed->unjoined += may_stall && !all_have_joined(job);
		if (bed->verbose)
			show(bed, job);
		end_all(bed, job);
	}
}
