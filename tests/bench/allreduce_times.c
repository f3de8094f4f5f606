/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces one after the other, for tests/bench/wall.py, congestion.py and jobs.py:
 *
 *	allreduce_times ina|ring|auto BYTES[,BYTES...] CALLS ROUNDS
 *	                [REST [COMPUTE [MESSAGE WINDOW]]]
 *
 * sums float32 in ROUNDS rounds of CALLS calls each, after one round to warm up. With several
 * sizes, a call sums each of them. A round begins with COMPUTE idle microseconds. MESSAGE (bytes)
 * and WINDOW (messages) are options of the communicator, if given.
 *
 * Between the lines {"mark": "begin"} and {"mark": "end"} the host does nothing else. Around each
 * mark it rests for REST microseconds (half a second), and then until a multiple of REST. So the
 * reader can take the host's CPU time at the marks, and several jobs begin at the same time. Then
 * it prints a line of JSON: the time of a call, for each round, without COMPUTE; the start of the
 * first round and the end of the last one; the share of the bytes that the aggregator added; and
 * the number of wrong elements in the last result.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "ina.h"

#define ROUNDS_MAX 1000
#define ALIGNMENT  4096u
#define REST_US    500000
#define SIZES_MAX  64

struct bench {
	ina_comm *comm;
	size_t counts[SIZES_MAX];
	int sizes;
	size_t count; /* the largest of them */
	int calls;
	int rounds;
	unsigned int rest_us;
	unsigned int compute_us;
	double began_s;
	double ended_s;
	float *send;
	float *recv;
	double times_s[ROUNDS_MAX];
};

/* Whole numbers, so that every order of addition gives the same result. */
static float element(int rank, size_t i)
{
	return (float)((i * 7 + (size_t)rank * 3) % 1000);
}

static size_t count_wrong(const struct bench *bench)
{
	int ranks = ina_comm_ranks(bench->comm);
	size_t wrong = 0;

	for (size_t i = 0; i < bench->counts[bench->sizes - 1]; i++) {
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
	double start_s;

	if (bench->compute_us)
		usleep(bench->compute_us);
	start_s = ina_now_s();
	for (int call = 0; call < bench->calls; call++)
		for (int i = 0; i < bench->sizes && status == INA_OK; i++)
			status = ina_allreduce(bench->comm, bench->send, bench->recv,
			                       bench->counts[i], INA_FLOAT32, INA_SUM);
	*time_s = (ina_now_s() - start_s) / bench->calls;
	return status;
}

static void mark(const struct bench *bench, const char *name)
{
	printf("{\"mark\": \"%s\"}\n", name);
	fflush(stdout);
	if (bench->rest_us)
		usleep(2 * bench->rest_us - (uint64_t)(ina_now_s() * 1e6) % bench->rest_us);
}

static enum ina_status run(struct bench *bench)
{
	double ignored_s;
	enum ina_status status = run_round(bench, &ignored_s);

	mark(bench, "begin");
	bench->began_s = ina_now_s();
	for (int round = 0; round < bench->rounds && status == INA_OK; round++)
		status = run_round(bench, &bench->times_s[round]);
	bench->ended_s = ina_now_s();
	mark(bench, "end");
	return status;
}

static double share(const struct ina_stats *stats)
{
	uint64_t all = stats->bytes_aggregated + stats->bytes_ring;

	return all ? (double)stats->bytes_aggregated / (double)all : 0;
}

static void print_result(const struct bench *bench, size_t wrong)
{
	struct ina_stats stats;

	ina_comm_stats(bench->comm, &stats, sizeof(stats));
	printf("{\"rank\": %d, \"wrong\": %zu, \"began_s\": %.9f, \"ended_s\": %.9f, "
	       "\"aggregated\": %.6f, "
	       "\"times_s\": [",
	       ina_comm_rank(bench->comm), wrong, bench->began_s, bench->ended_s, share(&stats));
	for (int round = 0; round < bench->rounds; round++)
		printf("%s%.9f", round ? ", " : "", bench->times_s[round]);
	printf("]}\n");
	fflush(stdout);
}

static void read_sizes(struct bench *bench, char *text)
{
	for (char *word = strtok(text, ","); word && bench->sizes < SIZES_MAX;
	     word = strtok(NULL, ",")) {
		size_t count = strtoull(word, NULL, 10) / sizeof(float);

		bench->counts[bench->sizes++] = count;
		if (count > bench->count)
			bench->count = count;
	}
}

static enum ina_algorithm algorithm_of(const char *word)
{
	if (strcmp(word, "ina") == 0)
		return INA_ALGORITHM_INA;
	return strcmp(word, "ring") == 0 ? INA_ALGORITHM_RING : INA_ALGORITHM_AUTO;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	enum ina_status status;
	size_t wrong = 0;

	bool fits = argc >= 5 && argc <= 9 && argc != 8;

	if (fits)
		read_sizes(&bench, argv[2]);
	bench.calls = fits ? atoi(argv[3]) : 0;
	bench.rounds = fits ? atoi(argv[4]) : 0;
	bench.rest_us = argc > 5 ? (unsigned int)atoi(argv[5]) : REST_US;
	bench.compute_us = argc > 6 ? (unsigned int)atoi(argv[6]) : 0;
	if (bench.count < 1 || bench.calls < 1 || bench.rounds < 1 || bench.rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: allreduce_times ina|ring|auto BYTES[,BYTES...] CALLS "
		                "ROUNDS [REST [COMPUTE [MESSAGE WINDOW]]]\n");
		return 2;
	}
	ina_options_init(&options);
	options.algorithm = algorithm_of(argv[1]);
	if (argc == 9) {
		options.message_bytes = (unsigned int)atoi(argv[7]);
		options.window = (unsigned int)atoi(argv[8]);
	}
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
