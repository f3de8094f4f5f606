/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An all-reduce while the program does something else, for tests/bench/wall.py:
 *
 *	overlap test|thread BYTES SLICE_US ROUNDS
 *
 * in virtual time, where a computation is a sleep, during which the host does nothing for the
 * library. First it runs the all-reduce alone, and then together with a computation of the same
 * length. With `test` the computation has slices, and the program calls ina_test() after each. With
 * `thread` it is in one piece, while another thread is in ina_wait(). Prints a line of JSON: both
 * times, for each round.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "ina.h"

#define ROUNDS_MAX 100
#define ALIGNMENT  4096u

struct bench {
	ina_comm *comm;
	size_t count;
	long slice_ns;
	int has_thread;
	float *send;
	float *recv;
	ina_request *request;
	enum ina_status status; /* of the other thread */
};

static long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static void compute(long length_ns)
{
	struct timespec length = {length_ns / 1000000000, length_ns % 1000000000};

	nanosleep(&length, NULL);
}

/* All ranks begin at the same time, so that none waits for another in the measured time. */
static enum ina_status start(struct bench *bench, long *start_ns)
{
	enum ina_status status =
	        ina_allreduce(bench->comm, bench->send, bench->recv, 1, INA_FLOAT32, INA_SUM);

	*start_ns = now_ns();
	if (status != INA_OK)
		return status;
	return ina_allreduce_start(bench->comm, bench->send, bench->recv, bench->count, INA_FLOAT32,
	                           INA_SUM, &bench->request);
}

static enum ina_status run_alone(struct bench *bench, long *time_ns)
{
	long start_ns;
	enum ina_status status = start(bench, &start_ns);

	if (status == INA_OK)
		status = ina_wait(bench->request);
	*time_ns = now_ns() - start_ns;
	return status;
}

/* If the all-reduce has not completed after the computation, the program waits for it. */
static enum ina_status compute_and_test(struct bench *bench, long length_ns)
{
	enum ina_status status = INA_OK;
	long left_ns = length_ns;
	int done = 0;

	while (left_ns > 0 && status == INA_OK) {
		long slice_ns = left_ns < bench->slice_ns || done ? left_ns : bench->slice_ns;

		compute(slice_ns);
		left_ns -= slice_ns;
		if (!done)
			status = ina_test(bench->request, &done);
	}
	return status == INA_OK && !done ? ina_wait(bench->request) : status;
}

static void *wait_in_thread(void *context)
{
	struct bench *bench = context;

	bench->status = ina_wait(bench->request);
	return NULL;
}

static enum ina_status compute_beside_thread(struct bench *bench, long length_ns)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_in_thread, bench) != 0)
		return INA_ERR_SYSTEM;
	compute(length_ns);
	pthread_join(thread, NULL);
	return bench->status;
}

static enum ina_status run_beside(struct bench *bench, long length_ns, long *time_ns)
{
	long start_ns;
	enum ina_status status = start(bench, &start_ns);

	if (status == INA_OK)
		status = bench->has_thread ? compute_beside_thread(bench, length_ns)
		                           : compute_and_test(bench, length_ns);
	*time_ns = now_ns() - start_ns;
	return status;
}

static enum ina_status run(struct bench *bench, int rounds)
{
	long alone_ns[ROUNDS_MAX + 1];
	long together_ns[ROUNDS_MAX + 1];
	enum ina_status status = INA_OK;

	/* The first round warms up. */
	for (int round = 0; round <= rounds && status == INA_OK; round++) {
		status = run_alone(bench, &alone_ns[round]);
		if (status == INA_OK)
			status = run_beside(bench, alone_ns[round], &together_ns[round]);
	}
	if (status != INA_OK) {
		fprintf(stderr, "overlap: %s: %s\n", ina_status_name(status),
		        ina_error(bench->comm));
		return status;
	}
	printf("{\"rank\": %d, \"alone_s\": [", ina_comm_rank(bench->comm));
	for (int round = 1; round <= rounds; round++)
		printf("%s%.9f", round > 1 ? ", " : "", (double)alone_ns[round] * 1e-9);
	printf("], \"together_s\": [");
	for (int round = 1; round <= rounds; round++)
		printf("%s%.9f", round > 1 ? ", " : "", (double)together_ns[round] * 1e-9);
	printf("]}\n");
	return INA_OK;
}

int main(int argc, char **argv)
{
	size_t bytes = argc == 5 ? strtoull(argv[2], NULL, 10) : 0;
	int rounds = argc == 5 ? atoi(argv[4]) : 0;
	struct bench bench = {
	        .count = bytes / sizeof(float),
	        .slice_ns = argc == 5 ? atol(argv[3]) * 1000 : 0,
	        .has_thread = argc == 5 && strcmp(argv[1], "thread") == 0,
	};
	size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	char why[INA_ERROR_SIZE];
	enum ina_status status;

	if (bench.count < 1 || bench.slice_ns < 1 || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: overlap test|thread BYTES SLICE_US ROUNDS\n");
		return 2;
	}
	/* A computation takes exactly its time, and not 50 us longer, as sleeps may. */
	prctl(PR_SET_TIMERSLACK, 1);
	if (ina_open(NULL, &bench.comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "overlap: %s\n", why);
		return 1;
	}
	bench.send = aligned_alloc(ALIGNMENT, room);
	bench.recv = aligned_alloc(ALIGNMENT, room);
	status = INA_ERR_MEMORY;
	if (bench.send && bench.recv) {
		memset(bench.send, 0, room);
		memset(bench.recv, 0, room);
		status = run(&bench, rounds);
	}
	if (ina_close(bench.comm) != INA_OK)
		status = INA_ERR_PEER;
	free(bench.send);
	free(bench.recv);
	return status != INA_OK;
}
