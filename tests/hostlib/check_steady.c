/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a call in addition to its data. To be run on every rank:
 *
 *	check_steady ina|ring
 *
 * After some calls to warm up, all-reduces of all sizes, in place and not, blocking and several at
 * the same time, allocate no memory and register none. Exits with 0 if that holds, and if every sum
 * was right.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ina.h"

#define COUNT_MAX   1000000u
#define OUTSTANDING 4
#define ROUNDS      3

/* All allocations of the process come here, and glibc's own functions do the work. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_uint allocations;

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	allocations++;
	return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	allocations++;
	return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	allocations++;
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	allocations++;
	*memory = __libc_memalign(alignment, size);
	return *memory ? 0 : 12; /* ENOMEM */
}

static int32_t send[OUTSTANDING][COUNT_MAX];
static int32_t recv[OUTSTANDING][COUNT_MAX];

static int32_t value(int rank, size_t i, int salt)
{
	return (int32_t)(i * 3 + (size_t)salt) * (rank + 1);
}

static int is_sum(const int32_t *data, size_t count, int ranks, int salt)
{
	int32_t times = ranks * (ranks + 1) / 2;

	for (size_t i = 0; i < count; i++) {
		if (data[i] != value(0, i, salt) * times) {
			fprintf(stderr, "check_steady: element %zu of %zu is wrong\n", i, count);
			return 0;
		}
	}
	return 1;
}

/* Some all-reduces of `count` at the same time, every other one in place. */
static int run(ina_comm *comm, size_t count, int outstanding)
{
	ina_request *requests[OUTSTANDING];

	for (int i = 0; i < outstanding; i++) {
		for (size_t e = 0; e < count; e++)
			send[i][e] = value(ina_comm_rank(comm), e, i);
		if (ina_allreduce_start(comm, send[i], i % 2 ? send[i] : recv[i], count, INA_INT32,
		                        INA_SUM, &requests[i]) != INA_OK)
			return 0;
	}
	for (int i = 0; i < outstanding; i++) {
		if (ina_wait(requests[i]) != INA_OK)
			return 0;
	}
	for (int i = 0; i < outstanding; i++) {
		if (!is_sum(i % 2 ? send[i] : recv[i], count, ina_comm_ranks(comm), i))
			return 0;
	}
	return 1;
}

static int run_all(ina_comm *comm)
{
	static const size_t counts[] = {0, 1, 1000, 30000, COUNT_MAX};

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		if (!run(comm, counts[c], 1) || !run(comm, counts[c], OUTSTANDING))
			return 0;
	}
	return 1;
}

static int check(ina_comm *comm)
{
	struct ina_stats before;
	struct ina_stats after;
	unsigned int allocated;
	int fine;

	for (int i = 0; i < OUTSTANDING; i++) {
		if (ina_register(comm, send[i], sizeof(send[i])) != INA_OK ||
		    ina_register(comm, recv[i], sizeof(recv[i])) != INA_OK)
			return 0;
	}
	fine = run_all(comm);
	ina_comm_stats(comm, &before, sizeof(before));
	allocated = allocations;
	for (int round = 0; fine && round < ROUNDS; round++)
		fine = run_all(comm);
	allocated = allocations - allocated;
	ina_comm_stats(comm, &after, sizeof(after));
	if (!fine)
		return 0;
	if (allocated > 0 || after.registrations != before.registrations) {
		fprintf(stderr,
		        "check_steady: %u allocations and %llu registrations in %llu calls\n",
		        allocated, (unsigned long long)(after.registrations - before.registrations),
		        (unsigned long long)(after.calls - before.calls));
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	ina_comm *comm;
	int fine;

	if (argc != 2) {
		fprintf(stderr, "check_steady: needs ina or ring\n");
		return 2;
	}
	ina_options_init(&options);
	options.algorithm = strcmp(argv[1], "ina") == 0 ? INA_ALGORITHM_INA : INA_ALGORITHM_RING;
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_steady: %s\n", why);
		return 1;
	}
	if (allocations == 0) {
		fprintf(stderr,
		        "check_steady: ina_open() allocated nothing: they are not counted\n");
		return 1;
	}
	fine = check(comm);
	if (!fine && ina_error(comm)[0])
		fprintf(stderr, "check_steady: %s\n", ina_error(comm));
	return ina_close(comm) != INA_OK || !fine;
}
