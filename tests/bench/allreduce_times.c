/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces one after the other, for tests/bench/wall.py and congestion.py:
 *
 *	allreduce_times ina|ring BYTES CALLS ROUNDS [REST]
 *
 * sums BYTES of float32 in ROUNDS rounds of CALLS calls each, after one that warms up. Between the
 * lines {"mark": "begin"} and {"mark": "end"} the host does nothing else, and next to each it rests
 * for REST microseconds (half a second): whoever reads them can take the host's CPU time there.
 *Then a line of JSON: the time of a call, of each round, and the elements of the last result that
 *are wrong.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ina.h"

#define ROUNDS_MAX 1000
#define ALIGNMENT  4096u
#define REST_US    500000

struct bench {
	ina_comm *comm;
	size_t count;
	int calls;
	int rounds;
	unsigned int rest_us;
	float *send;
	float *recv;
	double times_s[ROUNDS_MAX];
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Whole numbers, so that every order of addition gives the same. */
static float element(int rank, size_t i)
{
	return (float)((i * 7 + (size_t)rank * 3) % 1000);
}

static size_t count_wrong(const struct bench *bench)
{
	int ranks = ina_comm_ranks(bench->comm);
	size_t wrong = 0;

	for (size_t i = 0; i < bench->count; i++) {
		float expected = 0;

		for (int rank = 0; rank < ranks; rank++)
			expected += element(rank, i);
		wrong += bench->recv[i] != expected;
	}
	return wrong;
}

static enum ina_status prepare(struct bench *bench)
{
	size_t bytes = bench->count * sizeof(float);
	size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	enum ina_status status;

	bench->send = aligned_alloc(ALIGNMENT, room);
	bench->recv = aligned_alloc(ALIGNMENT, room);
	if (!bench->send || !bench->recv)
		return INA_ERR_MEMORY;
	for (size_t i = 0; i < bench->count; i++)
		bench->send[i] = element(ina_comm_rank(bench->comm), i);
	memset(bench->recv, 0xEE, bytes);
	status = ina_register(bench->comm, bench->send, bytes);
	return status == INA_OK ? ina_register(bench->comm, bench->recv, bytes) : status;
}

static enum ina_status run_round(struct bench *bench, double *time_s)
{
	enum ina_status status = INA_OK;
	double start_s = now_s();

	for (int call = 0; call < bench->calls && status == INA_OK; call++)
		status = ina_allreduce(bench->comm, bench->send, bench->recv, bench->count,
		                       INA_FLOAT32, INA_SUM);
	*time_s = (now_s() - start_s) / bench->calls;
	return status;
}

static void mark(const struct bench *bench, const char *name)
{
	printf("{\"mark\": \"%s\"}\n", name);
	fflush(stdout);
	usleep(bench->rest_us);
}

static enum ina_status run(struct bench *bench)
{
	double ignored_s;
	enum ina_status status = run_round(bench, &ignored_s);

	mark(bench, "begin");
	for (int round = 0; round < bench->rounds && status == INA_OK; round++)
		status = run_round(bench, &bench->times_s[round]);
	mark(bench, "end");
	return status;
}

static void print_result(const struct bench *bench, size_t wrong)
{
	printf("{\"rank\": %d, \"wrong\": %zu, \"times_s\": [", ina_comm_rank(bench->comm), wrong);
	for (int round = 0; round < bench->rounds; round++)
		printf("%s%.9f", round ? ", " : "", bench->times_s[round]);
	printf("]}\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	enum ina_status status;
	size_t wrong = 0;

	bool fits = argc == 5 || argc == 6;

	bench.count = fits ? strtoull(argv[2], NULL, 10) / sizeof(float) : 0;
	bench.calls = fits ? atoi(argv[3]) : 0;
	bench.rounds = fits ? atoi(argv[4]) : 0;
	bench.rest_us = argc == 6 ? (unsigned int)atoi(argv[5]) : REST_US;
	if (bench.count < 1 || bench.calls < 1 || bench.rounds < 1 || bench.rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: allreduce_times ina|ring BYTES CALLS ROUNDS [REST]\n");
		return 2;
	}
	ina_options_init(&options);
	options.algorithm = strcmp(argv[1], "ring") == 0 ? INA_ALGORITHM_RING : INA_ALGORITHM_INA;
	if (ina_open(&options, &bench.comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "allreduce_times: %s\n", why);
		return 1;
	}
	status = prepare(&bench);
	if (status == INA_OK)
		status = run(&bench);
	if (status == INA_OK) {
		wrong = count_wrong(&bench);
		print_result(&bench, wrong);
	} else {
		fprintf(stderr, "allreduce_times: %s: %s\n", ina_status_name(status),
		        ina_error(bench.comm));
	}
	if (ina_close(bench.comm) != INA_OK)
		status = INA_ERR_PEER;
	free(bench.send);
	free(bench.recv);
	return status != INA_OK || wrong > 0;
}
