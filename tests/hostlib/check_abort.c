/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library thread that makes progress, and a thread that aborts. To be run on every rank, at least
 * 3, in virtual time:
 *
 *	check_abort MODE...
 *
 *	wait     another thread of rank 1 aborts while rank 1 waits for rank 2, which comes later
 *	float64  the same in a call among the hosts
 *	outside  rank 1 has a thread of the library, is outside of it, and aborts; the others wait
 *	close    the same, while the others are in ina_close()
 *	opening  rank 1 aborts while all ranks open a communicator, sooner and later
 *	alone    a request completes while its program sleeps, and so do many of several threads
 *
 * Exits with 0 if every rank got INA_ERR_ABORTED soon, with a text that names rank 1.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ina.h"

#define COUNT   (1u << 17)
#define ABORT_S 1
#define LATE_S  4
#define SOON_S  1.5 /* after that, ranks look once a second */
#define THREADS 4

/*
 * Mode opening. In virtual time a program takes no time, and the ranks open within 60 us. If rank 1
 * has ended before they met, the others wait for OPEN_MS for another process in its place.
 */
#define OPENINGS     20
#define OPENING_STEP 3 /* us */
#define OPEN_MS      2000
#define SLOT_S       8

static double send[COUNT];
static double recv[COUNT];
static const char *mode;
static int rank;
static ina_comm *comm;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool is(const char *name)
{
	return strcmp(mode, name) == 0;
}

static int expect(enum ina_status got, const char *text, double due_s, double since_s)
{
	double took_s = now_s() - since_s;
	bool fine = got == INA_ERR_ABORTED && strcmp(text, "rank 1 aborted: enough") == 0 &&
	            took_s < due_s;

	printf("%s: %s: rank %d got %s after %.1f s: %s\n", fine ? "fine" : "WRONG", mode, rank,
	       ina_status_name(got), took_s, text);
	return fine ? 0 : 1;
}

static void *abort_later(void *unused)
{
	sleep(ABORT_S);
	ina_abort(comm, "enough");
	return unused;
}

static enum ina_status call(void)
{
	if (is("float64"))
		return ina_allreduce(comm, send, recv, COUNT, INA_FLOAT64, INA_SUM);
	return ina_allreduce(comm, send, recv, COUNT, INA_FLOAT32, INA_SUM);
}

/* For the modes that end in an error. */
static int check_end(void)
{
	double start_s = now_s();
	pthread_t thread;
	enum ina_status status;
	int failed;

	if (is("close") && rank != 1) {
		status = ina_close(comm);
		return expect(status, status == INA_ERR_ABORTED ? "rank 1 aborted: enough" : "",
		              ABORT_S + SOON_S, start_s);
	}
	if (rank == 1 && pthread_create(&thread, NULL, abort_later, NULL) != 0)
		return 1;
	if ((rank == 2 && !is("close")) || (rank == 1 && (is("outside") || is("close")))) {
		sleep(LATE_S);
		start_s = now_s();
	}
	status = call();
	failed = expect(status, ina_error(comm), ABORT_S + SOON_S, start_s);
	if (rank == 1)
		pthread_join(thread, NULL);
	start_s = now_s();
	if (ina_close(comm) != INA_OK || now_s() - start_s > SOON_S) {
		printf("WRONG: %s: rank %d did not close immediately\n", mode, rank);
		failed = 1;
	}
	return failed;
}

/* Each thread waits for one request after the other; all threads wait for the same request at the
 * same time. */
static void *wait_for_all(void *context)
{
	ina_request **requests = context;
	enum ina_status status = INA_OK;

	for (int i = 0; i < 8; i++)
		status = status == INA_OK ? ina_wait(requests[i]) : status;
	return status == INA_OK ? NULL : context;
}

static int check_alone(void)
{
	static int32_t values[THREADS][8];
	ina_request *requests[THREADS][8];
	ina_request *request;
	pthread_t threads[THREADS];
	int failed = 0;
	int done = 0;

	if (ina_allreduce_start(comm, send, recv, COUNT, INA_FLOAT64, INA_SUM, &request) != INA_OK)
		return 1;
	sleep(2);
	if (ina_test(request, &done) != INA_OK || !done) {
		printf("WRONG: alone: rank %d: no rank continued with it\n", rank);
		return 1;
	}
	for (int i = 0; i < 8 * THREADS; i++) {
		int32_t *value = &values[i % THREADS][i / THREADS];

		*value = i;
		failed |= ina_allreduce_start(comm, value, value, 1, INA_INT32, INA_MAX,
		                              &requests[i % THREADS][i / THREADS]) != INA_OK;
	}
	for (int t = 0; t < THREADS && !failed; t++)
		failed |= pthread_create(&threads[t], NULL, wait_for_all, requests[t]) != 0;
	for (int t = 0; t < THREADS && !failed; t++) {
		void *result;

		failed |= pthread_join(threads[t], &result) != 0 || result;
	}
	for (int i = 0; i < 8 * THREADS; i++)
		failed |= values[i % THREADS][i / THREADS] != i;
	return failed | (ina_close(comm) != INA_OK);
}

/* All hosts have the same clock, so all ranks begin at the same time. */
static void await_slot(void)
{
	double next_s = ((double)(long)(now_s() / SLOT_S) + 1) * SLOT_S;

	usleep((useconds_t)((next_s - now_s()) * 1e6));
}

/*
 * Opens, and aborts at rank 1 after a while. All ranks get an error in time, at each stage of the
 * opening. If the communicator is open by then, the next call gets it.
 */
static int abort_opening(const struct ina_options *options, int number, bool *stopped)
{
	enum ina_status status;
	ina_request *request;
	double start_s;
	int failed = 0;

	await_slot();
	start_s = now_s();
	if (ina_open_start(options, &comm, &request) != INA_OK)
		return 1;
	if (rank == 1) {
		usleep((useconds_t)(number < OPENINGS - 1 ? number * OPENING_STEP : 1000000));
		ina_abort(comm, "enough");
	}
	status = ina_wait(request);
	*stopped = status != INA_OK;
	if (status == INA_OK)
		status = ina_barrier(comm);
	if (status == INA_OK || now_s() - start_s > OPEN_MS / 1e3 + SOON_S ||
	    (rank == 1 && (status != INA_ERR_ABORTED ||
	                   strcmp(ina_error(comm), "rank 1 aborted: enough") != 0))) {
		printf("WRONG: opening %d: rank %d got %s after %.3f s: %s\n", number, rank,
		       ina_status_name(status), now_s() - start_s, ina_error(comm));
		failed = 1;
	}
	start_s = now_s();
	return ina_close(comm) != INA_OK || now_s() - start_s > SOON_S || failed;
}

static int check_openings(struct ina_options *options)
{
	int failed = 0;
	int count = 0;

	options->open_timeout_ms = OPEN_MS;
	prctl(PR_SET_TIMERSLACK, 1); /* wake after the time given, and no later */
	for (int i = 0; i < OPENINGS; i++) {
		char root[64];
		bool stopped = true;

		snprintf(root, sizeof(root), "%s:%d", getenv("INA_ROOT"),
		         INA_DEFAULT_PORT + 100 + i);
		options->root = root;
		failed |= abort_opening(options, i, &stopped);
		count += stopped;
	}
	printf("%s: opening: rank %d: %d of %d were stopped\n",
	       count > 0 && count < OPENINGS ? "fine" : "WRONG", rank, count, OPENINGS);
	return failed || count == 0 || count == OPENINGS;
}

/* One mode, in a separate process. */
static int run_mode(int number, int ranks)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	char root[64];

	snprintf(root, sizeof(root), "%s:%d", getenv("INA_ROOT"), INA_DEFAULT_PORT + number);
	ina_options_init(&options);
	options.rank = rank;
	options.ranks = ranks;
	options.root = root;
	if (is("outside") || is("close") || is("alone"))
		options.progress_thread = 1;
	if (is("opening"))
		return check_openings(&options);
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_abort: %s\n", why);
		return 2;
	}
	return is("alone") ? check_alone() : check_end();
}

int main(int argc, char **argv)
{
	const char *ranks = getenv("INA_RANKS");
	int worst = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || !getenv("INA_RANK") || !ranks || !getenv("INA_ROOT")) {
		fprintf(stderr, "check_abort: needs modes, and to be run by ina-lab\n");
		return 2;
	}
	rank = atoi(getenv("INA_RANK"));
	for (int m = 1; m < argc; m++) {
		int status = -1;
		pid_t pid = fork();

		mode = argv[m];
		if (pid == 0)
			exit(run_mode(m, atoi(ranks)));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 2;
		if (WEXITSTATUS(status) > worst)
			worst = WEXITSTATUS(status);
	}
	return worst;
}
