/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All number types and operations on real hosts, bit for bit. To be run on every rank, rank r on
 * port r of the switch:
 *
 *	check_numbers [auto|ina|ring|machines]
 *
 * machines: two machines with two ranks each, over the ring. Each machine's sum is made first, and
 * then the two sums are added, in the order of recursive doubling.
 *
 * Exits with 0 if every element equals the result of reference.c for the ranks' contributions.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ina.h"
#include "reference.h"

/* All encodings of 16 bits, as many of near exponents, and as many of the largest exponents; an odd
 * number. */
#define COUNT_MAX (3u * 65536 + 1)

struct check {
	ina_comm *comm;
	int rank;
	int ranks;
	bool aggregated;
	enum reference_way way; /* for calls that do not use the aggregator */
	uint32_t seed;
	uint8_t *send; /* COUNT_MAX elements, and room to shift them */
	uint8_t *recv;
};

/* Bits for the exponents of floats: near each other, so that sums are rounded, or the largest
 * ones. */
static reference_bits exponents_of(enum ina_type type, bool largest, uint64_t noise)
{
	switch (type) {
	case INA_FLOAT32:
		return largest ? (noise & 0x80FFFFFF) | 0x7E800000
		               : (noise & 0x81FFFFFF) | 0x3E000000;
	case INA_BFLOAT16:
		return largest ? (noise & 0x80FF) | 0x7E80 : (noise & 0x81FF) | 0x3E00;
	case INA_FLOAT16:
		return largest ? (noise & 0x83FF) | 0x7800 : (noise & 0x8FFF) | 0x3000;
	default:
		return largest ? (noise & 0x801FFFFFFFFFFFFF) | 0x7FC0000000000000
		               : (noise & 0x801FFFFFFFFFFFFF) | 0x3FE0000000000000;
	}
}

/* The contribution of a rank. With the largest exponents, every other element has the same sign on
 * all ranks. */
static reference_bits element_of(const struct check *check, enum ina_type type, int rank,
                                 size_t index)
{
	uint32_t word =
	        reference_hash((uint32_t)index ^ reference_hash((uint32_t)rank ^ check->seed));
	uint64_t noise = (uint64_t)word << 32 | reference_hash(word);
	size_t bits = 8 * reference_bytes(type);
	size_t part = index / 65536;

	if (type == INA_INT32 && part == 1)
		return (uint32_t)((int32_t)word >> 8);
	if (part >= 2 && index % 2 == 0)
		noise |= 0x8000800080808080;
	if (type != INA_FLOAT32 && type != INA_FLOAT64 && type != INA_BFLOAT16 &&
	    type != INA_FLOAT16)
		return noise >> (64 - bits);
	if (part > 0)
		return exponents_of(type, part > 1, noise >> (64 - bits));
	return bits == 16 ? (uint16_t)(index * 5 + word % 2) : noise >> (64 - bits);
}

/* Can an aggregator add it? An average is computed from a sum of other elements. */
static bool is_aggregated(enum ina_type type, enum ina_op op)
{
	if (type == INA_UINT8 || type == INA_INT8 || type == INA_UINT16)
		return op == INA_AVG;
	if (type == INA_UINT32)
		return op == INA_SUM || op == INA_AVG;
	return type <= INA_FLOAT16 && op != INA_PROD;
}

static reference_bits wanted(const struct check *check, enum ina_type type, enum ina_op op,
                             size_t index, size_t count)
{
	reference_bits operands[INA_MAX_RANKS];
	bool aggregated = check->aggregated && is_aggregated(type, op);

	for (int r = 0; r < check->ranks; r++)
		operands[r] = element_of(check, type, r, index);
	return reference_result(aggregated ? REFERENCE_NETWORK : check->way, type, op, operands,
	                        check->ranks, index, count);
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
		fprintf(stderr, "check_numbers: a byte after the result was written\n");
		return 1;
	}
	return 0;
}

/* Where the members of a group begin, and where the last one ends. */
static const size_t MEMBERS[] = {0, 5, 12, 12, 1000};
#define MEMBER_COUNT (sizeof(MEMBERS) / sizeof(MEMBERS[0]) - 1)

/*
 * Several short calls at the same time, in a group or one by one, every other one in place; they
 * use the elements from `first` on. They go through the network one by one; recursive doubling
 * treats them as one call of all their elements, in which an element's place does not matter.
 */
static int run_several(struct check *check, enum ina_type type, enum ina_op op, bool grouped,
                       size_t first)
{
	size_t bytes = reference_bytes(type);
	ina_request *requests[MEMBER_COUNT];
	enum ina_status status = INA_OK;

	for (size_t i = 0; i < MEMBERS[MEMBER_COUNT]; i++) {
		reference_bits bits = element_of(check, type, check->rank, first + i);

		memcpy(check->send + i * bytes, &bits, bytes);
		memcpy(check->recv + i * bytes, &bits, bytes);
	}
	if (grouped)
		ina_group_start(check->comm);
	for (size_t m = 0; m < MEMBER_COUNT && status == INA_OK; m++) {
		uint8_t *recv = check->recv + MEMBERS[m] * bytes;

		status = ina_allreduce_start(check->comm,
		                             m % 2 ? recv : check->send + MEMBERS[m] * bytes, recv,
		                             MEMBERS[m + 1] - MEMBERS[m], type, op, &requests[m]);
	}
	if (grouped && status == INA_OK)
		status = ina_group_end(check->comm);
	for (size_t m = 0; m < MEMBER_COUNT && status == INA_OK; m++)
		status = ina_wait(requests[m]);
	if (status != INA_OK) {
		fprintf(stderr, "check_numbers: %s\n", ina_error(check->comm));
		return 1;
	}
	for (size_t i = 0; i < MEMBERS[MEMBER_COUNT]; i++) {
		reference_bits expected = wanted(check, type, op, first + i, 0);
		reference_bits got = 0;

		memcpy(&got, check->recv + i * bytes, bytes);
		if (got == expected)
			continue;
		fprintf(stderr,
		        "check_numbers: rank %d, type %d, op %d, %s: element %zu is %llx, not %llx "
		        "(INA_SEED=%u)\n",
		        check->rank, (int)type, (int)op, grouped ? "in a group" : "started", i,
		        (unsigned long long)got, (unsigned long long)expected, check->seed);
		return 1;
	}
	return 0;
}

static int run_all_several(struct check *check)
{
	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);

		for (int op = INA_SUM; op <= INA_AVG; op++) {
			for (size_t round = 0; round < 4; round++) {
				if (run_several(check, type, (enum ina_op)op, round % 2,
				                round / 2 * 65536 * 2) != 0)
					return 1;
			}
		}
	}
	return 0;
}

static int run_all(struct check *check)
{
	static const size_t counts[] = {1, 3, 7, 9, 32745, 4099, COUNT_MAX};
	size_t number = 0;

	for (int t = 0; t < REFERENCE_TYPES; t++) {
		enum ina_type type = reference_type(t);

		for (int op = INA_SUM; op <= INA_AVG; op++) {
			for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
				size_t shift = number++ % 16;

				if (run(check, type, (enum ina_op)op, counts[c], shift,
				        shift % 3 == 0) != 0)
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
	check.way = strcmp(algorithm, "machines") == 0 ? REFERENCE_MACHINES : REFERENCE_HOSTS;
	options.algorithm = strcmp(algorithm, "ina") == 0    ? INA_ALGORITHM_INA
	                    : strcmp(algorithm, "auto") == 0 ? INA_ALGORITHM_AUTO
	                                                     : INA_ALGORITHM_RING;
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
	failed = run_all(&check) || run_all_several(&check);
	if (ina_close(check.comm) != INA_OK)
		failed = 1;
	free(check.send);
	free(check.recv);
	return failed;
}
