/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that are interrupted. To be run on every rank, at least 3, in virtual time, where
 * seconds do not depend on the machine:
 *
 *	check_interrupted
 *
 * First, signals come all the time to a program that has a handler for them. Then rank 1 is stopped
 * (SIGSTOP, as by a debugger or a job control shell) for longer than peer_timeout_ms, and is
 * continued: all ranks continue. At last it is stopped for longer than an all-reduce may take: the
 * others name rank 1 as the rank that they wait for, at the agreed time, and rank 1 learns of it
 * when it is back. Exits with 0 if all of this held.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "ina.h"

#define COUNT      20000u
#define CALLS      30
#define STOPPED    1   /* the rank that is stopped */
#define LONG_S     6.0 /* more than peer_timeout_ms by default */
#define TIMEOUT_S  2.0
#define GATHER_S   5.0 /* the time in which a late rank may still report its call */
#define TOO_LONG_S 9.0

static int32_t send[COUNT];
static int32_t recv[COUNT];
static volatile sig_atomic_t signals;

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "check_interrupted: %s: %s\n", what, why);
	return -1;
}

/* Sleeps for the whole time in spite of signals. */
static void sleep_s(double seconds)
{
	struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

	while (nanosleep(&left, &left) != 0)
		continue;
}

static ina_comm *open_comm(int timeout_ms)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	ina_comm *comm;

	ina_options_init(&options);
	options.algorithm = INA_ALGORITHM_INA;
	options.ack_timeout = 17; /* 0.5 s: nothing is lost here, and each retransmission takes
	                           * time */
	if (timeout_ms)
		options.timeout_ms = timeout_ms;
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK)
		complain("ina_open", why);
	return comm;
}

/* One all-reduce, blocking, or started and waited for, and the check of its sum. */
static enum ina_status reduce(ina_comm *comm, int call)
{
	int ranks = ina_comm_ranks(comm);
	ina_request *request;
	enum ina_status status;

	for (unsigned int i = 0; i < COUNT; i++)
		send[i] = (ina_comm_rank(comm) + 1) * (int32_t)i + call;
	if (call % 2) {
		status = ina_allreduce(comm, send, recv, COUNT, INA_INT32, INA_SUM);
	} else {
		status = ina_allreduce_start(comm, send, recv, COUNT, INA_INT32, INA_SUM, &request);
		if (status == INA_OK)
			status = ina_wait(request);
	}
	for (unsigned int i = 0; status == INA_OK && i < COUNT; i++) {
		if (recv[i] != ranks * (ranks + 1) / 2 * (int32_t)i + ranks * call) {
			complain("all-reduce", "a wrong sum");
			exit(1);
		}
	}
	return status;
}

/* Closes it; checks that no call failed and that the aggregator made every sum. */
static int close_comm(ina_comm *comm)
{
	struct ina_stats stats;

	ina_comm_stats(comm, &stats, sizeof(stats));
	if (stats.fallbacks || stats.messages_ring)
		return complain("stats", "the aggregator was lost");
	return ina_close(comm) == INA_OK ? 0 : complain("ina_close", "it failed");
}

static void count_signal(int number)
{
	(void)number;
	signals++;
}

/* In each call the others wait for one rank, while the signals come. */
static int check_signals(void)
{
	struct sigaction action = {.sa_handler = count_signal}; /* calls end with EINTR */
	struct itimerval often = {{0, 500}, {0, 500}};
	struct itimerval never = {{0, 0}, {0, 0}};
	ina_comm *comm;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	comm = open_comm(0);
	if (!comm)
		return -1;
	for (int call = 0; call < CALLS; call++) {
		if (call % ina_comm_ranks(comm) == ina_comm_rank(comm))
			sleep_s(0.002);
		if (reduce(comm, call) != INA_OK)
			return complain("under signals", ina_error(comm));
	}
	if (close_comm(comm) != 0)
		return -1;
	setitimer(ITIMER_REAL, &never, NULL);
	return signals >= 2 * CALLS ? 0 : complain("signals", "there were too few");
}

/* A separate process, made before there is a communicator. When asked, it stops this process for
 * `seconds`. */
static int start_stopper(double seconds, pid_t *pid)
{
	pid_t us = getpid();
	int ends[2];
	char word;

	if (pipe(ends) != 0 || (*pid = fork()) < 0)
		return -1;
	if (*pid > 0) {
		close(ends[0]);
		return ends[1];
	}
	close(ends[1]);
	if (read(ends[0], &word, 1) == 1) {
		kill(us, SIGSTOP);
		sleep_s(seconds);
		kill(us, SIGCONT);
	}
	_exit(0);
}

/* All-reduces until one fails, or all have completed. *longest_s: the longest call. */
static enum ina_status reduce_while_stopped(ina_comm *comm, int stopper, double *longest_s)
{
	enum ina_status status = INA_OK;

	*longest_s = 0;
	for (int call = 0; status == INA_OK && call < CALLS; call++) {
		double start_s = ina_now_s();

		if (call == CALLS / 2 && ina_comm_rank(comm) == STOPPED &&
		    write(stopper, "!", 1) != 1)
			exit(complain("write", "the stopper has exited"));
		status = reduce(comm, call);
		if (ina_now_s() - start_s > *longest_s)
			*longest_s = ina_now_s() - start_s;
	}
	return status;
}

/* The caller closes *comm; NULL: it could not be opened. */
static enum ina_status stop_one(double seconds, int timeout_ms, ina_comm **comm, double *longest_s)
{
	enum ina_status status;
	pid_t pid;
	int stopper = start_stopper(seconds, &pid);

	*comm = open_comm(timeout_ms);
	if (stopper < 0 || !*comm)
		return INA_ERR_SYSTEM;
	status = reduce_while_stopped(*comm, stopper, longest_s);
	close(stopper);
	waitpid(pid, NULL, 0);
	return status;
}

static int check_stopped(void)
{
	double longest_s;
	ina_comm *comm;

	if (stop_one(LONG_S, 0, &comm, &longest_s) != INA_OK)
		return complain("rank 1 was stopped", comm ? ina_error(comm) : "");
	if (longest_s < LONG_S - 1 || longest_s > LONG_S + 1) {
		fprintf(stderr, "check_interrupted: the longest call took %.2f s\n", longest_s);
		return -1;
	}
	return close_comm(comm);
}

static int check_stopped_too_long(void)
{
	double longest_s;
	ina_comm *comm;
	enum ina_status status = stop_one(TOO_LONG_S, (int)(TIMEOUT_S * 1000), &comm, &longest_s);
	double limit_s = TIMEOUT_S + GATHER_S + 0.5;

	if (!comm)
		return -1;
	if (ina_comm_rank(comm) == STOPPED)
		limit_s += TOO_LONG_S;
	printf("rank %d after %.2f s: %s: %s\n", ina_comm_rank(comm), longest_s,
	       ina_status_name(status), ina_error(comm));
	if (status == INA_OK || longest_s > limit_s)
		return complain("rank 1 was stopped for too long", "no error, or too late");
	if (ina_comm_rank(comm) != STOPPED &&
	    (status != INA_ERR_TIMEOUT || !strstr(ina_error(comm), "rank 1")))
		return complain("rank 1 was stopped for too long", "another error");
	ina_close(comm);
	return 0;
}

int main(void)
{
	ina_comm *comm;

	if (check_signals() != 0 || check_stopped() != 0 || check_stopped_too_long() != 0)
		return 1;
	/* Afterwards everything works again. */
	comm = open_comm(0);
	return !comm || reduce(comm, 0) != INA_OK || close_comm(comm) != 0;
}
