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
static void await_phase(struct ina_mpi_channel *channel, enum ina_mpi_phase phase)
{
	while (channel->phase < phase && !channel->is_astray)
		pthread_cond_wait(&channel->wake, &channel->lock);
}

/* Returns with the lock held. */
static void open_channel(struct ina_mpi_channel *channel)
{
	struct ina_options options;
	char root[INET_ADDRSTRLEN];
	char own[INET_ADDRSTRLEN];
	char cookie[32];
	ina_comm *comm = NULL;
	char why[INA_ERROR_SIZE] = "";
	enum ina_status status;
	int fd = -1;

	inet_ntop(AF_INET, &channel->root, root, sizeof(root));
	inet_ntop(AF_INET, &ina_mpi_world.addresses[ina_mpi_world.rank], own, sizeof(own));
	snprintf(cookie, sizeof(cookie), "mpi %016" PRIx64, channel->cookie);
	ina_options_init(&options);
	options.rank = channel->rank;
	options.ranks = channel->ranks;
	options.root = root;
	options.bind = own;
	options.cookie = cookie;
	options.open_timeout_ms = OPEN_MS;
	status = ina_open(&options, &comm, why, sizeof(why));
	if (status == INA_OK && (status = ina_comm_fd(comm, &fd)) != INA_OK)
		snprintf(why, sizeof(why), "%s", ina_error(comm));
	pthread_mutex_lock(&channel->lock);
	channel->comm = comm;
	channel->fd = fd;
	channel->status = status;
	if (!channel->is_astray)
		snprintf(channel->text, sizeof(channel->text), "%s", why);
	channel->phase = INA_MPI_TRIED;
}

/* Called with the lock held; releases it while it waits. Only the channel's thread closes. */
static void close_comm(struct ina_mpi_channel *channel)
{
	ina_comm *comm = channel->comm;

	channel->comm = NULL;
	pthread_mutex_unlock(&channel->lock);
	ina_close(comm);
	pthread_mutex_lock(&channel->lock);
}

/* Called with the lock held; releases it while it waits. The threads of all ranks do this. */
static void leave_to_mpi(struct ina_mpi_channel *channel)
{
	MPI_Group group;
	MPI_Comm comm;

	ina_abort(channel->comm, "left to MPI");
	close_comm(channel);
	pthread_mutex_unlock(&channel->lock);
	PMPI_Comm_group(channel->mpi, &group);
	PMPI_Comm_create_group(ina_mpi_world.quiet, group, (int)(channel->cookie % 32768), &comm);
	PMPI_Group_free(&group);
	pthread_mutex_lock(&channel->lock);
	channel->started_comm = comm;
	ina_mpi_queue_inherit_errhandler(channel);
}

/* Called with the lock held; releases it while it waits. */
static void open_or_leave(struct ina_mpi_channel *channel)
{
	await_phase(channel, INA_MPI_OPENING);
	if (!channel->is_astray) {
		pthread_mutex_unlock(&channel->lock);
		open_channel(channel);
		await_phase(channel, INA_MPI_DECIDED);
	}
	if (channel->is_astray)
		ina_abort(channel->comm, channel->text);
	else if (channel->is_left)
		leave_to_mpi(channel);
	channel->is_opened = true;
}

static void *run(void *context)
{
	struct ina_mpi_channel *channel = context;

	pthread_mutex_lock(&channel->lock);
	open_or_leave(channel);
	while (!channel->is_closing || channel->first) {
		struct pollfd fd = {.fd = channel->fd, .events = POLLIN};

		ina_mpi_queue_advance(channel);
		if (channel->started == 0) {
			if (!channel->is_closing || channel->first)
				pthread_cond_wait(&channel->wake, &channel->lock);
			continue;
		}
		pthread_mutex_unlock(&channel->lock);
		poll(&fd, 1, channel->is_left ? MPI_MS : INA_MS);
		pthread_mutex_lock(&channel->lock);
	}
	close_comm(channel);
	channel->is_ended = true;
	pthread_mutex_unlock(&channel->lock);
	return NULL;
}

int ina_mpi_opening_start(struct ina_mpi_channel *channel)
{
	return ina_thread_start(&channel->thread, run, channel);
}
