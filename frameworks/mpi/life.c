/* SPDX-License-Identifier: Apache-2.0 */
#include "common/interrupted.h"
#include "life.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "op.h"
#include "opening.h"
#include "queue.h"
#include "talk.h"
#include "world.h"

/* How long a caller sleeps between two calls that let MPI progress. */
#define CALLER_MS 1

/* Called with the lock held. */
static void begin(struct ina_mpi_channel *channel)
{
	if (ina_mpi_opening_start(channel) != 0) {
		fprintf(stderr, "ina-mpi: cannot start a thread\n");
		PMPI_Abort(channel->mpi, EXIT_FAILURE);
	}
	channel->phase = INA_MPI_BEGUN;
	ina_mpi_talk_hurry();
}

enum ina_mpi_why ina_mpi_channel_enter(struct ina_mpi_channel *channel,
                                       const struct ina_mpi_call *call, struct ina_mpi_plan *plan)
{
	enum ina_mpi_why why = plan->why;

	if (why == INA_MPI_BY_INA) {
		why = channel->why;
		if (why == INA_MPI_UNABLE && channel->text[0])
			ina_mpi_say_left(channel->text);
	}
	if (channel->why != INA_MPI_BY_INA)
		return why;
	if (why == INA_MPI_BY_INA && (call->root < 0 || call->root >= channel->ranks))
		why = INA_MPI_ARGUMENT;
	pthread_mutex_lock(&channel->lock);
	/* A communicator is not opened for a barrier alone. */
	if (why == INA_MPI_BY_INA && !ina_call_has_elements(ina_mpi_call_kind(call->kind)) &&
	    channel->place.by_ina == 0)
		why = INA_MPI_UNOPENED;
	plan->is_astray = channel->is_astray;
	if (plan->is_astray)
		why = INA_MPI_BY_INA;
	channel->place.calls++;
	channel->place.by_ina += why == INA_MPI_BY_INA;
	plan->place = channel->place;
	pthread_mutex_unlock(&channel->lock);
	return why;
}

bool ina_mpi_channel_do(struct ina_mpi_channel *channel, struct ina_mpi_op *op)
{
	bool started = op->call.started;

	op->next = NULL;
	op->by_mpi = MPI_REQUEST_NULL;
	pthread_mutex_lock(&channel->lock);
	if (channel->phase == INA_MPI_UNBEGUN && !channel->is_astray)
		begin(channel);
	ina_mpi_queue_put(channel, op);
	while (!started && !op->is_done) {
		struct pollfd fd = {.fd = channel->fd, .events = POLLIN};

		pthread_mutex_unlock(&channel->lock);
		ina_mpi_poke();
		poll(&fd, 1, CALLER_MS); /* before opening, fd is -1, which poll() ignores */
		pthread_mutex_lock(&channel->lock);
		ina_mpi_queue_advance(channel);
	}
	pthread_mutex_unlock(&channel->lock);
	return started || !op->is_left;
}

/* Uses the addresses that all ranks exchanged in MPI_Init, so it sends nothing. */
static void look_at_ranks(struct ina_mpi_channel *channel)
{
	const struct ina_mpi_world *world = &ina_mpi_world;
	MPI_Group group;
	bool several_hosts = false;

	PMPI_Comm_group(channel->mpi, &group);
	for (int r = 0; r < channel->ranks && channel->why == INA_MPI_BY_INA; r++) {
		int *world_rank = &channel->world_ranks[r];
		uint32_t address = 0;

		PMPI_Group_translate_ranks(group, 1, &r, world->group, world_rank);
		if (*world_rank == MPI_UNDEFINED)
			channel->why = INA_MPI_FOREIGN;
		else if ((address = world->addresses[*world_rank]) == 0)
			channel->why = INA_MPI_UNABLE;
		/* A rank that is unable itself reports the reason. */
		if (channel->why == INA_MPI_UNABLE && r == channel->rank)
			snprintf(channel->text, sizeof(channel->text), "rank %d: %s", world->rank,
			         world->unable);
		if (r == 0)
			channel->root = address;
		several_hosts |= address != channel->root;
	}
	PMPI_Group_free(&group);
	if (channel->why == INA_MPI_BY_INA && !several_hosts)
		channel->why = INA_MPI_ONE_HOST;
}

/*
 * Every channel gets a cookie, even if it is never opened. So all ranks take part in this broadcast
 * at the same call, whatever they decide about that call. The broadcast is nonblocking, so it
 * cannot be confused with a blocking call of the program.
 */
static void draw_cookie(struct ina_mpi_channel *channel)
{
	ssize_t got = sizeof(channel->cookie);

	if (channel->rank == 0)
		INA_UNINTERRUPTED(got, getrandom(&channel->cookie, sizeof(channel->cookie), 0));
	if (got != sizeof(channel->cookie))
		PMPI_Abort(channel->mpi, EXIT_FAILURE);
	ina_mpi_real.Ibcast(&channel->cookie, 1, MPI_UINT64_T, 0, channel->mpi,
	                    &channel->cookie_comes);
}

static struct ina_mpi_channel *make(MPI_Comm comm)
{
	struct ina_mpi_channel *channel = calloc(1, sizeof(*channel));
	int inter;

	if (!channel)
		PMPI_Abort(comm, EXIT_FAILURE);
	channel->mpi = comm;
	channel->fd = -1;
	channel->cookie_comes = MPI_REQUEST_NULL;
	channel->closing = MPI_REQUEST_NULL;
	channel->started_comm = MPI_COMM_NULL;
	pthread_mutex_init(&channel->lock, NULL);
	pthread_cond_init(&channel->wake, NULL);
	PMPI_Comm_rank(comm, &channel->rank);
	PMPI_Comm_size(comm, &channel->ranks);
	PMPI_Comm_test_inter(comm, &inter);
	channel->world_ranks = calloc((size_t)channel->ranks, sizeof(*channel->world_ranks));
	if (!channel->world_ranks)
		PMPI_Abort(comm, EXIT_FAILURE);
	if (inter)
		channel->why = INA_MPI_INTER;
	else if (channel->ranks == 1)
		channel->why = INA_MPI_FEW;
	else if (channel->ranks > INA_MAX_RANKS)
		channel->why = INA_MPI_MANY;
	else
		look_at_ranks(channel);
	if (channel->why == INA_MPI_BY_INA)
		draw_cookie(channel);
	PMPI_Comm_set_attr(comm, ina_mpi_world.keyval, channel);
	pthread_mutex_lock(&ina_mpi_channels.lock);
	channel->next = ina_mpi_channels.first;
	ina_mpi_channels.first = channel;
	pthread_mutex_unlock(&ina_mpi_channels.lock);
	return channel;
}

struct ina_mpi_channel *ina_mpi_channel_of(MPI_Comm comm)
{
	void *channel;
	int found;

	PMPI_Comm_get_attr(comm, ina_mpi_world.keyval, &channel, &found);
	return found ? channel : make(comm);
}

/*
 * A rank closes a channel together with all other ranks, even a channel that was never opened.
 * Until then another rank may wait in it for a call for which this rank used MPI, and ask about it
 * (talk.h).
 */
static void ask_to_close(struct ina_mpi_channel *channel)
{
	pthread_mutex_lock(&channel->lock);
	channel->is_closing = true;
	if (channel->why == INA_MPI_BY_INA && !channel->is_astray)
		ina_mpi_real.Ibarrier(channel->mpi, &channel->closing);
	pthread_cond_broadcast(&channel->wake);
	pthread_mutex_unlock(&channel->lock);
}

/* Called with the lock held. If the channel is astray, some ranks may never enter the barrier. */
static bool is_closed(struct ina_mpi_channel *channel)
{
	int done = 1;

	if (channel->closing != MPI_REQUEST_NULL && !channel->is_astray)
		PMPI_Test(&channel->closing, &done, MPI_STATUS_IGNORE);
	return done && ina_mpi_talk_knows(channel) &&
	       (channel->phase == INA_MPI_UNBEGUN || channel->is_ended);
}

static void await_end(struct ina_mpi_channel *channel)
{
	const struct timespec pause = {.tv_nsec = 1000 * 1000 * CALLER_MS};
	bool closed = false;

	while (!closed) {
		pthread_mutex_lock(&channel->lock);
		closed = is_closed(channel);
		pthread_mutex_unlock(&channel->lock);
		ina_mpi_poke();
		if (!closed)
			nanosleep(&pause, NULL);
	}
}

/* Frees a channel that is no longer in the list. */
static void free_channel(struct ina_mpi_channel *channel)
{
	if (channel->phase != INA_MPI_UNBEGUN)
		pthread_join(channel->thread, NULL);
	pthread_cond_destroy(&channel->wake);
	pthread_mutex_destroy(&channel->lock);
	free(channel->world_ranks);
	free(channel);
}

void ina_mpi_channel_close(MPI_Comm comm)
{
	struct ina_mpi_channel **at = &ina_mpi_channels.first;
	struct ina_mpi_channel *channel;
	void *attribute;
	int found = 0;

	if (!ina_mpi_world.is_open || comm == MPI_COMM_NULL)
		return;
	PMPI_Comm_get_attr(comm, ina_mpi_world.keyval, &attribute, &found);
	if (!found)
		return;
	channel = attribute;
	ask_to_close(channel);
	await_end(channel);
	pthread_mutex_lock(&ina_mpi_channels.lock);
	while (*at != channel)
		at = &(*at)->next;
	*at = channel->next;
	pthread_mutex_unlock(&ina_mpi_channels.lock);
	PMPI_Comm_delete_attr(comm, ina_mpi_world.keyval);
	if (channel->started_comm != MPI_COMM_NULL)
		ina_mpi_real.Comm_free(&channel->started_comm);
	free_channel(channel);
}

/*
 * Closes all channels at the same time, since ranks may have opened them in different orders.
 * MPI_Finalize() frees the MPI communicators.
 */
void ina_mpi_channel_close_all(void)
{
	struct ina_mpi_channel *channel;

	for (channel = ina_mpi_channels.first; channel; channel = channel->next)
		ask_to_close(channel);
	for (channel = ina_mpi_channels.first; channel; channel = channel->next)
		await_end(channel);
	ina_mpi_talk_end();
	while ((channel = ina_mpi_channels.first)) {
		ina_mpi_channels.first = channel->next;
		free_channel(channel);
	}
}
