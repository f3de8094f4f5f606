/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that disagree. To be run on every rank, at least 2, in virtual time, where times do not
 * depend on the machine:
 *
 *	check_mismatch MODE...
 *
 * In each mode rank 1 differs from the others. Every rank exits with 0 if it got the expected
 * errors, soon enough, with a text that names rank 1.
 *
 *	count       rank 1 all-reduces 2000 elements, the others 1000
 *	longer      rank 1 all-reduces 4 MiB, the others 3 MiB: the messages differ late
 *	zero        rank 1 all-reduces nothing, the others 1000
 *	type        rank 1 all-reduces int32, the others float32
 *	op          rank 1 asks for the maximum, the others for the sum
 *	calls       rank 1 closes after one all-reduce, the others call another
 *	ranks       rank 1 was started with one rank more
 *	twice       rank 1 claims to be rank 0's other neighbour, the last rank (at least 3 ranks):
 *	            the second of the two is turned away, and the others time out waiting for a
 *	            rank 1
 *	window      rank 1 has another window
 *	fixed       rank 1 wants float32 as fixed point
 *	congestion  rank 1 has congestion control
 *	channels    rank 1 wants two channels
 *	exit        rank 1 exits without closing
 *	kind        rank 1 broadcasts int32, the others sum the same count: only the mark of the
 *	            messages differs
 *	root        rank 1 has a different root
 *	apart       rank 1 adds float64, which needs no aggregator, the others float32
 *	blocks      rank 1 gathers blocks of another size
 *	exit64      rank 1 exits, the others add float64
 *	late64      rank 1 comes to a sum of float64 later than the others wait
 *	bad         rank 1 first asks for a type and an operation that do not exist: the others do
 *	            not notice
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "ina.h"

#define ELEMENTS_MAX (1u << 20)

/* A stall of 1 s until ranks talk to each other, and 5 s for the reports of all ranks. */
#define SOON_S 6.5
#define LATE_S 8.5 /* after 2 s */

static float send[ELEMENTS_MAX];
static float recv[ELEMENTS_MAX];

struct check {
	const char *mode;
	struct ina_options options;
	int rank;
	bool odd; /* this is rank 1 */
	float *send;
	float *recv;
};

static bool is(const struct check *check, const char *mode)
{
	return strcmp(check->mode, mode) == 0;
}

static int expect(const struct check *check, enum ina_status got, enum ina_status wanted,
                  const char *text, double since_s)
{
	double took_s = ina_now_s() - since_s;
	bool named = wanted == INA_OK || strstr(text, "rank 1") != NULL;
	bool fine = got == wanted && named && took_s < (is(check, "late64") ? LATE_S : SOON_S);

	printf("%s: %s: rank %d got %s after %.1f s: %s\n", fine ? "fine" : "WRONG", check->mode,
	       check->rank, ina_status_name(got), took_s, text);
	return fine ? 0 : 1;
}

/* The modes that end in ina_open(). */
static int check_open(struct check *check)
{
	struct ina_options *options = &check->options;
	char why[INA_ERROR_SIZE];
	ina_comm *comm;
	double start_s = ina_now_s();
	enum ina_status status;

	if (check->odd && is(check, "ranks"))
		options->ranks++;
	if (check->odd && is(check, "window"))
		options->window = 4;
	if (check->odd && is(check, "congestion"))
		options->congestion_control = 1;
	if (check->odd && is(check, "channels"))
		options->channels = 2;
	if (check->odd && is(check, "fixed"))
		options->fixed_point = 1;
	if (is(check, "twice"))
		options->open_timeout_ms = 3000;
	if (check->odd && is(check, "twice"))
		options->rank = options->ranks - 1;
	status = ina_open(options, &comm, why, sizeof(why));
	if (is(check, "twice") && status == INA_ERR_MISMATCH)
		return expect(check, status, INA_ERR_MISMATCH,
		              strstr(why, "two processes") ? "two processes, rank 1 among them"
		                                           : why,
		              start_s);
	if (is(check, "twice"))
		return expect(check, status, INA_ERR_TIMEOUT, why, start_s);
	return expect(check, status, INA_ERR_MISMATCH, why, start_s);
}

static enum ina_status wanted_of(const struct check *check)
{
	if (is(check, "exit") || is(check, "exit64"))
		return INA_ERR_PEER;
	return is(check, "late64") ? INA_ERR_TIMEOUT : INA_ERR_MISMATCH;
}

/* The call of rank 1, which differs from the others' or is missing. */
static enum ina_status call(const struct check *check, ina_comm *comm, size_t count,
                            enum ina_type type, enum ina_op op)
{
	if (is(check, "kind") && check->odd)
		return ina_broadcast(comm, check->send, check->recv, count, INA_INT32, 0);
	if (is(check, "kind"))
		type = INA_INT32;
	if (is(check, "root"))
		return ina_reduce(comm, check->send, check->recv, count, type, op, check->odd);
	if (is(check, "blocks"))
		return ina_all_gather(comm, check->send, check->recv, count + 4 * check->odd, type);
	if ((is(check, "apart") && check->odd) || is(check, "exit64") || is(check, "late64")) {
		type = INA_FLOAT64;
		count = ELEMENTS_MAX / 2;
	}
	return ina_allreduce(comm, check->send, check->recv, count, type, op);
}

/* The modes that end in an all-reduce, after a successful one. */
static int check_call(const struct check *check, ina_comm *comm)
{
	size_t count = is(check, "longer") ? 3u << 18 : 1000;
	enum ina_type type = INA_FLOAT32;
	enum ina_op op = INA_SUM;
	enum ina_status wanted = wanted_of(check);
	double start_s = ina_now_s();
	enum ina_status status;

	if (check->odd && (is(check, "exit") || is(check, "exit64")))
		_exit(0);
	if (check->odd && is(check, "late64")) {
		sleep(9);
		start_s = ina_now_s();
	}
	if (check->odd && is(check, "calls")) {
		status = ina_close(comm);
		return expect(check, status, wanted, "rank 1 closed", start_s);
	}
	if (check->odd && is(check, "count"))
		count = 2000;
	if (check->odd && is(check, "longer"))
		count = 4u << 18;
	if (check->odd && is(check, "zero"))
		count = 0;
	if (check->odd && is(check, "type"))
		type = INA_INT32;
	if (check->odd && is(check, "op"))
		op = INA_MAX;
	status = call(check, comm, count, type, op);
	if (expect(check, status, wanted, ina_error(comm), start_s) != 0)
		return 1;
	if ((is(check, "op") && !strstr(ina_error(comm), "operation max")) ||
	    (is(check, "kind") && !strstr(ina_error(comm), "called broadcast 2 with 1000 int32")) ||
	    (is(check, "root") && !strstr(ina_error(comm), "at root 1")))
		return 1;
	/* The communicator is dead, and reports it again; and closing does not hang. */
	status = ina_allreduce(comm, check->send, check->recv, count, type, INA_SUM);
	if (expect(check, status, wanted, ina_error(comm), ina_now_s()) != 0)
		return 1;
	start_s = ina_now_s();
	return expect(check, ina_close(comm), INA_OK, "closed", start_s);
}

static int check_bad(const struct check *check, ina_comm *comm)
{
	double start_s = ina_now_s();
	enum ina_status status;

	if (check->odd) {
		status = ina_allreduce(comm, check->send, check->recv, 10, (enum ina_type)99,
		                       INA_SUM);
		if (status != INA_ERR_ARGUMENT || !strstr(ina_error(comm), "type 99"))
			return 1;
		status = ina_allreduce(comm, check->send, check->recv, 10, INA_INT32,
		                       (enum ina_op)99);
		if (status != INA_ERR_ARGUMENT || !strstr(ina_error(comm), "operation 99"))
			return 1;
		status = ina_allreduce(comm, check->send, check->send + 1, 10, INA_INT32, INA_SUM);
		if (status != INA_ERR_ARGUMENT || !strstr(ina_error(comm), "overlap"))
			return 1;
	}
	status = ina_allreduce(comm, check->send, check->recv, 1000, INA_FLOAT32, INA_SUM);
	if (expect(check, status, INA_OK, "rank 1 was refused, and continued", start_s) != 0)
		return 1;
	return ina_close(comm) == INA_OK ? 0 : 1;
}

/* One mode, in a separate process. */
static int run_mode(const char *mode, int number, int rank, int ranks)
{
	struct check check = {.mode = mode, .rank = rank, .odd = rank == 1};
	char why[INA_ERROR_SIZE];
	char root[64];
	enum ina_status status;
	ina_comm *comm;

	/* Each mode uses a different port, so an early rank does not meet a rank that is still in
	 * the mode before. */
	snprintf(root, sizeof(root), "%s:%d", getenv("INA_ROOT"), INA_DEFAULT_PORT + number);
	ina_options_init(&check.options);
	check.options.rank = rank;
	check.options.ranks = ranks;
	check.options.root = root;
	check.options.open_timeout_ms = 20000;
	if (is(&check, "late64"))
		check.options.timeout_ms = 2000;
	check.send = send;
	check.recv = recv;
	if (is(&check, "ranks") || is(&check, "twice") || is(&check, "window") ||
	    is(&check, "fixed") || is(&check, "congestion") || is(&check, "channels"))
		return check_open(&check);
	if (ina_open(&check.options, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_mismatch: ina_open: %s\n", why);
		return 2;
	}
	status = ina_allreduce(comm, check.send, check.recv, 1000, INA_FLOAT32, INA_SUM);
	/*
	 * When this rank begins the second call, the others may have finished, and rank 1 may have
	 * ended or be in another call. A call without the aggregator still finishes the first one.
	 */
	if (status == wanted_of(&check) && !is(&check, "bad"))
		return expect(&check, status, wanted_of(&check), ina_error(comm), ina_now_s());
	if (status != INA_OK) {
		fprintf(stderr, "check_mismatch: the first all-reduce: %s\n", ina_error(comm));
		return 2;
	}
	return is(&check, "bad") ? check_bad(&check, comm) : check_call(&check, comm);
}

int main(int argc, char **argv)
{
	const char *rank = getenv("INA_RANK");
	const char *ranks = getenv("INA_RANKS");
	int worst = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2 || !rank || !ranks || !getenv("INA_ROOT")) {
		fprintf(stderr, "check_mismatch: needs modes, and to be run by ina-lab\n");
		return 2;
	}
	for (int m = 1; m < argc; m++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0)
			exit(run_mode(argv[m], m, atoi(rank), atoi(ranks)));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
			return 2;
		if (WEXITSTATUS(status) > worst)
			worst = WEXITSTATUS(status);
	}
	return worst;
}
