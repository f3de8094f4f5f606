/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks come late one after the other: a rank that has waited for another one is then the late one
 * itself. TOGETHER of them, one by default, are late at the same time: with 2, ranks 0 and 2 of 4,
 * then 1 and 3. To be run on every rank, in virtual time, where waiting costs nothing:
 *
 *	check_lateness SECONDS [TOGETHER]
 *
 * Exits with 0 if every sum is right, and the aggregator made all of them: no rank is at fault.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ina.h"

#define TURNS 2 /* of each rank */

static int run(ina_comm *comm, unsigned int seconds, int together)
{
	int ranks = ina_comm_ranks(comm);
	int turns = ranks / together;

	for (int call = 0; call < TURNS * ranks; call++) {
		int32_t number = ina_comm_rank(comm) + call;
		int32_t sum = 0;

		if (call % turns == ina_comm_rank(comm) % turns)
			sleep(seconds);
		if (ina_allreduce(comm, &number, &sum, 1, INA_INT32, INA_SUM) != INA_OK) {
			fprintf(stderr, "check_lateness: %s\n", ina_error(comm));
			return 0;
		}
		if (sum != ranks * (ranks - 1) / 2 + ranks * call) {
			fprintf(stderr, "check_lateness: all-reduce %d gave %" PRId32 "\n", call,
			        sum);
			return 0;
		}
	}
	return 1;
}

static int was_aggregated(const ina_comm *comm)
{
	struct ina_stats stats;

	ina_comm_stats(comm, &stats, sizeof(stats));
	if (stats.fallbacks == 0 && stats.messages_ring == 0)
		return 1;
	fprintf(stderr,
	        "check_lateness: %" PRIu64 " fallbacks, %" PRIu64 " messages over the ring\n",
	        stats.fallbacks, stats.messages_ring);
	return 0;
}

int main(int argc, char **argv)
{
	char why[INA_ERROR_SIZE];
	ina_comm *comm;
	int together = argc == 3 ? atoi(argv[2]) : 1;
	int fine;

	if (argc < 2 || argc > 3 || atoi(argv[1]) < 1 || together < 1) {
		fprintf(stderr, "check_lateness: needs the seconds, and optionally the number of "
		                "concurrent runs\n");
		return 2;
	}
	if (ina_open(NULL, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_lateness: %s\n", why);
		return 1;
	}
	fine = run(comm, (unsigned int)atoi(argv[1]), together) && was_aggregated(comm);
	ina_close(comm);
	return !fine;
}
