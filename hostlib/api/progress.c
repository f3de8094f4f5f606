/* SPDX-License-Identifier: Apache-2.0 */
/* The thread sleeps by the descriptors that a program would poll, and by one that wakes it. */
#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hostlib/channels/strands.h"

struct ina_progress {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t finished; /* some request may be done */
	int wake_fd;
	bool ends;
};

/* A child of fork() has no thread, and the lock may be held for ever. */
static struct ina_progress *progress_of(const struct ina_comm *comm)
{
	return comm->is_parents ? NULL : comm->progress;
}

void ina_enter(const struct ina_comm *comm)
{
	if (progress_of(comm))
		pthread_mutex_lock(&progress_of(comm)->lock);
}

void ina_leave(const struct ina_comm *comm)
{
	if (progress_of(comm))
		pthread_mutex_unlock(&progress_of(comm)->lock);
}

void ina_progress_wake(const struct ina_comm *comm)
{
	const uint64_t one = 1;
	ssize_t ignored = 0;

	if (progress_of(comm))
		ignored = write(progress_of(comm)->wake_fd, &one, sizeof(one));
	(void)ignored;
}

void ina_progress_await(const struct ina_request *request)
{
	struct ina_progress *progress = progress_of(request->comm);

	while (progress && !request->done)
		pthread_cond_wait(&progress->finished, &progress->lock);
}

/* As far as it goes without a wait; returns how many descriptors tell of more. */
static int go_on(struct ina_comm *comm, struct pollfd *fds)
{
	const struct ina_request *first = comm->first;

	if (first && comm->failure.status == INA_OK) {
		/* As ina_test() and what follows it: looks round, then as far as it goes. */
		ina_comm_step(comm, 0);
		ina_comm_exhaust(comm, NULL);
	} else if (comm->failure.status == INA_OK) {
		ina_comm_attend(comm);
		ina_strands_attend(&comm->strands);
	}
	/* Requests end in their order, or all at once. Who waits is not woken for each message. */
	if (comm->first != first || comm->failure.status != INA_OK)
		pthread_cond_broadcast(&comm->progress->finished);
	return comm->failure.status == INA_OK ? ina_comm_pollfds(comm, fds) : 0;
}

static void *run(void *context)
{
	struct ina_comm *comm = context;
	struct ina_progress *progress = comm->progress;
	struct pollfd fds[INA_COMM_FDS + 1];
	uint64_t wakes;
	ssize_t ignored = 0;

	pthread_mutex_lock(&progress->lock);
	while (!progress->ends) {
		struct pollfd *wake = &fds[go_on(comm, fds)];

		*wake = (struct pollfd){.fd = progress->wake_fd, .events = POLLIN};
		pthread_mutex_unlock(&progress->lock);
		/* Stalls and timeouts are found by who looks. */
		poll(fds, (nfds_t)(wake - fds + 1), INA_STALL_MS / 2);
		if (wake->revents)
			ignored = read(progress->wake_fd, &wakes, sizeof(wakes));
		(void)ignored;
		pthread_mutex_lock(&progress->lock);
	}
	pthread_mutex_unlock(&progress->lock);
	return NULL;
}

/* The program's signals are for its own threads. */
static int start_thread(struct ina_comm *comm)
{
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&comm->progress->thread, NULL, run, comm);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

enum ina_status ina_progress_start(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_progress *progress = calloc(1, sizeof(*progress));
	int error = 0;

	if (!progress)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for a thread");
	progress->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (progress->wake_fd < 0)
		error = errno;
	pthread_mutex_init(&progress->lock, NULL);
	pthread_cond_init(&progress->finished, NULL);
	comm->progress = progress;
	if (error == 0)
		error = start_thread(comm);
	if (error == 0)
		return INA_OK;
	if (progress->wake_fd >= 0)
		close(progress->wake_fd);
	free(progress);
	comm->progress = NULL;
	return ina_fail(failure, INA_ERR_SYSTEM, "no thread that makes progress: %s",
	                strerror(error));
}

void ina_progress_stop(struct ina_comm *comm)
{
	struct ina_progress *progress = comm->progress;

	if (!progress)
		return;
	pthread_mutex_lock(&progress->lock);
	progress->ends = true;
	pthread_mutex_unlock(&progress->lock);
	ina_progress_wake(comm);
	pthread_join(progress->thread, NULL);
	pthread_cond_destroy(&progress->finished);
	pthread_mutex_destroy(&progress->lock);
	close(progress->wake_fd);
	free(progress);
	comm->progress = NULL;
}
