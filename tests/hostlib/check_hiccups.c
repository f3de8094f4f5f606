/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libina's own work, such as asking for an aggregator, does not delay a call. To be run on every
 * rank, in virtual time, where nothing else takes time:
 *
 *	check_hiccups SECONDS MOST_US
 *
 * All-reduces 1 KiB every 10 ms, for SECONDS. Exits with 0 if every sum is right, and no call has
 * taken longer than twice the median plus MOST_US.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ina.h"

#define CALLS_MAX 20000
#define PAUSE_US  10000
#define COUNT     256

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	int64_t of_a = *(const int64_t *)a;
	int64_t of_b = *(const int64_t *)b;

	return (of_a > of_b) - (of_a < of_b);
}

/* Returns the time of the call, or -1. */
static int64_t call(ina_comm *comm)
{
	int32_t send[COUNT];
	int32_t sum[COUNT];
	int ranks = ina_comm_ranks(comm);
	int64_t began_ns;

	for (int i = 0; i < COUNT; i++)
		send[i] = i * (ina_comm_rank(comm) + 1);
	began_ns = now_ns();
	if (ina_allreduce(comm, send, sum, COUNT, INA_INT32, INA_SUM) != INA_OK) {
		fprintf(stderr, "check_hiccups: %s\n", ina_error(comm));
		return -1;
	}
	began_ns = now_ns() - began_ns;
	for (int i = 0; i < COUNT; i++) {
		if (sum[i] != i * ranks * (ranks + 1) / 2) {
			fprintf(stderr, "check_hiccups: sum %d is %" PRId32 "\n", i, sum[i]);
			return -1;
		}
	}
	return began_ns;
}

/* The very first call may have to wait for ranks that are still opening. */
static int run(ina_comm *comm, int calls, int64_t most_ns)
{
	static int64_t took_ns[CALLS_MAX];
	int64_t median_ns;

	if (call(comm) < 0)
		return 0;
	for (int i = 0; i < calls; i++) {
		usleep(PAUSE_US);
		took_ns[i] = call(comm);
		if (took_ns[i] < 0)
			return 0;
	}
	qsort(took_ns, (size_t)calls, sizeof(took_ns[0]), compare);
	median_ns = took_ns[calls / 2];
	printf("%d calls: median %" PRId64 " ns, largest %" PRId64 ", %" PRId64 " and %" PRId64
	       " ns\n",
	       calls, median_ns, took_ns[calls - 1], took_ns[calls - 2], took_ns[calls - 3]);
	return took_ns[calls - 1] <= 2 * median_ns + most_ns;
}

int main(int argc, char **argv)
{
	char why[INA_ERROR_SIZE];
	ina_comm *comm;
	int calls = argc == 3 ? atoi(argv[1]) * (1000000 / PAUSE_US) : 0;
	int fine;

	if (calls < 3 || calls > CALLS_MAX) {
		fprintf(stderr, "check_hiccups: needs seconds, up to 200, and microseconds\n");
		return 2;
	}
	if (ina_open(NULL, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_hiccups: %s\n", why);
		return 1;
	}
	fine = run(comm, calls, INT64_C(1000) * atoi(argv[2]));
	ina_close(comm);
	return !fine;
}
