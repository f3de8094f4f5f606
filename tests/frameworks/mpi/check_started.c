/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MPI program that checks when calls return and in which state, rather than sums. It has several
 * started calls at the same time in all forms of waiting, together with messages; ranks that wait
 * for each other in MPI while libina waits; communicators that are made and freed; and threads. The
 * argument `errors`, which needs the interposer, checks calls that do not match. With `killed`, a
 * rank is killed between calls. Four ranks.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 5000
#define LARGE (1 << 20) /* floats: a message that waits for its receiver */
#define SETS  6

static int rank, ranks;

static void expect(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "check_started: rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static float in[SETS][COUNT], out[SETS][COUNT];

static void fill(void)
{
	for (int s = 0; s < SETS; s++) {
		for (int i = 0; i < COUNT; i++) {
			in[s][i] = (float)(rank + s + i % 100);
			out[s][i] = -1;
		}
	}
}

static void expect_sum(int s, const char *what)
{
	for (int i = 0; i < COUNT; i++)
		expect(out[s][i] == (float)(ranks * (ranks - 1) / 2 + ranks * (s + i % 100)), what);
}

static void start(int s, MPI_Comm comm, MPI_Request *request)
{
	MPI_Iallreduce(in[s], out[s], COUNT, MPI_FLOAT, MPI_SUM, comm, request);
}

/* Both communicators are new: started calls open them, in different orders on different ranks. */
static void outstanding(void)
{
	MPI_Comm comms[2];
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;

	MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
	MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
	for (int form = 0; form < 7; form++) {
		MPI_Request requests[SETS + 2];
		MPI_Status status;
		int got = -1, done = 0, which, indices[SETS + 2], left = SETS + 2;

		fill();
		MPI_Irecv(&got, 1, MPI_INT, from, form, MPI_COMM_WORLD, &requests[SETS]);
		for (int s = 0; s < SETS; s++) {
			int mine = (rank + s) % 2; /* two sets, each for one communicator */

			start(s / 2 * 2 + mine, comms[mine], &requests[s / 2 * 2 + mine]);
		}
		MPI_Isend(&rank, 1, MPI_INT, to, form, MPI_COMM_WORLD, &requests[SETS + 1]);
		switch (form) {
		case 0:
			MPI_Waitall(SETS + 2, requests, MPI_STATUSES_IGNORE);
			break;
		case 1:
			for (; left > 0; left--)
				MPI_Waitany(SETS + 2, requests, &which, &status);
			break;
		case 2:
			for (; left > 0; left -= which)
				MPI_Waitsome(SETS + 2, requests, &which, indices,
				             MPI_STATUSES_IGNORE);
			break;
		case 3:
			while (!done)
				MPI_Testall(SETS + 2, requests, &done, MPI_STATUSES_IGNORE);
			break;
		case 4:
			for (; left > 0; left -= done)
				MPI_Testany(SETS + 2, requests, &which, &done, &status);
			break;
		case 5:
			for (; left > 0; left -= which)
				MPI_Testsome(SETS + 2, requests, &which, indices,
				             MPI_STATUSES_IGNORE);
			break;
		default:
			for (int i = SETS + 1; i >= 0; i--) {
				for (done = 0; !done;)
					MPI_Request_get_status(requests[i], &done, &status);
				MPI_Wait(&requests[i], &status);
			}
		}
		for (int i = 0; i < SETS + 2; i++)
			expect(requests[i] == MPI_REQUEST_NULL,
			       "a request still exists after its end");
		expect(got == from, "a message concurrent with started calls is wrong");
		for (int s = 0; s < SETS; s++)
			expect_sum(s, "a started all-reduce is wrong");
	}
	/* A blocking call after started ones; a freed communicator. */
	MPI_Request requests[2];

	fill();
	start(0, comms[0], &requests[0]);
	MPI_Allreduce(in[2], out[2], COUNT, MPI_FLOAT, MPI_SUM, comms[0]);
	MPI_Barrier(comms[0]);
	expect_sum(2, "an all-reduce after a started one is wrong");
	start(3, comms[1], &requests[1]);
	MPI_Comm_free(&comms[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	expect_sum(0, "the first started one is wrong");
	expect_sum(3, "a started one whose communicator is freed is wrong");
	MPI_Comm_free(&comms[0]);
}

/* A started call returns whatever other ranks do, even the first one on its communicator. */
static void local_start(void)
{
	MPI_Comm comm;
	MPI_Request request;
	int token = 0;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (int again = 0; again < 2; again++) {
		fill();
		if (rank != 0)
			MPI_Recv(&token, 1, MPI_INT, rank - 1, 1, comm, MPI_STATUS_IGNORE);
		start(0, comm, &request);
		if (rank + 1 < ranks)
			MPI_Send(&token, 1, MPI_INT, rank + 1, 1, comm);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		expect_sum(0, "an all-reduce that ranks start one after the other is wrong");
	}
	MPI_Comm_free(&comm);
}

/* Rank 1 enters the collective only when MPI on rank 0 has sent the message that was begun before
 * it. */
static void messages_under_way(void)
{
	float *large = calloc(LARGE, sizeof(*large));
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Comm comm;

	for (int again = 0; again < 3; again++) {
		/* The first time while libina is being opened, the last while it is being
		 * closed. */
		fill();
		if (again == 0)
			MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		if (rank == 0)
			MPI_Isend(large, LARGE, MPI_FLOAT, 1, again, MPI_COMM_WORLD, &request);
		if (rank == 1)
			MPI_Recv(large, LARGE, MPI_FLOAT, 0, again, MPI_COMM_WORLD,
			         MPI_STATUS_IGNORE);
		if (again == 2)
			MPI_Comm_free(&comm);
		else
			MPI_Allreduce(in[0], out[0], COUNT, MPI_FLOAT, MPI_SUM, comm);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		if (again < 2)
			expect_sum(0, "an all-reduce concurrent with a message is wrong");
	}
	free(large);
}

static void come_and_go(void)
{
	for (int again = 0; again < 3; again++) {
		MPI_Comm comm;

		MPI_Comm_split(MPI_COMM_WORLD, 0, again % 2 ? -rank : rank, &comm);
		fill();
		MPI_Allreduce(in[1], out[1], COUNT, MPI_FLOAT, MPI_SUM, comm);
		expect_sum(1, "an all-reduce on a new communicator is wrong");
		MPI_Comm_free(&comm);
	}
}

struct work {
	MPI_Comm comm;
	int s;
};

static void *reduce_often(void *context)
{
	const struct work *work = context;

	for (int again = 0; again < 10; again++) {
		MPI_Request request;

		if (again % 3 == 2) {
			start(work->s, work->comm, &request);
			MPI_Wait(&request, MPI_STATUS_IGNORE);
		} else {
			MPI_Allreduce(in[work->s], out[work->s], COUNT, MPI_FLOAT, MPI_SUM,
			              work->comm);
		}
		expect_sum(work->s, "an all-reduce of one of several threads is wrong");
		memset(out[work->s], 0, sizeof(out[work->s]));
	}
	return NULL;
}

static void threads(void)
{
	struct work works[3];
	pthread_t ids[3];

	fill();
	for (int t = 0; t < 3; t++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &works[t].comm);
		works[t].s = t;
	}
	for (int t = 0; t < 3; t++)
		pthread_create(&ids[t], NULL, reduce_often, &works[t]);
	for (int t = 0; t < 3; t++)
		pthread_join(ids[t], NULL);
	for (int t = 0; t < 3; t++)
		MPI_Comm_free(&works[t].comm);
}

static int handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
	handled++;
}

static void expect_text(int code)
{
	char text[MPI_MAX_ERROR_STRING];
	int length;

	expect(code != MPI_SUCCESS, "calls that do not match are a success");
	MPI_Error_string(code, text, &length);
	expect(strstr(text, "libina") != NULL, text);
	if (rank == 0)
		printf("check_started: %s\n", text);
}

/* MPI itself reports it, with its own error class. */
static void expect_root_refused(int root)
{
	int code, class;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	code = MPI_Reduce(in[0], out[0], COUNT, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
	MPI_Error_class(code, &class);
	expect(class == MPI_ERR_ROOT, "a root that is no rank is not MPI_ERR_ROOT");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void errors(void)
{
	MPI_Errhandler handler;
	MPI_Request request;
	MPI_Comm comm;

	fill();
	expect_root_refused(ranks);
	expect_root_refused(-7);
	MPI_Comm_create_errhandler(handle, &handler);
	for (int own = 0; own < 2; own++) {
		for (int started = 0; started < 2; started++) {
			int code, count = rank == 2 ? COUNT : COUNT - 1, before = handled;

			MPI_Comm_dup(MPI_COMM_WORLD, &comm);
			MPI_Comm_set_errhandler(comm, own ? handler : MPI_ERRORS_RETURN);
			if (started) {
				MPI_Iallreduce(in[0], out[0], count, MPI_FLOAT, MPI_SUM, comm,
				               &request);
				code = MPI_Wait(&request, MPI_STATUS_IGNORE);
			} else {
				code = MPI_Allreduce(in[0], out[0], count, MPI_FLOAT, MPI_SUM,
				                     comm);
			}
			expect_text(code);
			expect(handled == before + own, "the error handler was not called once");
			MPI_Comm_free(&comm);
		}
	}
	MPI_Errhandler_free(&handler);
}

/* The launcher ends the rest of the job then. */
static void killed(void)
{
	for (;;) {
		fill();
		MPI_Allreduce(in[0], out[0], COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		expect_sum(0, "an all-reduce before the end is wrong");
		if (rank == 1)
			raise(SIGKILL);
	}
}

int main(int argc, char **argv)
{
	int provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	expect(provided == MPI_THREAD_MULTIPLE, "this MPI has no threads");
	if (argc > 1 && strcmp(argv[1], "killed") == 0)
		killed();
	outstanding();
	local_start();
	messages_under_way();
	come_and_go();
	threads();
	if (argc > 1 && strcmp(argv[1], "errors") == 0)
		errors();
	if (rank == 0)
		printf("check_started: all right\n");
	/* mpich_end.c */
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
