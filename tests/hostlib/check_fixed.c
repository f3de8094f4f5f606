/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed point on real hosts, bit for bit, including blocks that do not suit it. To be run on every
 * rank, rank r on port r of the switch, with an aggregator that does not fail:
 *
 *	check_fixed
 *
 * Exits with 0 if every sum equals that of integers computed in double.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ina.h"
#include "reference.h"

#define COUNT_MAX 300007u /* more blocks than a window, the last one odd */

struct check {
	ina_comm *comm;
	int rank;
	int ranks;
	size_t block; /* elements */
	size_t first_nan;
	float *send;
	float *recv;
};

/* Each block has a different magnitude on each rank: tiny, huge, or all zeros. */
static float element_of(const struct check *check, int rank, size_t index)
{
	uint32_t block = (uint32_t)(index / check->block);
	int exponent = (int)(reference_hash(block * 64 + (uint32_t)rank) % 250) - 125;
	double fraction = (double)(int32_t)reference_hash((uint32_t)index ^
	                                                  reference_hash((uint32_t)rank + 77)) *
	                  0x1p-31;

	if (index == check->first_nan && rank == check->ranks - 1)
		return block % 2 ? NAN : INFINITY;
	return block % 7 == 3 ? 0 : (float)ldexp(fraction, exponent);
}

/* The exponent of the block that begins there; INT32_MAX: the block contains an infinity or a
 * NaN. */
static int exponent_of(const struct check *check, size_t begin, size_t end)
{
	int largest = -126;

	for (int r = 0; r < check->ranks; r++) {
		for (size_t i = begin; i < end; i++) {
			float value = element_of(check, r, i);
			int exponent;

			if (!isfinite(value))
				return INT32_MAX;
			(void)frexpf(value, &exponent);
			if (value != 0 && exponent > largest)
				largest = exponent;
		}
	}
	return largest;
}

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static uint32_t wanted(const struct check *check, size_t index, int exponent)
{
	reference_bits operands[INA_MAX_RANKS];
	int unit = exponent - 30;
	int64_t sum = 0;

	if (exponent == INT32_MAX) {
		for (int r = 0; r < check->ranks; r++)
			operands[r] = bits_of(element_of(check, r, index));
		return reference_network(INA_FLOAT32, INA_SUM, operands, check->ranks);
	}
	while (1 << (unit - exponent + 30) < check->ranks)
		unit++;
	for (int r = 0; r < check->ranks; r++)
		sum += (int64_t)nearbyint(ldexp((double)element_of(check, r, index), -unit));
	return bits_of(ldexpf((float)sum, unit));
}

static int compare(const struct check *check, const float *recv, size_t count)
{
	for (size_t begin = 0; begin < count; begin += check->block) {
		size_t end = begin + check->block < count ? begin + check->block : count;
		int exponent = exponent_of(check, begin, end);

		for (size_t i = begin; i < end; i++) {
			uint32_t expected = wanted(check, i, exponent);

			if (bits_of(recv[i]) == expected)
				continue;
			fprintf(stderr,
			        "check_fixed: rank %d: element %zu of %zu is %x, not %x, in a "
			        "block "
			        "of exponent %d\n",
			        check->rank, i, count, bits_of(recv[i]), expected, exponent);
			return 1;
		}
	}
	return 0;
}

static int run(struct check *check, size_t count, size_t first_nan, bool in_place)
{
	float *recv = in_place ? check->send : check->recv;
	struct ina_stats before;
	struct ina_stats after;
	uint64_t blocks = (count + check->block - 1) / check->block;
	uint64_t floats = first_nan < count;

	check->first_nan = first_nan;
	for (size_t i = 0; i < count; i++)
		check->send[i] = element_of(check, check->rank, i);
	ina_comm_stats(check->comm, &before, sizeof(before));
	if (ina_allreduce(check->comm, check->send, recv, count, INA_FLOAT32, INA_SUM) != INA_OK) {
		fprintf(stderr, "check_fixed: %s\n", ina_error(check->comm));
		return 1;
	}
	ina_comm_stats(check->comm, &after, sizeof(after));
	if (after.blocks_float - before.blocks_float != floats ||
	    after.blocks_fixed - before.blocks_fixed != blocks - floats) {
		fprintf(stderr, "check_fixed: %zu elements: blocks are counted wrongly\n", count);
		return 1;
	}
	return compare(check, recv, count);
}

/* Calls that are no sum of float32 do not use fixed point. */
static int run_others(struct check *check)
{
	float largest = (float)check->rank + 0.123456789f;

	if (ina_allreduce(check->comm, &largest, &largest, 1, INA_FLOAT32, INA_MAX) != INA_OK)
		return 1;
	return largest == (float)(check->ranks - 1) + 0.123456789f ? 0 : 1;
}

static int run_all(struct check *check)
{
	const size_t counts[] = {1,
	                         5,
	                         check->block - 1,
	                         check->block,
	                         check->block + 1,
	                         8 * check->block,
	                         8 * check->block + 3,
	                         COUNT_MAX};

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		if (run(check, counts[c], SIZE_MAX, false) || run(check, counts[c], 0, true) ||
		    run(check, counts[c], counts[c] - 1, false) || run_others(check))
			return 1;
	}
	return run(check, 0, SIZE_MAX, false);
}

int main(void)
{
	struct check check = {0};
	struct ina_options options;
	struct ina_stats stats;
	char why[INA_ERROR_SIZE] = "no memory";
	int failed;

	reference_init();
	ina_options_init(&options);
	options.algorithm = INA_ALGORITHM_INA;
	options.fixed_point = 1;
	check.send = calloc(COUNT_MAX, sizeof(float));
	check.recv = calloc(COUNT_MAX, sizeof(float));
	if (!check.send || !check.recv ||
	    ina_open(&options, &check.comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_fixed: %s\n", why);
		return 1;
	}
	check.rank = ina_comm_rank(check.comm);
	check.ranks = ina_comm_ranks(check.comm);
	ina_comm_stats(check.comm, &stats, sizeof(stats));
	check.block = (stats.message_bytes - 48) / sizeof(float);
	failed = run_all(&check);
	if (ina_close(check.comm) != INA_OK)
		failed = 1;
	free(check.send);
	free(check.recv);
	return failed;
}
