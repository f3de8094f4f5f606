/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All functions of ina.h on real hosts. To be run on every rank:
 *
 *	check_api [auto|ina|ring]
 *
 * Exits with 0 if every result and every count was right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ina.h"

#define LARGE     300007u /* many messages, the last one odd */
#define COPIED    16384u  /* 64 KiB: longer buffers are registered */
#define FAILED(c) failed(__LINE__, c)
#define CHECK(e)                                                                                   \
	do {                                                                                       \
		if (!(e))                                                                          \
			return FAILED(comm);                                                       \
	} while (0)

static int failed(int line, const ina_comm *comm)
{
	fprintf(stderr, "check_api: line %d: %s\n", line, ina_error(comm));
	return 1;
}

static int32_t value(int rank, size_t index)
{
	return (int32_t)(index % 1000) * (rank + 1) - 500;
}

static int32_t sum_of(int ranks, size_t index)
{
	int32_t sum = 0;

	for (int r = 0; r < ranks; r++)
		sum += value(r, index);
	return sum;
}

static void fill(int32_t *data, size_t count, int rank)
{
	for (size_t i = 0; i < count; i++)
		data[i] = value(rank, i);
}

static int is_sum(const int32_t *data, size_t count, int ranks)
{
	for (size_t i = 0; i < count; i++) {
		if (data[i] != sum_of(ranks, i))
			return 0;
	}
	return 1;
}

/* Counts around every boundary of messages, chunks and padding. Nothing after the end may be
 * changed. */
static int check_counts(ina_comm *comm, int32_t *send, int32_t *recv)
{
	struct ina_stats stats;
	size_t edge;

	ina_comm_stats(comm, &stats, sizeof(stats));
	edge = (stats.message_bytes - 48) / 4;
	const size_t counts[] = {0,    1, 2, 3, 4, 5, 7, 8, edge - 1, edge, edge + 1, 2 * edge + 3,
	                         LARGE};

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		fill(send, counts[c], ina_comm_rank(comm));
		memset(recv, 0x5A, (LARGE + 1) * sizeof(*recv));
		CHECK(ina_allreduce(comm, send, recv, counts[c], INA_INT32, INA_SUM) == INA_OK);
		CHECK(is_sum(recv, counts[c], ina_comm_ranks(comm)));
		CHECK(recv[counts[c]] == 0x5A5A5A5A);
		CHECK(ina_allreduce(comm, send, send, counts[c], INA_INT32, INA_SUM) == INA_OK);
		CHECK(is_sum(send, counts[c], ina_comm_ranks(comm)));
	}
	return 0;
}

/* Two requests under way. The second one is waited for first; the first one is tested. */
static int check_requests(ina_comm *comm, int32_t *send, int32_t *recv)
{
	size_t half = LARGE / 2;
	ina_request *first;
	ina_request *second;
	int done = 0;

	fill(send, LARGE, ina_comm_rank(comm));
	CHECK(ina_allreduce_start(comm, send, recv, half, INA_INT32, INA_SUM, &first) == INA_OK);
	CHECK(ina_allreduce_start(comm, send + half, recv + half, LARGE - half, INA_INT32, INA_SUM,
	                          &second) == INA_OK);
	CHECK(ina_deregister(comm, send, 4) == INA_OK);
	CHECK(ina_wait(second) == INA_OK);
	while (!done)
		CHECK(ina_test(first, &done) == INA_OK);
	CHECK(is_sum(recv, LARGE, ina_comm_ranks(comm)));
	return 0;
}

/* A long buffer is registered in each call, once in place, unless the program has registered it
 * itself. */
static int check_registrations(ina_comm *comm, int32_t *send, int32_t *recv)
{
	struct ina_stats before;
	struct ina_stats after;

	ina_comm_stats(comm, &before, sizeof(before));
	for (int i = 0; i < 5; i++) {
		CHECK(ina_allreduce(comm, send, recv, COPIED, INA_INT32, INA_SUM) == INA_OK);
		CHECK(ina_allreduce(comm, send, send, COPIED + 1, INA_INT32, INA_SUM) == INA_OK);
		CHECK(ina_allreduce(comm, send, recv, COPIED + 1, INA_INT32, INA_SUM) == INA_OK);
	}
	ina_comm_stats(comm, &after, sizeof(after));
	CHECK(after.registrations == before.registrations + 5 * (1 + 2));
	CHECK(ina_register(comm, send, LARGE * sizeof(*send)) == INA_OK);
	CHECK(ina_allreduce(comm, send + 50, send + 50, LARGE - 50, INA_INT32, INA_SUM) == INA_OK);
	ina_comm_stats(comm, &after, sizeof(after));
	CHECK(after.registrations == before.registrations + 16);
	CHECK(ina_deregister(comm, send, 4) == INA_OK);
	CHECK(ina_allreduce(comm, send + 50, send + 50, LARGE - 50, INA_INT32, INA_SUM) == INA_OK);
	ina_comm_stats(comm, &after, sizeof(after));
	CHECK(after.registrations == before.registrations + 17);
	return 0;
}

static int check_overflow(ina_comm *comm, int32_t *send, int32_t *recv)
{
	struct ina_stats before;
	struct ina_stats after;

	memset(send, 0, 1000 * sizeof(*send));
	ina_comm_stats(comm, &before, sizeof(before));
	CHECK(ina_allreduce(comm, send, recv, 1000, INA_INT32, INA_SUM) == INA_OK);
	ina_comm_stats(comm, &after, sizeof(after));
	CHECK(after.overflows == before.overflows);
	send[777] = INT32_MAX;
	CHECK(ina_allreduce(comm, send, recv, 1000, INA_INT32, INA_SUM) == INA_OK);
	CHECK((uint32_t)recv[777] == (uint32_t)ina_comm_ranks(comm) * (uint32_t)INT32_MAX);
	ina_comm_stats(comm, &after, sizeof(after));
	CHECK(after.overflows == before.overflows + 1);
	CHECK(after.calls == before.calls + 2);
	CHECK((after.messages_aggregated > 0) == (after.algorithm == INA_ALGORITHM_INA));
	CHECK((after.messages_ring > 0) == (after.algorithm == INA_ALGORITHM_RING));
	return 0;
}

int main(int argc, char **argv)
{
	const char *algorithm = argc > 1 ? argv[1] : "auto";
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	int32_t *send = malloc((LARGE + 1) * sizeof(*send));
	int32_t *recv = malloc((LARGE + 1) * sizeof(*recv));
	ina_comm *comm;
	ina_comm *second;

	ina_options_init(&options);
	options.algorithm = strcmp(algorithm, "ina") == 0    ? INA_ALGORITHM_INA
	                    : strcmp(algorithm, "ring") == 0 ? INA_ALGORITHM_RING
	                                                     : INA_ALGORITHM_AUTO;
	if (!send || !recv || ina_open(&options, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_api: %s\n", send && recv ? why : "no memory");
		return 1;
	}
	if (why[0] != '\0') {
		fprintf(stderr, "check_api: opened, and yet \"%s\"\n", why);
		return 1;
	}
	/* A second communicator next to the first, with odd sizes. */
	options.window = 3;
	options.message_bytes = 4096 + 16;
	if (ina_open(&options, &second, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_api: %s\n", why);
		return 1;
	}
	if (check_counts(comm, send, recv) || check_counts(second, send, recv) ||
	    check_requests(comm, send, recv) || check_requests(second, send, recv) ||
	    check_registrations(comm, send, recv) || check_overflow(comm, send, recv))
		return 1;
	if (ina_close(second) != INA_OK || ina_close(comm) != INA_OK) {
		fprintf(stderr, "check_api: closing failed\n");
		return 1;
	}
	free(send);
	free(recv);
	return 0;
}
