/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MPI program that checks the results of calls if libina cannot be opened, and if the ranks
 * disagree on which calls use libina:
 *
 *	check_opening left         sums are right, by libina or by MPI; prints the first one's time
 *	check_opening read         broadcasts of memory that is mapped from a file, read-only
 *	check_opening differ       calls on either side of INA_MPI_THRESHOLD; ends by MPI_Abort()
 *	check_opening differ open  the same with libina already open
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COUNT 5000
#define CALLS 24

/* Numbers of integers: below and above the default threshold. */
#define BELOW 4000
#define ABOVE 4200

#define LATE_S    5  /* longer than a rank waits before it asks the others */
#define SECONDS   15 /* limit for an error: a few seconds, and more on a busy machine */
#define FOR_EVER  60
#define UNTOUCHED (-1)

static int rank, ranks;

static void expect(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "check_opening: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 3);
}

static void expect_sums(const float *got, int call, const char *what)
{
	for (int i = 0; i < COUNT; i++)
		expect(got[i] == (float)(ranks * (ranks - 1) / 2 + ranks * (call + i % 100)), what);
}

/*
 * Blocking and started calls, small and large ones, in turn, while a rank is late now and then. So
 * ranks learn in different calls whether libina was opened. Started calls end in rotated order.
 */
static void left(void)
{
	static float in[CALLS][COUNT], out[CALLS][COUNT];
	MPI_Request requests[CALLS];
	double begin_s = MPI_Wtime();

	for (int call = 0; call < CALLS; call++) {
		int small = rank, sum = 0;

		for (int i = 0; i < COUNT; i++)
			in[call][i] = (float)(rank + call + i % 100);
		if (call % 5 == rank)
			usleep(100 * 1000);
		requests[call] = MPI_REQUEST_NULL;
		if (call % 4 < 2)
			MPI_Iallreduce(in[call], out[call], COUNT, MPI_FLOAT, MPI_SUM,
			               MPI_COMM_WORLD, &requests[call]);
		else
			MPI_Allreduce(in[call], out[call], COUNT, MPI_FLOAT, MPI_SUM,
			              MPI_COMM_WORLD);
		if (call == 2 && rank == 0)
			printf("check_opening: the first took %.1f s\n", MPI_Wtime() - begin_s);
		MPI_Allreduce(&small, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
		expect(sum == ranks * (ranks - 1) / 2, "a small sum is wrong");
	}
	for (int call = CALLS - 1; call >= 0; call--) {
		MPI_Wait(&requests[call], MPI_STATUS_IGNORE);
		expect_sums(out[call], call, "a sum is wrong");
	}
}

static int number(int i)
{
	return i * 7 + 3;
}

/* The file belongs to this rank alone. */
static int *map(const char *name, int count)
{
	size_t bytes = (size_t)count * sizeof(int);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	int *numbers = malloc(bytes);

	for (int i = 0; i < count; i++)
		numbers[i] = number(i);
	expect(write(fd, numbers, bytes) == (ssize_t)bytes, "the file cannot be written");
	free(numbers);
	numbers = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	expect(numbers != MAP_FAILED, "the file cannot be mapped");
	close(fd);
	unlink(name);
	return numbers;
}

static void read_only(void)
{
	static const int counts[] = {64, 5000, 100000};

	for (int c = 0; c < 3; c++) {
		for (int root = 0; root < ranks; root++) {
			for (int started = 0; started < 2; started++) {
				size_t bytes = (size_t)counts[c] * sizeof(int);
				int *numbers = calloc(1, bytes);
				int *memory = numbers;
				MPI_Request request;

				if (rank == root)
					memory = map("/dev/shm/check_opening", counts[c]);
				if (started) {
					MPI_Ibcast(memory, counts[c], MPI_INT, root, MPI_COMM_WORLD,
					           &request);
					MPI_Wait(&request, MPI_STATUS_IGNORE);
				} else {
					MPI_Bcast(memory, counts[c], MPI_INT, root, MPI_COMM_WORLD);
				}
				for (int i = 0; i < counts[c]; i++)
					expect(memory[i] == number(i), "a broadcast is wrong");
				if (rank == root)
					munmap(memory, bytes);
				free(numbers);
			}
		}
	}
}

static int numbers[ABOVE];

/* Returns the code of a broadcast, and checks that it has taken at most a few seconds. */
static int broadcast(int count, int root, MPI_Comm comm)
{
	double begin_s = MPI_Wtime();
	int code;

	for (int i = 0; i < ABOVE; i++)
		numbers[i] = rank == root ? number(i) : UNTOUCHED;
	code = MPI_Bcast(numbers, count, MPI_INT, root, comm);
	expect(MPI_Wtime() - begin_s < SECONDS, "a broadcast took too long");
	if (code == MPI_SUCCESS) {
		for (int i = 0; i < count; i++)
			expect(numbers[i] == number(i), "a success with wrong data");
	}
	return code;
}

static void expect_error(int code, const char *what)
{
	char text[MPI_MAX_ERROR_STRING];
	int length;

	expect(code != MPI_SUCCESS, what);
	MPI_Error_string(code, text, &length);
	expect(strstr(text, "libina") != NULL, text);
	if (strstr(text, "INA_MPI_THRESHOLD") || strstr(text, "used MPI"))
		printf("check_opening: rank %d: %s\n", rank, text);
	fflush(stdout);
}

/* A communicator for which libina is open, or not yet; a late rank does it no harm. */
static MPI_Comm make(int is_open)
{
	MPI_Comm comm;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	for (int call = 0; is_open && call < 2; call++) {
		if (rank == 1)
			sleep(LATE_S);
		expect(broadcast(ABOVE, 0, comm) == MPI_SUCCESS, "a broadcast failed");
	}
	return comm;
}

/*
 * Broadcasts `count` numbers from `root`, while the ranks disagree about `count`. If this rank then
 * lacks data, its broadcast must fail; otherwise it may succeed. The next call must fail on every
 * rank.
 */
static void differ_from(int root, int count, int lacks_data, int is_open)
{
	MPI_Comm comm = make(is_open);
	int code = broadcast(count, root, comm);

	if (lacks_data)
		expect_error(code, "a broadcast is a success, though the root sends less");
	else
		sleep(LATE_S);
	expect_error(MPI_Barrier(comm), "a barrier is a success where calls differed");
	/*
	 * The root's message by MPI was not received. MPICH may use the number of a freed
	 * communicator again, and the message would then match a call of the next communicator.
	 */
}

static void differ(int is_open)
{
	MPI_Comm comm;
	int code;

	differ_from(1, rank == 1 ? BELOW : ABOVE, rank != 1, is_open);
	differ_from(0, rank == 1 ? ABOVE : BELOW, rank == 1, is_open);

	/* Rank 1 waits for the root in MPI, where no error can reach it. */
	comm = make(is_open);
	MPI_Barrier(MPI_COMM_WORLD);
	code = broadcast(rank == 1 ? BELOW : ABOVE, 0, comm);
	expect_error(code, "a success where the root sends by libina");
	sleep(FOR_EVER);
	expect(0, "the rank in MPI has not ended the job");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (strcmp(what, "left") == 0)
		left();
	else if (strcmp(what, "read") == 0)
		read_only();
	else if (strcmp(what, "differ") == 0)
		differ(argc > 2);
	else
		expect(0, "usage: check_opening left|read|differ [open]");
	if (rank == 0)
		printf("check_opening: %s: all right\n", what);
	fflush(stdout);
	/* mpich_end.c */
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
