/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric [--first SEED] [--count N] [--frames N] [--levels N] [--verbose] [--trace]
 *        [--eager] [--find]: runs of the protocol, one for each seed.
 *
 * --count N: runs N seeds. --frames N: runs seeds until N frames have gone through aggregators.
 * --levels N: runs only seeds whose trees have at most N levels. --trace: shows each frame at each
 * switch. --eager: hosts send DATA before their JOIN is acknowledged, which the protocol forbids.
 * --find: ends with the first seed that has an error, and fails if none has.
 *
 * Exit code 0: success; 1: failure; 2: wrong arguments, or no memory.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "bed.h"

/* Longer than the longest pauses between two attempts of a job, after each fault of a seed. */
#define END ((uint64_t)20000000 * FRAME_TIME)

struct wanted {
	uint64_t first, seeds, frames;
	unsigned levels;
	bool joins_wait, find;
};

struct totals {
	uint64_t seeds, bad, frames, failed, impatient;
};

static void show_settings(const struct bed *bed)
{
	const struct settings *set = &bed->set;

	printf("%u hosts, %u switches, %u jobs, %s; loss %u, of answers %u, duplicate %u, reorder "
	       "%u, "
	       "damage %u; jitter %u, delay %u, queue %u, window %u, quiet %u, time-to-live %u\n",
	       bed->host_count, bed->node_count, bed->job_count,
	       set->is_clean ? "no faults" : "faults", set->loss, set->answer_loss, set->duplicate,
	       set->reorder, set->damage, set->jitter, set->delay, set->queue, set->window,
	       set->quiet, set->time_to_live);
}

/* Returns false if this seed has an error. */
static bool run(struct bed *bed, uint64_t seed, const struct wanted *wanted, struct totals *totals)
{
	unsigned stalled = 0;

	bed_draw(bed, seed, wanted->joins_wait);
	if (bed->nodes[0].level > wanted->levels) {
		bed_close(bed);
		return true;
	}
	if (bed->verbose)
		show_settings(bed);
	bed_run(bed, END);
	for (unsigned i = 0; i < bed->job_count; i++)
		stalled += !bed->jobs[i].is_over;
	/* Without faults too, a job may expire after its JOIN, if all frames are lost for that
	 * long. */
	bool is_spoiled = (bed->set.is_clean && bed->failed > bed->unjoined) || bed->stalled > 0;
	bool is_well = !bed->wrong && !bed->exposed && !stalled && !is_spoiled;

	if (!is_well)
		printf("seed %llu: %u messages say that all contributed, and are not the sum; %u "
		       "frames "
		       "could have made such; %u jobs never end; %u given up, %u for want of "
		       "patience, %u of these without a reset near the JOIN\n",
		       (unsigned long long)seed, bed->wrong, bed->exposed, stalled, bed->failed,
		       bed->impatient, bed->stalled);
	totals->seeds++;
	totals->bad += !is_well;
	totals->frames += bed->frames;
	totals->failed += bed->failed;
	totals->impatient += bed->impatient;
	bed_close(bed);
	return is_well;
}

int main(int count, char **arguments)
{
	static const struct option options[] = {
	        {"first", required_argument, NULL, 'f'},
	        {"count", required_argument, NULL, 'c'},
	        {"frames", required_argument, NULL, 'n'},
	        {"levels", required_argument, NULL, 'l'},
	        {"verbose", no_argument, NULL, 'v'},
	        {"trace", no_argument, NULL, 't'},
	        {"eager", no_argument, NULL, 'e'},
	        {"find", no_argument, NULL, 'u'},
	        {0},
	};
	static struct bed bed;
	struct wanted wanted = {
	        .first = 1,
	        .seeds = 1000,
	        .frames = UINT64_MAX,
	        .levels = INA_WIRE_LEVELS,
	        .joins_wait = true,
	};
	struct totals totals = {0};
	int option;

	while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
		if (option == 'f')
			wanted.first = strtoull(optarg, NULL, 10);
		else if (option == 'c')
			wanted.seeds = strtoull(optarg, NULL, 10);
		else if (option == 'n')
			wanted.frames = strtoull(optarg, NULL, 10), wanted.seeds = UINT64_MAX;
		else if (option == 'l')
			wanted.levels = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 'v')
			bed.verbose = true;
		else if (option == 't')
			bed.traces = true;
		else if (option == 'e')
			wanted.joins_wait = false;
		else if (option == 'u')
			wanted.find = true;
		else
			return 2;
	}
	for (uint64_t i = 0;
	     i < wanted.seeds && totals.frames < wanted.frames && !(wanted.find && totals.bad); i++)
		run(&bed, wanted.first + i, &wanted, &totals);
	bed_free(&bed);
	printf("%llu seeds, %llu of them wrong; %llu frames through aggregators, %llu jobs given "
	       "up after faults, %llu of them for want of patience\n",
	       (unsigned long long)totals.seeds, (unsigned long long)totals.bad,
	       (unsigned long long)totals.frames, (unsigned long long)totals.failed,
	       (unsigned long long)totals.impatient);
	return (totals.bad > 0) != wanted.find;
}
