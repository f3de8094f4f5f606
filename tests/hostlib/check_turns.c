/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that computes between its all-reduces, for tests in which jobs share an aggregator. To be
 * run on every rank, in virtual time, where computing costs nothing:
 *
 *	check_turns CALLS COMPUTE_MS STARTED
 *
 * Starts STARTED all-reduces one after the other, and then waits for them. Prints how many calls
 * the aggregator made, how often the job gave its context to another one, how long the slowest
 * calls took, from start to the last sum, and how long it took to open the communicator. Exits with
 * 0 if every sum is right.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/deadline.h"
#include "ina.h"

#define COUNT       5000
#define STARTED_MAX 16

static float send[STARTED_MAX][COUNT];
static float recv[STARTED_MAX][COUNT];

static int is_right(const ina_comm *comm, const float *sums, int call)
{
	int ranks = ina_comm_ranks(comm);

	for (int i = 0; i < COUNT; i++) {
		float want = (float)(ranks * (ranks - 1) / 2 + ranks * (call + i % 7));

		if (sums[i] == want)
			continue;
		fprintf(stderr, "check_turns: element %d of all-reduce %d is %g, not %g\n", i, call,
		        (double)sums[i], (double)want);
		return 0;
	}
	return 1;
}

/* One after the other, or `started` at a time: all are started, and then waited for. */
static int all_reduce(ina_comm *comm, int call, int started)
{
	ina_request *requests[STARTED_MAX];
	int fine = 1;

	for (int s = 0; s < started; s++) {
		for (int i = 0; i < COUNT; i++)
			send[s][i] = (float)(ina_comm_rank(comm) + call + s + i % 7);
		if (ina_allreduce_start(comm, send[s], recv[s], COUNT, INA_FLOAT32, INA_SUM,
		                        &requests[s]) != INA_OK)
			return 0;
	}
	for (int s = 0; s < started; s++)
		fine = ina_wait(requests[s]) == INA_OK && is_right(comm, recv[s], call + s) && fine;
	return fine;
}

static int run(ina_comm *comm, int calls, int compute_ms, int started, int64_t open_ms)
{
	struct ina_stats stats;
	int64_t slowest_ms = 0;

	for (int call = 0; call < calls; call += started) {
		int64_t began_ms;

		usleep((useconds_t)compute_ms * 1000);
		began_ms = ina_now_ms();
		if (!all_reduce(comm, call, started)) {
			fprintf(stderr, "check_turns: %s\n", ina_error(comm));
			return 0;
		}
		if (ina_now_ms() - began_ms > slowest_ms)
			slowest_ms = ina_now_ms() - began_ms;
	}
	ina_comm_stats(comm, &stats, sizeof(stats));
	printf("calls %" PRIu64 " aggregated %" PRIu64 " yields %" PRIu64 " rejoins %" PRIu64
	       " fallbacks %" PRIu64 " slowest_ms %" PRId64 " open_ms %" PRId64 "\n",
	       stats.calls, stats.calls_aggregated, stats.yields, stats.rejoins, stats.fallbacks,
	       slowest_ms, open_ms);
	return 1;
}

int main(int argc, char **argv)
{
	char why[INA_ERROR_SIZE];
	int64_t began_ms = ina_now_ms();
	ina_comm *comm;
	int started = argc == 4 ? atoi(argv[3]) : 0;
	int fine;

	if (argc != 4 || atoi(argv[1]) < 1 || atoi(argv[2]) < 0 || started < 1 ||
	    started > STARTED_MAX) {
		fprintf(stderr, "check_turns: needs calls, milliseconds, and 1 to %d started\n",
		        STARTED_MAX);
		return 2;
	}
	if (ina_open(NULL, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_turns: %s\n", why);
		return 1;
	}
	fine = run(comm, atoi(argv[1]), atoi(argv[2]), started, ina_now_ms() - began_ms);
	ina_close(comm);
	return !fine;
}
