/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a host. To be run on every rank, at least 3:
 *
 *	check_survivors VICTIM [late | busy RANK | timeout MS]
 *
 * All ranks all-reduce without end. With `late` the victim sleeps outside the library, and all
 * others wait for it. With `busy` another rank sleeps, for 20 s, and the others must not wait for
 * it to learn of the victim's end. `timeout` sets peer_timeout_ms. Each rank prints "ready" before,
 * and "heard" with the time when it has learned of the end. Between the two, the test kills or
 * freezes the victim's host. Every other rank exits with 0 if it got INA_ERR_PEER with a text that
 * names the victim, and if the survivors' new communicator works.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "ina.h"

#define COUNT 65536u

#define BUSY_S 20u

static int32_t send[COUNT];
static int32_t recv[COUNT];

static int is_sum(int ranks)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (recv[i] != ranks * (ranks + 1) / 2 * (int32_t)i)
			return 0;
	}
	return 1;
}

static void fill(int rank)
{
	for (size_t i = 0; i < COUNT; i++)
		send[i] = (rank + 1) * (int32_t)i;
}

/* All-reduces until one fails. Returns whether it failed as it should. */
static int run_until_failure(ina_comm *comm, int victim, int late, int busy)
{
	int rank = ina_comm_rank(comm);
	int ranks = ina_comm_ranks(comm);
	char name[16];
	double since_s;
	enum ina_status status;

	fill(rank);
	printf("ready\n");
	/* The contributions from before the end may still be summed, so it calls only once. */
	if (rank == busy)
		sleep(BUSY_S);
	for (;;) {
		since_s = ina_now_s();
		if (late && rank == victim)
			sleep(3600);
		status = ina_allreduce(comm, send, recv, COUNT, INA_INT32, INA_SUM);
		if (status != INA_OK)
			break;
		if (!is_sum(ranks))
			return 0;
	}
	snprintf(name, sizeof(name), "rank %d", victim);
	printf("%s: %s\n", ina_status_name(status), ina_error(comm));
	printf("heard: rank %d after %.2f s\n", rank, ina_now_s() - since_s);
	return status == INA_ERR_PEER && strstr(ina_error(comm), name) != NULL;
}

static int regroup(struct ina_options *options, int rank, int ranks, int victim)
{
	char why[INA_ERROR_SIZE];
	ina_comm *comm;

	options->rank = rank > victim ? rank - 1 : rank;
	options->ranks = ranks - 1;
	if (victim == 0)
		options->root = "192.0.2.2"; /* the lab's address of the host that was rank 1 */
	if (ina_open(options, &comm, why, sizeof(why)) != INA_OK) {
		printf("WRONG: the survivors' ina_open: %s\n", why);
		return 1;
	}
	fill(options->rank);
	if (ina_allreduce(comm, send, recv, COUNT, INA_INT32, INA_SUM) != INA_OK ||
	    !is_sum(options->ranks) || ina_close(comm) != INA_OK) {
		printf("WRONG: the survivors' all-reduce\n");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	int victim = argc > 1 ? atoi(argv[1]) : 1;
	int late = argc > 2 && strcmp(argv[2], "late") == 0;
	int busy = argc > 3 && strcmp(argv[2], "busy") == 0 ? atoi(argv[3]) : -1;
	ina_comm *comm;
	int fine;
	int rank;
	int ranks;

	setvbuf(stdout, NULL, _IOLBF, 0);
	ina_options_init(&options);
	options.open_timeout_ms = 20000 + (int)BUSY_S * 1000;
	if (argc > 3 && strcmp(argv[2], "timeout") == 0)
		options.peer_timeout_ms = atoi(argv[3]);
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK) {
		printf("WRONG: ina_open: %s\n", why);
		return 1;
	}
	rank = ina_comm_rank(comm);
	ranks = ina_comm_ranks(comm);
	fine = run_until_failure(comm, victim, late, busy);
	ina_close(comm);
	if (!fine) {
		printf("WRONG: rank %d\n", rank);
		return 1;
	}
	if (regroup(&options, rank, ranks, victim) != 0)
		return 1;
	printf("fine: rank %d\n", rank);
	return 0;
}
