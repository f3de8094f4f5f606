/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All number types and operations on real hosts, bit for bit. To be run on every rank, rank r on
 * port r of the switch:
 *
 *	check_numbers [auto|ina|ring|machines]
 *
 * machines: two with two ranks each, by ring; each machine's sum is made first, and these two are
 * added: as recursive doubling does it.
 *
 * Exits with 0 if every element was what reference.c makes of the ranks' contributions.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ina.h"
#include "reference.h"

/* All encodings of 16 bits, and as many of near exponents; in all, an odd number. */
#define COUNT_MAX (2u * 65536 + 1)

struct check {
	ina_comm *comm;
	int rank;
	int ranks;
	bool aggregated;
	bool machines;
	uint32_t seed;
	uint8_t *send; /* COUNT_MAX elements, and room to shift them */
	uint8_t *recv;
};

static uint32_t hash(uint32_t x)
{
	x = (x ^ (x >> 16)) * 0x7FEB352Du; /* Wellons, hash-prospector */
	x = (x ^ (x >> 15)) * 0x846CA68Bu;
	return x ^ (x >> 16);
}

/* What a rank contributes. In the second half all ranks' exponents are near: sums are rounded. */
static reference_bits element_of(const struct check *check, enum ina_type type, int rank,
                                 size_t index)
{
	uint32_t noise = hash((uint32_t)index ^ hash((uint32_t)rank ^ check->seed));
	bool near = index >= 65536;

	switch (type) {
	case INA_INT32:
		return near ? (uint32_t)((int32_t)noise >> 8) : noise;
	case INA_FLOAT32:
		return near ? (noise & 0x81FFFFFF) | 0x3E000000 : noise;
	case INA_BFLOAT16:
		return near ? (noise & 0x81FF) | 0x3E00 : (uint16_t)(index * 5 + noise % 2);
	case INA_FLOAT16:
		return near ? (noise & 0x8FFF) | 0x3000 : (uint16_t)(index * 5 + noise % 2);
	case INA_UINT8:
		return (uint8_t)noise;
	case INA_UINT32:
		return noise;
	case INA_INT64:
	case INA_UINT64:
		return (uint64_t)noise << 32 | hash(noise);
	case INA_FLOAT64:
		return near ? ((uint64_t)noise << 32 & 0x801FFFFF00000000) | 0x3FE0000000000000 |
		                       hash(noise)
		            : (uint64_t)noise << 32 | hash(noise);
	}
	return 0;
}

/* Can an aggregator add it? */
static bool is_aggregated(enum ina_type type, enum ina_op op)
{
	if (type == INA_UINT32)
		return op == INA_SUM || op == INA_AVG;
	return type <= INA_FLOAT16 && op != INA_PROD;
}

static reference_bits wanted(const struct check *check, enum ina_type type, enum ina_op op,
                             size_t index, size_t count)
{
	reference_bits operands[INA_MAX_RANKS];
	reference_bits result;

	for (int r = 0; r < check->ranks; r++)
		operands[r] = element_of(check, type, r, index);
	if (check->aggregated && is_aggregated(type, op))
		result = reference_network(type, op, operands, check->ranks);
	else if (check->machines)
		result = reference_doubling(type, op, operands, check->ranks);
	else
		result = reference_hosts(type, op, operands, check->ranks, index, count);
	return op == INA_AVG ? reference_average(type, result, check->ranks) : result;
}

/* One all-reduce, from and to any address. */
static int run(struct check *check, enum ina_type type, enum ina_op op, size_t count, size_t shift,
               bool in_place)
{
	size_t bytes = reference_bytes(type);
	uint8_t *send = check->send + shift;
	uint8_t *recv = in_place ? send : check->recv + (16 - shift);

	for (size_t i = 0; i < count; i++) {
		reference_bits bits = element_of(check, type, check->rank, i);

		memcpy(send + i * bytes, &bits, bytes);
	}
	send[count * bytes] = 0x5A;
	recv[count * bytes] = 0x5A;
	if (ina_allreduce(check->comm, send, recv, count, type, op) != INA_OK) {
		fprintf(stderr, "check_numbers: %s\n", ina_error(check->comm));
		return 1;
	}
	for (size_t i = 0; i < count; i++) {
		reference_bits expected = wanted(check, type, op, i, count);
		reference_bits got = 0;

		memcpy(&got, recv + i * bytes, bytes);
		if (got == expected)
			continue;
		fprintf(stderr,
		        "check_numbers: rank %d, type %d, op %d, %s: element %zu of %zu is "
		        "%llx, not %llx (INA_SEED=%u)\n",
		        check->rank, (int)type, (int)op, check->aggregated ? "ina" : "ring", i,
		        count, (unsigned long long)got, (unsigned long long)expected, check->seed);
		return 1;
	}
	if (recv[count * bytes] != 0x5A) {
		fprintf(stderr, "check_numbers: a byte behind the result was written\n");
		return 1;
	}
	return 0;
}

static int run_all(struct check *check)
{
	static const size_t counts[] = {1, 3, 7, 9, 32745, COUNT_MAX};
	size_t number = 0;

	for (int type = INA_INT32; type <= INA_UINT64; type++) {
		for (int op = INA_SUM; op <= INA_AVG; op++) {
			for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
				size_t shift = number++ % 16;

				if (run(check, (enum ina_type)type, (enum ina_op)op, counts[c],
				        shift, shift % 3 == 0) != 0)
					return 1;
			}
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *algorithm = argc > 1 ? argv[1] : "auto";
	const char *seed = getenv("INA_SEED");
	struct check check = {.seed = seed ? (uint32_t)strtoul(seed, NULL, 0) : 1};
	struct ina_options options;
	struct ina_stats stats;
	char why[INA_ERROR_SIZE] = "no memory";
	int failed;

	reference_init();
	ina_options_init(&options);
	check.machines = strcmp(algorithm, "machines") == 0;
	options.algorithm = strcmp(algorithm, "ina") == 0                      ? INA_ALGORITHM_INA
	                    : strcmp(algorithm, "ring") == 0 || check.machines ? INA_ALGORITHM_RING
	                                                                       : INA_ALGORITHM_AUTO;
	check.send = calloc(COUNT_MAX + 8, 8);
	check.recv = calloc(COUNT_MAX + 8, 8);
	if (!check.send || !check.recv ||
	    ina_open(&options, &check.comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_numbers: %s\n", why);
		return 1;
	}
	check.rank = ina_comm_rank(check.comm);
	check.ranks = ina_comm_ranks(check.comm);
	ina_comm_stats(check.comm, &stats, sizeof(stats));
	check.aggregated = stats.algorithm == INA_ALGORITHM_INA;
	failed = run_all(&check);
	if (ina_close(check.comm) != INA_OK)
		failed = 1;
	free(check.send);
	free(check.recv);
	return failed;
}
