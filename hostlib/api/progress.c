/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress thread waits on the descriptors that a program would poll, and on one that wakes it.
 */
#include "progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/thread.h"
#include "hostlib/channels/strands.h"
#include "hostlib/communicator/fork.h"
#include "hostlib/engine/gate.h"

struct ina_progress {
	pthread_t thread;
	struct ina_gate gate; /* an event means that a request may be done */
	int wake_fd;
	bool ends;
};

/*
 * A child of fork() has no progress thread, and another thread of the parent may have been inside
 * the gate.
 */
static struct ina_progress *progress_of(const struct ina_comm *comm)
{
	return comm->is_over ? NULL : comm->progress;
}

void ina_enter(const struct ina_comm *comm)
{
	if (progress_of(comm))
		ina_gate_enter(&progress_of(comm)->gate);
}

void ina_leave(const struct ina_comm *comm)
{
	if (progress_of(comm))
		ina_gate_leave(&progress_of(comm)->gate);
}

void ina_tell(struct ina_comm *comm)
{
	struct ina_log_line *line;

	while (!comm->is_opening && (line = ina_log_begin(&comm->log))) {
		ina_leave(comm);
		ina_log_write(&comm->log, line);
		ina_enter(comm);
		ina_log_end(&comm->log, line);
	}
}

void ina_end_call(struct ina_comm *comm)
{
	ina_tell(comm);
	ina_leave(comm);
}

enum ina_status ina_check_wait(struct ina_comm *comm, const char *call)
{
	if (comm->is_opening || !comm->log.is_writing ||
	    !pthread_equal(comm->log.writer, pthread_self()))
		return INA_OK;
	return ina_fail(&comm->latest, INA_ERR_ARGUMENT,
	                "%s: the log function cannot make a blocking call: use the _start form, or "
	                "another thread",
	                call);
}

void ina_progress_wake(const struct ina_comm *comm)
{
	const uint64_t one = 1;
	ssize_t ignored = 0;

	/* The write does not block, so no signal interrupts it. */
	if (progress_of(comm))
		ignored = write(progress_of(comm)->wake_fd, &one, sizeof(one));
	(void)ignored;
}

void ina_progress_await(const struct ina_request *request)
{
	struct ina_progress *progress = progress_of(request->comm);

	while (progress && !request->done)
		ina_gate_await(&progress->gate);
}

/* Makes some progress without waiting. Returns false if more is possible without waiting. */
static bool go_on(struct ina_comm *comm)
{
	const struct ina_request *first = comm->first;
	bool all = true;

	if (first && comm->failure.status == INA_OK) {
		/*
		 * As ina_test() and a wait by descriptor do: looks for faults, and then handles
		 * events until there are no more.
		 */
		ina_comm_step(comm, 0);
		all = ina_comm_exhaust(comm, NULL);
	} else if (comm->failure.status == INA_OK) {
		ina_comm_attend(comm);
		ina_strands_attend(&comm->strands);
	}
	/*
	 * Requests end in order, or all at the same time. A waiting thread is not woken for each
	 * message.
	 */
	if (comm->first != first || comm->failure.status != INA_OK)
		ina_gate_tell(&comm->progress->gate);
	ina_tell(comm);
	return all;
}

static void *run(void *context)
{
	struct ina_comm *comm = context;
	struct ina_progress *progress = comm->progress;
	struct pollfd fds[INA_COMM_FDS + 1];
	uint64_t wakes;
	ssize_t ignored = 0;

	ina_gate_enter(&progress->gate);
	while (!progress->ends) {
		bool all = go_on(comm);
		int count = comm->failure.status == INA_OK ? ina_comm_pollfds(comm, fds) : 0;

		fds[count] = (struct pollfd){.fd = progress->wake_fd, .events = POLLIN};
		ina_gate_leave(&progress->gate);
		/*
		 * Stalls and timeouts are found only by looking, so it does no harm if a wait is
		 * cut short.
		 */
		if (all && poll(fds, (nfds_t)count + 1, INA_LOOK_MS) > 0 && fds[count].revents)
			ignored = read(progress->wake_fd, &wakes, sizeof(wakes));
		(void)ignored;
		ina_gate_enter(&progress->gate);
	}
	ina_gate_leave(&progress->gate);
	return NULL;
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
	ina_gate_init(&progress->gate);
	comm->progress = progress;
	ina_fork_guard(comm, &progress->gate);
	comm->callers.by_thread = true;
	if (error == 0)
		error = ina_thread_start(&progress->thread, run, comm);
	if (error == 0) {
		atomic_store(&comm->abort.wakes, true);
		if (atomic_load(&comm->abort.asked))
			ina_progress_wake(comm);
		return INA_OK;
	}
	ina_fork_guard(comm, NULL);
	if (progress->wake_fd >= 0)
		close(progress->wake_fd);
	ina_gate_destroy(&progress->gate);
	free(progress);
	comm->progress = NULL;
	return ina_fail(failure, INA_ERR_SYSTEM, "cannot start the progress thread: %s",
	                strerror(error));
}

void ina_progress_stop(struct ina_comm *comm)
{
	struct ina_progress *progress = comm->progress;

	if (!progress)
		return;
	ina_gate_enter(&progress->gate);
	progress->ends = true;
	ina_gate_leave(&progress->gate);
	ina_progress_wake(comm);
	pthread_join(progress->thread, NULL);
	ina_fork_guard(comm, NULL);
	ina_gate_destroy(&progress->gate);
	close(progress->wake_fd);
	free(progress);
	comm->progress = NULL;
}
