/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank forks, as programs do to start helpers, and is killed while its child lives on. To be run
 * on every rank of a lab in virtual time:
 *
 *	check_fork VICTIM [busy [thread]]
 *
 * The victim exits with 0 if its child holds no resource of the communicator, gets errors from
 * its calls, and does not disturb the parent. Every other rank exits with 0 if it got INA_ERR_PEER
 * immediately.
 *
 * With `busy` no rank is killed: the victim forks again and again while another of its threads
 * all-reduces; with `thread` there is also a thread of the library. Each child soon finds that all
 * its calls are refused, whatever the other threads were doing at the fork.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "ina.h"

#define COUNT 65536u

/* How long the child outlives its parent, and the limit for "immediately". */
#define CHILD_S 60u
#define SOON_S  1.0

static int32_t send[COUNT];
static int32_t recv[COUNT];

static int wrong(const char *what, const char *text)
{
	printf("WRONG: %s: %s\n", what, text);
	return 1;
}

static ina_comm *open_comm(void)
{
	char why[INA_ERROR_SIZE];
	ina_comm *comm;

	if (ina_open(NULL, &comm, why, sizeof(why)) == INA_OK)
		return comm;
	wrong("ina_open", why);
	return NULL;
}

static int reduce(ina_comm *comm)
{
	int ranks = ina_comm_ranks(comm);

	for (size_t i = 0; i < COUNT; i++)
		send[i] = (ina_comm_rank(comm) + 1) * (int32_t)i;
	if (ina_allreduce(comm, send, recv, COUNT, INA_INT32, INA_SUM) != INA_OK)
		return wrong("ina_allreduce", ina_error(comm));
	for (size_t i = 0; i < COUNT; i++) {
		if (recv[i] != ranks * (ranks + 1) / 2 * (int32_t)i)
			return wrong("ina_allreduce", "the sum");
	}
	return 0;
}

/* Descriptors of sockets, RDMA and pipes that this process has not made itself. */
static int holds_descriptors(int own_pipe)
{
	DIR *folder = opendir("/proc/self/fd");
	int found = 0;

	for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
		char path[300];
		char target[100] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		if (atoi(entry->d_name) <= 2 || atoi(entry->d_name) == own_pipe ||
		    readlink(path, target, sizeof(target) - 1) < 0)
			continue;
		if (strstr(target, "socket:") || strstr(target, "infiniband") ||
		    strstr(target, "pipe:") || strstr(target, "anon_inode:"))
			found = wrong("the child holds", target);
	}
	closedir(folder);
	return found;
}

/* The device's queues, which keep the queue pairs alive. */
static int holds_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[400];
	int found = 0;

	while (fgets(line, sizeof(line), maps)) {
		if (strstr(line, "uverbs"))
			found = wrong("the child maps", line);
	}
	fclose(maps);
	return found;
}

static int refused(const char *call, enum ina_status status, const char *text)
{
	return status == INA_ERR_ARGUMENT && strstr(text, "fork") ? 0 : wrong(call, text);
}

static int be_child(ina_comm *comm, ina_request *request, int own_pipe)
{
	char why[INA_ERROR_SIZE];
	ina_comm *own;
	int failed = holds_descriptors(own_pipe) | holds_mappings();
	int done = 0;

	failed |= refused("the child's ina_allreduce",
	                  ina_allreduce(comm, send, recv, COUNT, INA_INT32, INA_SUM),
	                  ina_error(comm));
	failed |= refused("the child's ina_test", ina_test(request, &done), ina_error(comm));
	failed |= refused("the child's ina_register", ina_register(comm, send, sizeof(send)),
	                  ina_error(comm));
	failed |= refused("the child's ina_deregister", ina_deregister(comm, send, sizeof(send)),
	                  ina_error(comm));
	failed |= refused("the child's ina_open", ina_open(NULL, &own, why, sizeof(why)), why);
	if (ina_close(comm) != INA_ERR_ARGUMENT)
		failed |= wrong("the child's ina_close", "the status");
	return failed;
}

/* The rank itself, which a signal ends. */
static int be_victim(int verdict)
{
	ina_comm *comm = open_comm();
	ina_request *request;
	pid_t child;

	if (!comm || reduce(comm) != 0 ||
	    ina_allreduce_start(comm, send, recv, COUNT, INA_INT32, INA_SUM, &request) != INA_OK)
		return 1;
	child = fork();
	if (child == 0) {
		char failed = (char)be_child(comm, request, verdict);

		if (write(verdict, &failed, 1) != 1)
			_exit(1);
		sleep(CHILD_S);
		exit(0); /* including everything that libraries do at exit */
	}
	/* long enough for all steps of the child */
	sleep(1);
	if (ina_wait(request) != INA_OK || reduce(comm) != 0)
		return wrong("the parent, after fork()", ina_error(comm));
	kill(getpid(), SIGKILL);
	return 1;
}

static int watch_victim(void)
{
	int ends[2];
	int status;
	char failed = 1;
	char ignored;
	pid_t victim;

	if (pipe(ends) != 0)
		return 1;
	victim = fork();
	if (victim == 0) {
		close(ends[0]);
		_exit(be_victim(ends[1]));
	}
	close(ends[1]);
	if (waitpid(victim, &status, 0) != victim || !WIFSIGNALED(status))
		return wrong("the victim", "it exited on its own");
	if (read(ends[0], &failed, 1) != 1 || failed)
		return 1;
	/* The child's end. */
	return read(ends[0], &ignored, 1) == 0 ? 0 : 1;
}

static int survive(int victim)
{
	ina_comm *comm = open_comm();
	char name[16];
	double since_s;
	enum ina_status status;

	if (!comm)
		return 1;
	for (int call = 0; call < 3; call++) {
		if (reduce(comm) != 0)
			return 1;
	}
	since_s = ina_now_s();
	status = ina_allreduce(comm, send, recv, COUNT, INA_INT32, INA_SUM);
	snprintf(name, sizeof(name), "rank %d", victim);
	printf("%s after %.2f s: %s\n", ina_status_name(status), ina_now_s() - since_s,
	       ina_error(comm));
	if (status != INA_ERR_PEER || !strstr(ina_error(comm), name) ||
	    ina_now_s() - since_s > SOON_S)
		return wrong("a survivor", ina_status_name(status));
	ina_close(comm);
	return 0;
}

#define CHILDREN 60
#define CALLS    200

static ina_comm *open_busy(int by_thread)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	ina_comm *comm;

	ina_options_init(&options);
	options.progress_thread = by_thread;
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK)
		wrong("ina_open", why);
	return comm;
}

static void *reduce_often(void *argument)
{
	static int failed;

	for (int call = 0; call < CALLS && !failed; call++)
		failed = reduce(argument);
	return &failed;
}

/* If a call hangs, a signal ends this process. */
static int is_refused_all(ina_comm *comm)
{
	ina_request *request;
	int ignored[4];

	alarm(20);
	return ina_allreduce_start(comm, ignored, ignored, 4, INA_INT32, INA_SUM, &request) ==
	               INA_ERR_ARGUMENT &&
	       ina_barrier(comm) == INA_ERR_ARGUMENT && strstr(ina_error(comm), "fork") &&
	       ina_close(comm) == INA_ERR_ARGUMENT;
}

static int fork_often(int by_thread)
{
	ina_comm *comm = open_busy(by_thread);
	pthread_t thread;
	void *failed;
	int status;

	if (!comm || pthread_create(&thread, NULL, reduce_often, comm) != 0)
		return 1;
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(is_refused_all(comm) ? 0 : 1);
		if (waitpid(child, &status, 0) != child || status != 0)
			return wrong("a child", WIFSIGNALED(status) ? "it hangs or has crashed"
			                                            : "a call is not refused");
	}
	pthread_join(thread, &failed);
	return *(int *)failed != 0 || ina_close(comm) != INA_OK;
}

static int help_often(void)
{
	ina_comm *comm = open_busy(0);

	return !comm || *(int *)reduce_often(comm) != 0 || ina_close(comm) != INA_OK;
}

int main(int argc, char **argv)
{
	int victim = argc > 1 ? atoi(argv[1]) : 0;
	const char *rank = getenv("INA_RANK");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2)
		return rank && atoi(rank) == victim ? fork_often(argc > 3) : help_often();
	return rank && atoi(rank) == victim ? watch_victim() : survive(victim);
}
