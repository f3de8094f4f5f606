/* SPDX-License-Identifier: Apache-2.0 */
#include "opening.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "common/thread.h"
#include "queue.h"
#include "world.h"

/* How long the thread sleeps between looks at operations of libina, and at those of MPI. */
#define INA_MS 200
#define MPI_MS 1

/* The timeout of ina_open(), which all ranks call at the same time. */
#define OPEN_MS 20000

/* Called with the lock held. There is no timeout: other ranks may reach this point much later. */
static void await_phase(struct ina_mpi_counterpart *counterpart, enum ina_mpi_phase phase)
{
	while (counterpart->phase < phase && !counterpart->is_astray)
		pthread_cond_wait(&counterpart->wake, &counterpart->lock);
}

/* Returns with the lock held. */
static void open_counterpart(struct ina_mpi_counterpart *counterpart)
{
	struct ina_options options;
	char root[INET_ADDRSTRLEN];
	char own[INET_ADDRSTRLEN];
	char cookie[32];
	ina_comm *comm = NULL;
	char why[INA_ERROR_SIZE] = "";
	enum ina_status status;
	int fd = -1;

	inet_ntop(AF_INET, &counterpart->root, root, sizeof(root));
	inet_ntop(AF_INET, &ina_mpi_world.addresses[ina_mpi_world.rank], own, sizeof(own));
	snprintf(cookie, sizeof(cookie), "mpi %016" PRIx64, counterpart->cookie);
	ina_options_init(&options);
	options.rank = counterpart->rank;
	options.ranks = counterpart->ranks;
	options.root = root;
	/* Several devices of a list may be in use, and one address would select one of them. */
	options.bind = ina_mpi_world.has_list ? NULL : own;
	options.cookie = cookie;
	options.open_timeout_ms = OPEN_MS;
	options.progress_thread = -1; /* there is a descriptor without it only */
	status = ina_open(&options, &comm, why, sizeof(why));
	if (status == INA_OK && (status = ina_comm_fd(comm, &fd)) != INA_OK)
		snprintf(why, sizeof(why), "%s", ina_error(comm));
	pthread_mutex_lock(&counterpart->lock);
	counterpart->comm = comm;
	counterpart->fd = fd;
	counterpart->status = status;
	if (!counterpart->is_astray)
		snprintf(counterpart->text, sizeof(counterpart->text), "%s", why);
	counterpart->phase = INA_MPI_TRIED;
}

/* Called with the lock held; releases it while it waits. Only the counterpart's thread closes. */
static void close_comm(struct ina_mpi_counterpart *counterpart)
{
	ina_comm *comm = counterpart->comm;

	counterpart->comm = NULL;
	pthread_mutex_unlock(&counterpart->lock);
	ina_close(comm);
	pthread_mutex_lock(&counterpart->lock);
}

/* Called with the lock held; releases it while it waits. The threads of all ranks do this. */
static void leave_to_mpi(struct ina_mpi_counterpart *counterpart)
{
	MPI_Group group;
	MPI_Comm comm;

	ina_abort(counterpart->comm, "left to MPI");
	close_comm(counterpart);
	pthread_mutex_unlock(&counterpart->lock);
	PMPI_Comm_group(counterpart->mpi, &group);
	PMPI_Comm_create_group(ina_mpi_world.quiet, group, (int)(counterpart->cookie % 32768),
	                       &comm);
	PMPI_Group_free(&group);
	pthread_mutex_lock(&counterpart->lock);
	counterpart->started_comm = comm;
	ina_mpi_queue_inherit_errhandler(counterpart);
}

/* Called with the lock held; releases it while it waits. */
static void open_or_leave(struct ina_mpi_counterpart *counterpart)
{
	await_phase(counterpart, INA_MPI_OPENING);
	if (!counterpart->is_astray) {
		pthread_mutex_unlock(&counterpart->lock);
		open_counterpart(counterpart);
		await_phase(counterpart, INA_MPI_DECIDED);
	}
	if (counterpart->is_astray)
		ina_abort(counterpart->comm, counterpart->text);
	else if (counterpart->is_left)
		leave_to_mpi(counterpart);
	counterpart->is_opened = true;
}

static void *run(void *context)
{
	struct ina_mpi_counterpart *counterpart = context;

	pthread_mutex_lock(&counterpart->lock);
	open_or_leave(counterpart);
	while (!counterpart->is_closing || counterpart->first) {
		struct pollfd fd = {.fd = counterpart->fd, .events = POLLIN};

		ina_mpi_queue_advance(counterpart);
		if (counterpart->started == 0) {
			if (!counterpart->is_closing || counterpart->first)
				pthread_cond_wait(&counterpart->wake, &counterpart->lock);
			continue;
		}
		pthread_mutex_unlock(&counterpart->lock);
		poll(&fd, 1, counterpart->is_left ? MPI_MS : INA_MS);
		pthread_mutex_lock(&counterpart->lock);
	}
	close_comm(counterpart);
	counterpart->is_ended = true;
	pthread_mutex_unlock(&counterpart->lock);
	return NULL;
}

int ina_mpi_opening_start(struct ina_mpi_counterpart *counterpart)
{
	return ina_thread_start(&counterpart->thread, run, counterpart);
}
