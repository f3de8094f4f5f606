/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MPI program that checks the collectives of the interposer: all types, operations and forms, on
 * several communicators. It compares them with MPI_Reduce_local(), which is MPI's own. All results
 * are right with and without the interposer.
 */
#include <float.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT     259
#define RANKS_MAX 16

static int rank, ranks; /* rank and size of MPI_COMM_WORLD */
static int checks;

static void fail(const char *what, const char *type, const char *op, int i)
{
	fprintf(stderr, "check_collectives: rank %d: %s of %s %s is wrong from element %d on\n",
	        rank, what, type, op, i);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

enum sort { FLOATING, SIGNED, UNSIGNED };

struct type {
	const char *name;
	MPI_Datatype type;
	enum sort sort;
	long double epsilon; /* for a FLOATING type */
};

/* clang-format off */
#define FLOATS(t, e) {#t, t, FLOATING, e}
#define INTEGERS(t)  {#t, t, SIGNED, 0}
#define UNSIGNEDS(t) {#t, t, UNSIGNED, 0}
/* clang-format on */
static const struct type TYPES[] = {
        FLOATS(MPI_FLOAT, FLT_EPSILON),
        FLOATS(MPI_DOUBLE, DBL_EPSILON),
        FLOATS(MPI_LONG_DOUBLE, LDBL_EPSILON),
        FLOATS(MPI_REAL, FLT_EPSILON),
        FLOATS(MPI_DOUBLE_PRECISION, DBL_EPSILON),
        INTEGERS(MPI_INT),
        INTEGERS(MPI_INT64_T),
        UNSIGNEDS(MPI_UNSIGNED),
        UNSIGNEDS(MPI_UINT64_T),
        UNSIGNEDS(MPI_UINT8_T),
        UNSIGNEDS(MPI_UINT16_T),
        INTEGERS(MPI_INT8_T),
        INTEGERS(MPI_SHORT),
        INTEGERS(MPI_INTEGER),
};

static const struct {
	const char *name;
	MPI_Op op;
	int integers_only;
} OPS[] = {
        {"MPI_SUM", MPI_SUM, 0},   {"MPI_MAX", MPI_MAX, 0},   {"MPI_MIN", MPI_MIN, 0},
        {"MPI_PROD", MPI_PROD, 0}, {"MPI_BXOR", MPI_BXOR, 1},
};

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

static long double number(const struct type *type, const void *memory, int i)
{
	int size;

	MPI_Type_size(type->type, &size);
	if (type->sort != FLOATING)
		return 0;
	if (size == (int)sizeof(float))
		return ((const float *)memory)[i];
	if (size == (int)sizeof(double))
		return ((const double *)memory)[i];
	return ((const long double *)memory)[i];
}

/* Any bits for integers; floats between -4 and 4, whose sums always need rounding. */
static void draw(const struct type *type, void *memory, int count, uint32_t seed)
{
	int size;

	MPI_Type_size(type->type, &size);
	for (int i = 0; i < count * size; i++) {
		seed = seed * 1664525u + 1013904223u;
		/* Open MPI adds short integers with saturation by AVX, so these must not overflow.
		 */
		((uint8_t *)memory)[i] = size > 2        ? (uint8_t)(seed >> 24)
		                         : i % size == 0 ? (uint8_t)(seed >> 30)
		                                         : 0;
	}
	/* MPICH 4.0 treats unsigned integers as signed in the maximum. */
	for (int i = 0; i < count && type->sort == UNSIGNED; i++)
		((uint8_t *)memory)[(i + 1) * size - 1] &= 0x7f;
	for (int i = 0; i < count && type->sort == FLOATING; i++) {
		seed = seed * 1664525u + 1013904223u;
		double value = ((double)seed / UINT32_MAX - 0.5) * 8;

		if (size == (int)sizeof(float))
			((float *)memory)[i] = (float)value;
		else if (size == (int)sizeof(double))
			((double *)memory)[i] = value;
		else
			((long double *)memory)[i] = (long double)value / 3;
	}
}

/*
 * The reference: the other ranks' random elements are generated again here and combined by MPI. The
 * magnitudes serve for the bound. Nothing is sent.
 */
static void combine(const struct type *type, MPI_Op op, int count, uint32_t seed, char *result,
                    long double *magnitude, MPI_Comm comm)
{
	MPI_Group world, group;
	int n, size;
	char *one;

	MPI_Comm_size(comm, &n);
	MPI_Type_size(type->type, &size);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Comm_group(comm, &group);
	one = malloc((size_t)count * (size_t)size);
	for (int i = 0; i < count; i++)
		magnitude[i] = op == MPI_PROD ? 1 : 0;
	for (int r = 0; r < n; r++) {
		int world_rank;

		MPI_Group_translate_ranks(group, 1, &r, world, &world_rank);
		draw(type, one, count, seed + (uint32_t)world_rank);
		if (r == 0)
			memcpy(result, one, (size_t)count * (size_t)size);
		else
			MPI_Reduce_local(one, result, count, type->type, op);
		for (int i = 0; i < count; i++) {
			long double x = fabsl(number(type, one, i));

			magnitude[i] = op == MPI_PROD ? magnitude[i] * x : magnitude[i] + x;
		}
	}
	free(one);
	MPI_Group_free(&world);
	MPI_Group_free(&group);
}

/* On both sides, each of n - 1 roundings is off by at most half an epsilon of the magnitude. */
static void compare(const char *what, const struct type *type, const char *op, const void *got,
                    const char *expected, const long double *magnitude, int offset, int count,
                    int n)
{
	int size;

	MPI_Type_size(type->type, &size);
	checks++;
	for (int i = 0; i < count; i++) {
		if (memcmp((const char *)got + i * size, expected + (offset + i) * size,
		           (size_t)size) == 0)
			continue;
		if (type->sort != FLOATING ||
		    !(fabsl(number(type, got, i) - number(type, expected, offset + i)) <=
		      n * type->epsilon * magnitude[offset + i]))
			fail(what, type->name, op, i);
	}
}

static void finish(int started, MPI_Request *request, int i)
{
	int done = 0;

	if (!started)
		return;
	if (i % 2 == 0) {
		MPI_Wait(request, MPI_STATUS_IGNORE);
		return;
	}
	while (!done)
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
}

/* All reductions of one type and operation. */
static void reductions(const struct type *type, int o, MPI_Comm comm, int in_place, int started)
{
	const char *op_name = OPS[o].name;
	MPI_Op op = OPS[o].op;
	MPI_Datatype t = type->type;
	int n, me, size, counts[RANKS_MAX], offset = 0;

	MPI_Comm_size(comm, &n);
	MPI_Comm_rank(comm, &me);
	MPI_Type_size(t, &size);
	int total = n * COUNT;
	size_t bytes = (size_t)total * (size_t)size;
	char *own = malloc(bytes), *expected = malloc(bytes), *send = malloc(bytes),
	     *recv = malloc(bytes);
	long double *magnitude = malloc((size_t)total * sizeof(*magnitude));
	MPI_Request request;

	uint32_t seed = (uint32_t)((o * 31 + in_place * 2 + started) * 7919);

	draw(type, own, total, seed + (uint32_t)rank);
	combine(type, op, total, seed, expected, magnitude, comm);
	memcpy(send, own, bytes);

#define RESET()                                                                                    \
	do {                                                                                       \
		memset(recv, 0x55, bytes);                                                         \
		if (in_place)                                                                      \
			memcpy(recv, own, bytes);                                                  \
	} while (0)
#define SEND (in_place ? MPI_IN_PLACE : send)

	RESET();
	if (started)
		MPI_Iallreduce(SEND, recv, total, t, op, comm, &request);
	else
		MPI_Allreduce(SEND, recv, total, t, op, comm);
	finish(started, &request, 0);
	compare("MPI_Allreduce", type, op_name, recv, expected, magnitude, 0, total, n);

	int root = (o + in_place) % n;

	RESET();
	const void *from = in_place && me == root ? MPI_IN_PLACE : send;

	if (started)
		MPI_Ireduce(from, me == root ? recv : NULL, total, t, op, root, comm, &request);
	else
		MPI_Reduce(from, me == root ? recv : NULL, total, t, op, root, comm);
	finish(started, &request, 1);
	if (me == root)
		compare("MPI_Reduce", type, op_name, recv, expected, magnitude, 0, total, n);

	RESET();
	if (started)
		MPI_Ireduce_scatter_block(SEND, recv, COUNT, t, op, comm, &request);
	else
		MPI_Reduce_scatter_block(SEND, recv, COUNT, t, op, comm);
	finish(started, &request, 0);
	compare("MPI_Reduce_scatter_block", type, op_name, recv, expected, magnitude, me * COUNT,
	        COUNT, n);

	/* Equal blocks, or unequal ones. */
	for (int r = 0; r < n; r++)
		counts[r] = COUNT;
	if (o % 2 == 1) {
		counts[0] -= 5;
		counts[n - 1] += 5;
	}
	for (int r = 0; r < me; r++)
		offset += counts[r];
	RESET();
	if (started)
		MPI_Ireduce_scatter(SEND, recv, counts, t, op, comm, &request);
	else
		MPI_Reduce_scatter(SEND, recv, counts, t, op, comm);
	finish(started, &request, 1);
	compare("MPI_Reduce_scatter", type, op_name, recv, expected, magnitude, offset, counts[me],
	        n);
	if (memcmp(send, own, bytes) != 0)
		fail("what was sent", type->name, op_name, 0);
	free(own);
	free(expected);
	free(send);
	free(recv);
	free(magnitude);
}

/* Other ranks describe the same elements by other types: pairs with a gap after them, or a row of
 * doubles. */
static void moves(MPI_Comm comm, int started)
{
	int n, me;
	MPI_Datatype gapped, gapped_resized;
	MPI_Request request;

	MPI_Comm_size(comm, &n);
	MPI_Comm_rank(comm, &me);
	MPI_Type_contiguous(2, MPI_DOUBLE, &gapped);
	MPI_Type_create_resized(gapped, 0, 3 * sizeof(double), &gapped_resized);
	MPI_Type_commit(&gapped_resized);
	MPI_Type_free(&gapped);

	int pairs = COUNT;
	double *gaps = malloc((size_t)(n * pairs * 3) * sizeof(double));
	double *row = malloc((size_t)(n * pairs * 2) * sizeof(double));

#define AT_GAPS(i) gaps[(i) / 2 * 3 + (i) % 2]
	for (int root = 0; root < n; root++) {
		int derived = (me + root) % 2;
		MPI_Datatype kept;

		for (int i = 0; i < n * pairs * 3; i++)
			gaps[i] = -1;
		for (int i = 0; i < n * pairs * 2; i++)
			row[i] = -1;
		for (int i = 0; me == root && i < pairs * 2; i++)
			row[i] = AT_GAPS(i) = root * 1000 + i;
		MPI_Type_dup(gapped_resized, &kept);
		if (started)
			MPI_Ibcast(derived ? gaps : row, derived ? pairs : 2 * pairs,
			           derived ? kept : MPI_DOUBLE, root, comm, &request);
		else
			MPI_Bcast(derived ? gaps : row, derived ? pairs : 2 * pairs,
			          derived ? kept : MPI_DOUBLE, root, comm);
		MPI_Type_free(&kept);
		finish(started, &request, root);
		checks++;
		for (int i = 0; i < pairs * 2; i++) {
			if ((derived ? AT_GAPS(i) : row[i]) != root * 1000 + i)
				fail("MPI_Bcast", derived ? "pairs" : "doubles", "", i);
			if (gaps[i / 2 * 3 + 2] != -1)
				fail("a gap after MPI_Bcast", "pairs", "", i);
		}
	}
	for (int way = 0; way < 6; way++) {
		int in_place = way / 2 == 1, derived_recv = (way + me) % 2,
		    derived_send = way / 2 == 2;
		double *own_gaps = malloc((size_t)(pairs * 3) * sizeof(double));

		for (int i = 0; i < n * pairs * 3; i++)
			gaps[i] = -1;
		for (int i = 0; i < n * pairs * 2; i++)
			row[i] = -1;
		for (int i = 0; i < pairs * 2; i++) {
			double x = me * 100000 + i;

			own_gaps[derived_send ? i / 2 * 3 + i % 2 : i] = x;
			if (in_place && derived_recv)
				AT_GAPS(me * pairs * 2 + i) = x;
			else if (in_place)
				row[me * pairs * 2 + i] = x;
		}
		const void *from = in_place ? MPI_IN_PLACE : own_gaps;
		int send_count = derived_send ? pairs : 2 * pairs;
		MPI_Datatype send_type = derived_send ? gapped_resized : MPI_DOUBLE;
		void *to = derived_recv ? gaps : row;
		int recv_count = derived_recv ? pairs : 2 * pairs;
		MPI_Datatype recv_type = derived_recv ? gapped_resized : MPI_DOUBLE;

		if (started)
			MPI_Iallgather(from, send_count, send_type, to, recv_count, recv_type, comm,
			               &request);
		else
			MPI_Allgather(from, send_count, send_type, to, recv_count, recv_type, comm);
		finish(started, &request, way);
		checks++;
		for (int i = 0; i < n * pairs * 2; i++) {
			if ((derived_recv ? AT_GAPS(i) : row[i]) !=
			    i / (pairs * 2) * 100000 + i % (pairs * 2))
				fail("MPI_Allgather", derived_recv ? "pairs" : "doubles", "", i);
		}
		free(own_gaps);
	}
	MPI_Type_free(&gapped_resized);
	free(gaps);
	free(row);
}

static void exclusive_or(void *in, void *inout, int *count, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *count; i++)
		((int *)inout)[i] = ((int *)inout)[i] ^ ((int *)in)[i];
}

/* Calls that libina never sees: user operations, intercommunicators, one rank. */
static void others(void)
{
	MPI_Op op;
	MPI_Comm half, inter;
	static int in[COUNT * 8], out[COUNT * 8];
	int expected = 0, low = rank < ranks / 2;

	for (int r = 0; r < ranks; r++)
		expected ^= r * 5;
	for (int i = 0; i < COUNT * 8; i++)
		in[i] = rank * 5;
	MPI_Op_create(exclusive_or, 1, &op);
	MPI_Allreduce(in, out, COUNT * 8, MPI_INT, op, MPI_COMM_WORLD);
	checks++;
	if (out[COUNT] != expected)
		fail("MPI_Allreduce", "int", "by an operation of the program", COUNT);
	MPI_Op_free(&op);
	MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? ranks / 2 : 0, 4, &inter);
	MPI_Allreduce(in, out, COUNT * 8, MPI_INT, MPI_SUM, inter);
	expected = 0;
	for (int r = 0; r < ranks; r++)
		expected += (r < ranks / 2) != low ? r * 5 : 0;
	checks++;
	if (out[1] != expected)
		fail("MPI_Allreduce", "int", "between communicators", 1);
	MPI_Barrier(inter);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	MPI_Allreduce(in, out, COUNT * 8, MPI_INT, MPI_SUM, MPI_COMM_SELF);
	checks++;
	if (out[7] != in[7])
		fail("MPI_Allreduce", "int", "by oneself", 7);
}

int main(int argc, char **argv)
{
	MPI_Comm halves, turned;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &halves);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
	MPI_Comm comms[] = {MPI_COMM_WORLD, halves, turned};

	for (int t = 0; t < COUNT_OF(TYPES); t++) {
		for (int o = 0; o < COUNT_OF(OPS); o++) {
			if (OPS[o].integers_only && TYPES[t].sort == FLOATING)
				continue;
			/* Alternates between communicators, between blocking and started, and
			 * between in place and not. */
			int way = (t / 3 + o) % 4;

			reductions(&TYPES[t], o, comms[(t + o) % 3], way & 1, way >> 1);
		}
	}
	for (int c = 0; c < 3; c++) {
		moves(comms[c], c % 2);
		moves(comms[c], 1 - c % 2);
		MPI_Barrier(comms[c]);
	}
	others();
	MPI_Comm_free(&halves);
	MPI_Comm_free(&turned);
	if (rank == 0)
		printf("check_collectives: %d checks right\n", checks);
	/* mpich_end.c */
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
