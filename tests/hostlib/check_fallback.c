/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces while the aggregator is reset or removed: every sum is right, and has the same bits
 * on all ranks. To be run on every rank, in a lab whose aggregator fails:
 *
 *	check_fallback SEED ROUNDS ELEMENTS FALLBACKS REJOINS
 *
 * Each round is an all-reduce of a random size (less than ELEMENTS) and type, in place or not, at a
 * random moment of each rank, alone or with others outstanding. Exits with 0 if all sums are right,
 * and the job left the aggregator and joined it again at least FALLBACKS and REJOINS times. REJOINS
 * 0: the job must not return to it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ina.h"

#define COUNT_MAX   600000u
#define OUTSTANDING 8

/* The call that all ranks make in a round. */
struct round {
	size_t count;
	enum ina_type type;
	int in_place;
	unsigned int salt;
};

struct buffers {
	uint32_t *send;
	uint32_t *recv;
	ina_request *request;
};

/* xorshift64*, Vigna 2016 */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545F4914F6CDD1Du;
}

static int32_t int_of(const struct round *round, int rank, size_t i)
{
	return (int32_t)((i + round->salt) * 2654435761u * (uint32_t)(rank + 1));
}

/* Floats of many exponents, so that sums are rounded, and wrong orders or terms are noticed. */
static float float_of(const struct round *round, int rank, size_t i)
{
	return ldexpf((float)(int_of(round, rank, i) >> 8), (int)((i + (size_t)rank) % 20) - 24);
}

static void fill(const struct round *round, uint32_t *data, int rank)
{
	for (size_t i = 0; i < round->count; i++) {
		float number = float_of(round, rank, i);

		data[i] = (uint32_t)int_of(round, rank, i);
		if (round->type == INA_FLOAT32)
			memcpy(&data[i], &number, sizeof(number));
	}
}

static int is_right(const struct round *round, const uint32_t *data, int ranks, size_t i)
{
	uint32_t whole = 0;
	double sum = 0;
	double size = 0;
	float got;

	for (int r = 0; r < ranks; r++) {
		whole += (uint32_t)int_of(round, r, i);
		sum += (double)float_of(round, r, i);
		size += fabs((double)float_of(round, r, i));
	}
	if (round->type == INA_INT32)
		return data[i] == whole;
	/* n - 1 additions in any order: Higham, section 4.2. */
	memcpy(&got, &data[i], sizeof(got));
	return fabs((double)got - sum) <= (ranks - 1) * ldexp(1.0, -24) * 1.001 * size;
}

static int check_sum(const struct round *round, const uint32_t *data, int ranks)
{
	for (size_t i = 0; i < round->count; i++) {
		if (!is_right(round, data, ranks, i)) {
			fprintf(stderr, "element %zu of %zu (%s, %s) is 0x%08x: wrong\n", i,
			        round->count, round->type == INA_INT32 ? "int32" : "float32",
			        round->in_place ? "in place" : "out of place", data[i]);
			return 1;
		}
	}
	if (data[round->count] != 0x5A5A5A5A) {
		fprintf(stderr, "the element after %zu was written to\n", round->count);
		return 1;
	}
	return 0;
}

/* FNV-1a, to compare bits between ranks. */
static uint32_t hash(uint32_t sofar, const uint32_t *data, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sofar = (sofar ^ data[i]) * 16777619u;
	return sofar;
}

static struct round make_round(uint64_t *state, size_t elements)
{
	static const size_t limits[] = {2, 40, 20000, COUNT_MAX};
	size_t limit = limits[draw(state) >> 62];

	return (struct round){
	        .count = draw(state) % (limit < elements ? limit : elements),
	        .type = draw(state) >> 63 ? INA_FLOAT32 : INA_INT32,
	        .in_place = draw(state) >> 63 != 0,
	        .salt = (unsigned int)(draw(state) >> 40),
	};
}

/* Each rank takes its own time: some are outside the library when the aggregator is lost. */
static void dawdle(uint64_t *state)
{
	if (draw(state) >> 62 == 0)
		usleep((useconds_t)(draw(state) % 20000));
}

static int run_rounds(ina_comm *comm, struct buffers *buffers, uint64_t seed, int rounds,
                      size_t elements, uint32_t *bits)
{
	uint64_t common = seed * 2 + 1;
	uint64_t own = common + (uint64_t)ina_comm_rank(comm) * 1000003;
	struct round made[OUTSTANDING];

	for (int done = 0; done < rounds;) {
		int batch = 1 + (int)(draw(&common) % OUTSTANDING);

		for (int b = 0; b < batch; b++) {
			made[b] = make_round(&common, elements);
			uint32_t *target = made[b].in_place ? buffers[b].send : buffers[b].recv;

			target[made[b].count] = 0x5A5A5A5A;
			fill(&made[b], buffers[b].send, ina_comm_rank(comm));
			if (ina_allreduce_start(comm, buffers[b].send, target, made[b].count,
			                        made[b].type, INA_SUM,
			                        &buffers[b].request) != INA_OK)
				return 1;
		}
		for (int b = 0; b < batch; b++) {
			uint32_t *target = made[b].in_place ? buffers[b].send : buffers[b].recv;

			dawdle(&own);
			if (ina_wait(buffers[b].request) != INA_OK)
				return 1;
			if (check_sum(&made[b], target, ina_comm_ranks(comm)) != 0)
				return 1;
			*bits = hash(*bits, target, made[b].count);
			/* The memory belongs to the caller again: no rank may still need its
			 * contents. */
			memset(buffers[b].send, 0xEE, (made[b].count + 1) * sizeof(*target));
			memset(buffers[b].recv, 0xEE, (made[b].count + 1) * sizeof(*target));
		}
		done += batch;
	}
	return 0;
}

static int compare_bits(ina_comm *comm, uint32_t bits)
{
	uint32_t sum = 0;

	if (ina_allreduce(comm, &bits, &sum, 1, INA_INT32, INA_SUM) != INA_OK)
		return 1;
	if (sum == bits * (uint32_t)ina_comm_ranks(comm))
		return 0;
	fprintf(stderr, "ranks have results of different bits\n");
	return 1;
}

static int compare_stats(ina_comm *comm, int rounds, uint64_t fallbacks, uint64_t rejoins)
{
	struct ina_stats stats;

	ina_comm_stats(comm, &stats, sizeof(stats));
	printf("calls %llu, messages aggregated %llu, over the ring %llu, retried %llu, fallbacks "
	       "%llu, "
	       "rejoins %llu\n",
	       (unsigned long long)stats.calls, (unsigned long long)stats.messages_aggregated,
	       (unsigned long long)stats.messages_ring, (unsigned long long)stats.messages_retried,
	       (unsigned long long)stats.fallbacks, (unsigned long long)stats.rejoins);
	if (stats.calls != (uint64_t)rounds || stats.fallbacks < fallbacks ||
	    stats.rejoins < rejoins || (rejoins == 0 && stats.rejoins > 0) ||
	    stats.messages_aggregated == 0 || (fallbacks > 0 && stats.messages_ring == 0) ||
	    (stats.algorithm == INA_ALGORITHM_INA) != (stats.fallbacks == stats.rejoins)) {
		fprintf(stderr, "the counts are not what they should be\n");
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct buffers buffers[OUTSTANDING];
	char why[INA_ERROR_SIZE];
	uint32_t bits = 2166136261u;
	struct ina_stats stats;
	ina_comm *comm;
	int failed;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc != 6 || strtoull(argv[3], NULL, 10) == 0) {
		fprintf(stderr, "check_fallback: needs SEED ROUNDS ELEMENTS FALLBACKS REJOINS\n");
		return 2;
	}
	for (int b = 0; b < OUTSTANDING; b++) {
		buffers[b].send = malloc((COUNT_MAX + 1) * sizeof(uint32_t));
		buffers[b].recv = malloc((COUNT_MAX + 1) * sizeof(uint32_t));
		if (!buffers[b].send || !buffers[b].recv)
			return 2;
	}
	if (ina_open(NULL, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_fallback: %s\n", why);
		return 1;
	}
	failed = run_rounds(comm, buffers, strtoull(argv[1], NULL, 10), atoi(argv[2]),
	                    strtoull(argv[3], NULL, 10), &bits) ||
	         compare_bits(comm, bits);
	ina_comm_stats(comm, &stats, sizeof(stats));
	failed = failed || compare_stats(comm, (int)stats.calls, strtoull(argv[4], NULL, 10),
	                                 strtoull(argv[5], NULL, 10));
	if (failed)
		fprintf(stderr, "check_fallback: seed %s: %s\n", argv[1], ina_error(comm));
	if (ina_close(comm) != INA_OK && !failed) {
		fprintf(stderr, "check_fallback: closing failed\n");
		failed = 1;
	}
	for (int b = 0; b < OUTSTANDING; b++) {
		free(buffers[b].send);
		free(buffers[b].recv);
	}
	return failed;
}
