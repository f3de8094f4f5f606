/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Allreduce, which tests/bench/wall.py compares with libina:
 *
 *	mpi_allreduce ROUNDS BYTES
 *
 * Each rank prints a line of JSON: the time of each round, after one to warm up, and the number of
 * wrong elements in the last one.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS_MAX 1000

/* Whole numbers, so that every order of addition gives the same result. */
static float element(int rank, size_t i)
{
	return (float)((i * 7 + (size_t)rank * 3) % 1000);
}

static size_t count_wrong(const float *sums, size_t count, int ranks)
{
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		float expected = 0;

		for (int rank = 0; rank < ranks; rank++)
			expected += element(rank, i);
		wrong += sums[i] != expected;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	static double times_s[ROUNDS_MAX];
	int rounds = argc == 3 ? atoi(argv[1]) : 0;
	size_t count = argc == 3 ? strtoull(argv[2], NULL, 10) / sizeof(float) : 0;
	float *send = malloc(count * sizeof(float));
	float *sums = malloc(count * sizeof(float));
	int rank;
	int ranks;

	if (rounds < 1 || rounds > ROUNDS_MAX || count < 1 || !send || !sums) {
		fprintf(stderr, "mpi_allreduce: usage: mpi_allreduce ROUNDS BYTES\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (size_t i = 0; i < count; i++)
		send[i] = element(rank, i);
	for (int round = 0; round <= rounds; round++) {
		double start_s;

		MPI_Barrier(MPI_COMM_WORLD);
		start_s = MPI_Wtime();
		MPI_Allreduce(send, sums, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		/* The first one warms up. */
		times_s[round > 0 ? round - 1 : 0] = MPI_Wtime() - start_s;
	}
	size_t wrong = count_wrong(sums, count, ranks);
	printf("{\"rank\": %d, \"wrong\": %zu, \"times_s\": [", rank, wrong);
	for (int round = 0; round < rounds; round++)
		printf("%s%.9f", round ? ", " : "", times_s[round]);
	printf("]}\n");
	fflush(stdout);
	MPI_Finalize();
	free(send);
	free(sums);
	return wrong ? 1 : 0;
}
