/* SPDX-License-Identifier: Apache-2.0 */
/* The communicators of the parent in a child of fork(). */
#include "fork.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hostlib/engine/gate.h"
#include "hostlib/engine/request.h"
#include "hostlib/machine/parallel.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ina_comm *watched; /* linked by next_watched */
static bool is_child;

/*
 * Replaces a descriptor by one of /dev/null, opened for reading only. The number must stay in use:
 * libraries that still know it must not find another file under it.
 */
static void give_up(int fd, int nothing)
{
	if (fd >= 0 && (nothing < 0 || dup3(nothing, fd, O_CLOEXEC) < 0))
		close(fd);
}

/* Unmaps the device's queues: like a descriptor, a mapping keeps the device's file open. */
static void unmap_queues(const char *device)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char wanted[80];
	char line[512];

	snprintf(wanted, sizeof(wanted), "/dev/infiniband/%s\n", device);
	while (maps && fgets(line, sizeof(line), maps)) {
		const char *path = strchr(line, '/');
		unsigned long start;
		unsigned long end;

		if (path && strcmp(path, wanted) == 0 && sscanf(line, "%lx-%lx", &start, &end) == 2)
			munmap((void *)start, end - start);
	}
	if (maps)
		fclose(maps);
}

static void give_up_transport(const struct ina_transport *transport, int nothing)
{
	if (transport->events)
		give_up(transport->events->fd, nothing);
	if (transport->channel)
		give_up(transport->channel->fd, nothing);
	if (!transport->listener || !transport->listener->verbs)
		return;
	give_up(transport->listener->verbs->async_fd, nothing);
	give_up(transport->listener->verbs->cmd_fd, nothing);
	unmap_queues(transport->listener->verbs->device->dev_name);
}

static void give_up_machine(const struct ina_parallel *parallel, int nothing)
{
	for (int i = 0; i < parallel->local.count; i++) {
		give_up(parallel->local.wake[i], nothing);
		give_up(parallel->local.alive[i], nothing);
	}
	give_up(parallel->local.life, nothing);
	give_up(parallel->intra.timer_fd, nothing);
}

/* Gives up a communicator. All later calls on it fail. */
static void give_up_comm(struct ina_comm *comm, int nothing)
{
	for (int i = 0; i < comm->control.count; i++)
		give_up(comm->control.neighbours[i].link.fd, nothing);
	give_up(comm->pollset.fd, nothing);
	give_up(comm->pollset.timer_fd, nothing);
	give_up_transport(&comm->network.transport, nothing);
	if (comm->parallel)
		give_up_machine(comm->parallel, nothing);
	comm->is_over = true;
	ina_fail(&comm->failure, INA_ERR_ARGUMENT,
	         "the communicator belongs to the parent process: it cannot be used after fork()");
	comm->latest = comm->failure;
	for (struct ina_request *r = comm->first; r; r = r->next) {
		ina_request_end_all(r->members, comm->failure.status);
		r->members = NULL;
	}
	for (struct ina_caller *caller = &comm->callers.first; caller; caller = caller->next) {
		ina_request_end_all(caller->group.first, comm->failure.status);
		caller->group.first = caller->group.last = NULL;
	}
	ina_request_end_all(comm->first, comm->failure.status);
	comm->first = comm->last = NULL;
}

/*
 * Waits until no thread is in the middle of a step: communicators with a progress thread have a
 * gate.
 */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	for (const struct ina_comm *comm = watched; comm; comm = comm->next_watched) {
		if (comm->gate)
			ina_gate_enter(comm->gate);
	}
}

static void in_parent(void)
{
	for (const struct ina_comm *comm = watched; comm; comm = comm->next_watched) {
		if (comm->gate)
			ina_gate_leave(comm->gate);
	}
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	int nothing = watched ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;

	is_child = is_child || watched;
	for (; watched; watched = watched->next_watched)
		give_up_comm(watched, nothing);
	if (nothing >= 0)
		close(nothing);
	pthread_mutex_unlock(&lock);
}

static void begin(void)
{
	/* If memory runs out, children keep the parent's descriptors. */
	pthread_atfork(before_fork, in_parent, in_child);
}

void ina_fork_watch(struct ina_comm *comm)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin);
	pthread_mutex_lock(&lock);
	comm->next_watched = watched;
	watched = comm;
	pthread_mutex_unlock(&lock);
}

void ina_fork_forget(struct ina_comm *comm)
{
	pthread_mutex_lock(&lock);
	for (struct ina_comm **place = &watched; *place; place = &(*place)->next_watched) {
		if (*place == comm) {
			*place = comm->next_watched;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

void ina_fork_guard(struct ina_comm *comm, struct ina_gate *gate)
{
	pthread_mutex_lock(&lock);
	comm->gate = gate;
	pthread_mutex_unlock(&lock);
}

enum ina_status ina_fork_check(struct ina_failure *failure)
{
	if (!is_child)
		return INA_OK;
	return ina_fail(failure, INA_ERR_ARGUMENT,
	                "this process was forked while a communicator was open, and cannot use "
	                "RDMA: open communicators in the parent, or after exec()");
}
