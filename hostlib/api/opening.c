/* SPDX-License-Identifier: Apache-2.0 */
/* Opens communicators, in the calling thread or in a thread of the library. */
#include "opening.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/thread.h"
#include "hostlib/communicator/communicator.h"
#include "plain.h"
#include "progress.h"

/* From ina_open_start() until ina_close(), or until the request has succeeded. */
struct ina_opening {
	struct ina_request request;
	pthread_t thread;
	int fd; /* readable when the thread has nothing more to do */
	atomic_bool has_ended;
	struct ina_failure failure;
};

static void free_opening(struct ina_opening *opening)
{
	if (opening && opening->fd >= 0)
		close(opening->fd);
	free(opening);
}

/* The log function may still call a closed communicator, and gets an error. */
void ina_comm_free(struct ina_comm *comm)
{
	comm->is_over = true;
	ina_fail(&comm->failure, INA_ERR_ARGUMENT, "the communicator has been closed");
	ina_tell(comm);
	free_opening(comm->opening);
	ina_pollset_close(&comm->pollset);
	ina_callers_free(&comm->callers);
	free(comm);
}

/* Reads the options. Returns NULL if memory runs out, after the other ranks were informed. */
static struct ina_comm *make(const struct ina_options *options, bool plain,
                             struct ina_failure *failure)
{
	struct ina_settings settings;
	struct ina_comm *made;

	ina_settings_make(&settings, options, failure);
	made = calloc(1, sizeof(*made));
	if (!made) {
		ina_fail(failure, INA_ERR_MEMORY, "no memory for a communicator");
		ina_comm_cannot_open(&settings, failure);
		return NULL;
	}
	ina_comm_init(made, &settings);
	made->network.plain = plain;
	return made;
}

/* The failure keeps ina_comm_close() from waiting for other ranks. */
static void close_failed(struct ina_comm *comm, const struct ina_failure *failure)
{
	struct ina_failure ignored;

	if (comm->failure.status == INA_OK)
		comm->failure = *failure;
	ina_comm_close(comm, &ignored);
}

/* Waits for the other ranks; the failure is as for ina_comm_open(). */
static void open_ranks(struct ina_comm *comm, struct ina_failure *failure)
{
	if (!comm->settings.can_meet || ina_comm_open(comm, failure) != INA_OK)
		close_failed(comm, failure);
}

/* Called when the ranks have met: the rest, which no other rank waits for. */
static void finish(struct ina_comm *comm, struct ina_failure *failure)
{
	if (failure->status != INA_OK || !comm->settings.options.progress_thread ||
	    ina_progress_start(comm, failure) == INA_OK)
		return;
	ina_control_farewell(&comm->control, failure); /* all other ranks get the reason */
	close_failed(comm, failure);
}

static enum ina_status open_any(const struct ina_options *options, bool plain, ina_comm **comm,
                                char *why, size_t why_size)
{
	struct ina_failure failure = {INA_OK, ""};
	struct ina_comm *made = NULL;

	if (comm)
		*comm = NULL;
	if (!comm)
		ina_fail(&failure, INA_ERR_ARGUMENT, "ina_open: comm is NULL");
	else
		made = make(options, plain, &failure);
	if (made) {
		open_ranks(made, &failure);
		finish(made, &failure);
	}
	if (made && failure.status == INA_OK) {
		*comm = made;
		ina_enter(made);
		ina_end_call(made);
	} else if (made) {
		ina_comm_free(made);
	}
	/* The text may be that of an error from which the call recovered. */
	if (why && why_size > 0)
		snprintf(why, why_size, "%s", failure.status == INA_OK ? "" : failure.text);
	return failure.status;
}

enum ina_status ina_open(const struct ina_options *options, ina_comm **comm, char *why,
                         size_t why_size)
{
	return open_any(options, false, comm, why, why_size);
}

enum ina_status ina_plain_open(const struct ina_options *options, ina_comm **comm, char *why,
                               size_t why_size)
{
	return open_any(options, true, comm, why, why_size);
}

static void *run(void *context)
{
	const uint64_t one = 1;
	struct ina_comm *comm = context;
	struct ina_opening *opening = comm->opening;
	ssize_t ignored;

	open_ranks(comm, &opening->failure);
	atomic_store(&opening->has_ended, true);
	ignored = write(opening->fd, &one, sizeof(one));
	(void)ignored;
	return NULL;
}

static void watch(struct ina_comm *comm)
{
	const struct pollfd end = {.fd = comm->opening->fd, .events = POLLIN};

	ina_pollset_watch(&comm->pollset, &end, 1);
}

/* Until the request has been finished, all other calls get an error. */
static void start(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_opening *opening = calloc(1, sizeof(*opening));
	int error = 0;

	if (!opening) {
		ina_fail(failure, INA_ERR_MEMORY, "no memory for a communicator");
		return;
	}
	opening->request.comm = comm;
	opening->failure = *failure;
	opening->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	comm->opening = opening;
	comm->settings.stop = &comm->abort.asked;
	comm->is_opening = comm->is_over = true;
	ina_fail(&comm->failure, INA_ERR_ARGUMENT, "the communicator is not open yet");
	if (opening->fd < 0)
		error = errno;
	if (error == 0)
		error = ina_thread_start(&opening->thread, run, comm);
	if (error == 0)
		return;
	free_opening(opening);
	comm->opening = NULL;
	comm->is_opening = false;
	ina_fail(failure, INA_ERR_SYSTEM, "cannot start a thread for the opening: %s",
	         strerror(error));
}

enum ina_status ina_open_start(const struct ina_options *options, ina_comm **comm,
                               ina_request **request)
{
	struct ina_failure failure = {INA_OK, ""};
	struct ina_comm *made;

	if (comm)
		*comm = NULL;
	if (request)
		*request = NULL;
	if (!comm || !request)
		return INA_ERR_ARGUMENT;
	made = make(options, false, &failure);
	if (!made)
		return failure.status;
	start(made, &failure);
	if (made->opening) {
		*comm = made;
		*request = &made->opening->request;
		return INA_OK;
	}
	open_ranks(made, &failure); /* all other ranks get the reason */
	ina_comm_free(made);
	return failure.status;
}

/* The thread has ended, and all ranks are connected. */
static enum ina_status go_on(struct ina_comm *comm, struct ina_failure *failure)
{
	struct ina_opening *opening = comm->opening;
	struct pollfd fds[INA_COMM_FDS];

	comm->failure = comm->latest = (struct ina_failure){INA_OK, ""};
	comm->is_over = false;
	comm->opening = NULL; /* the log function may call from the progress thread */
	finish(comm, failure);
	if (failure->status != INA_OK) {
		comm->opening = opening;
		return failure->status;
	}
	if (comm->pollset.fd >= 0)
		ina_pollset_watch(&comm->pollset, fds, ina_comm_pollfds(comm, fds));
	free_opening(opening);
	return INA_OK;
}

enum ina_status ina_opening_take(struct ina_comm *comm)
{
	struct ina_opening *opening = comm->opening;
	struct ina_failure failure;

	if (!comm->is_opening)
		return INA_ERR_ARGUMENT;
	pthread_join(opening->thread, NULL);
	comm->is_opening = false;
	failure = opening->failure;
	if (failure.status != INA_OK || go_on(comm, &failure) != INA_OK) {
		if (atomic_load(&comm->abort.asked))
			ina_fail(&failure, INA_ERR_ABORTED, "rank %d aborted: %s", comm->rank,
			         comm->abort.why);
		comm->failure = comm->latest = failure;
		comm->is_over = true;
	}
	ina_enter(comm);
	ina_end_call(comm);
	return failure.status;
}

enum ina_status ina_opening_test(struct ina_comm *comm, int *done)
{
	*done = !comm->is_opening || atomic_load(&comm->opening->has_ended);
	if (*done)
		return ina_opening_take(comm);
	if (comm->pollset.fd >= 0)
		watch(comm);
	return INA_OK;
}

enum ina_status ina_opening_open_pollset(struct ina_comm *comm, int *fd)
{
	enum ina_status status = INA_OK;

	if (comm->pollset.fd < 0) {
		status = ina_pollset_open(&comm->pollset, INA_LOOK_MS, false, &comm->latest);
		if (status == INA_OK)
			watch(comm);
	}
	*fd = comm->pollset.fd;
	return status;
}

void ina_opening_stop(struct ina_comm *comm)
{
	if (!comm->is_opening)
		return;
	ina_abort_ask(&comm->abort, "the communicator was closed before it was open");
	if (ina_opening_take(comm) != INA_OK)
		return;
	ina_enter(comm);
	ina_fail(&comm->failure, INA_ERR_ARGUMENT,
	         "the communicator was closed with an unfinished request");
	ina_leave(comm);
}
