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
static void begin(struct ina_mpi_counterpart *counterpart)
{
	if (ina_mpi_opening_start(counterpart) != 0) {
		fprintf(stderr, "ina-mpi: cannot start a thread\n");
		PMPI_Abort(counterpart->mpi, EXIT_FAILURE);
	}
	counterpart->phase = INA_MPI_BEGUN;
	ina_mpi_talk_hurry();
}

enum ina_mpi_why ina_mpi_counterpart_enter(struct ina_mpi_counterpart *counterpart,
                                           const struct ina_mpi_call *call,
                                           struct ina_mpi_plan *plan)
{
	enum ina_mpi_why why = plan->why;

	if (why == INA_MPI_BY_INA) {
		why = counterpart->why;
		if (why == INA_MPI_UNABLE && counterpart->text[0])
			ina_mpi_say_left(counterpart->text);
	}
	if (counterpart->why != INA_MPI_BY_INA)
		return why;
	if (why == INA_MPI_BY_INA && (call->root < 0 || call->root >= counterpart->ranks))
		why = INA_MPI_ARGUMENT;
	pthread_mutex_lock(&counterpart->lock);
	/* A communicator is not opened for a barrier alone. */
	if (why == INA_MPI_BY_INA && !ina_call_has_elements(ina_mpi_call_kind(call->kind)) &&
	    counterpart->place.by_ina == 0)
		why = INA_MPI_UNOPENED;
	plan->is_astray = counterpart->is_astray;
	if (plan->is_astray)
		why = INA_MPI_BY_INA;
	counterpart->place.calls++;
	counterpart->place.by_ina += why == INA_MPI_BY_INA;
	plan->place = counterpart->place;
	pthread_mutex_unlock(&counterpart->lock);
	return why;
}

bool ina_mpi_counterpart_do(struct ina_mpi_counterpart *counterpart, struct ina_mpi_op *op)
{
	bool started = op->call.started;

	op->next = NULL;
	op->by_mpi = MPI_REQUEST_NULL;
	pthread_mutex_lock(&counterpart->lock);
	if (counterpart->phase == INA_MPI_UNBEGUN && !counterpart->is_astray)
		begin(counterpart);
	ina_mpi_queue_put(counterpart, op);
	while (!started && !op->is_done) {
		struct pollfd fd = {.fd = counterpart->fd, .events = POLLIN};

		pthread_mutex_unlock(&counterpart->lock);
		ina_mpi_poke();
		poll(&fd, 1, CALLER_MS); /* before opening, fd is -1, which poll() ignores */
		pthread_mutex_lock(&counterpart->lock);
		ina_mpi_queue_advance(counterpart);
	}
	pthread_mutex_unlock(&counterpart->lock);
	return started || !op->is_left;
}

/* Uses the addresses that all ranks exchanged in MPI_Init, so it sends nothing. */
static void look_at_ranks(struct ina_mpi_counterpart *counterpart)
{
	const struct ina_mpi_world *world = &ina_mpi_world;
	MPI_Group group;
	bool several_hosts = false;

	PMPI_Comm_group(counterpart->mpi, &group);
	for (int r = 0; r < counterpart->ranks && counterpart->why == INA_MPI_BY_INA; r++) {
		int *world_rank = &counterpart->world_ranks[r];
		uint32_t address = 0;

		PMPI_Group_translate_ranks(group, 1, &r, world->group, world_rank);
		if (*world_rank == MPI_UNDEFINED)
			counterpart->why = INA_MPI_FOREIGN;
		else if ((address = world->addresses[*world_rank]) == 0)
			counterpart->why = INA_MPI_UNABLE;
		/* A rank that is unable itself reports the reason. */
		if (counterpart->why == INA_MPI_UNABLE && r == counterpart->rank)
			snprintf(counterpart->text, sizeof(counterpart->text), "rank %d: %s",
			         world->rank, world->unable);
		if (r == 0)
			counterpart->root = address;
		several_hosts |= address != counterpart->root;
	}
	PMPI_Group_free(&group);
	if (counterpart->why == INA_MPI_BY_INA && !several_hosts)
		counterpart->why = INA_MPI_ONE_HOST;
}

/*
 * Every counterpart gets a cookie, even if it is never opened. So all ranks take part in this
 * broadcast at the same call, whatever they decide about that call. The broadcast is nonblocking,
 * so it cannot be confused with a blocking call of the program.
 */
static void draw_cookie(struct ina_mpi_counterpart *counterpart)
{
	ssize_t got = sizeof(counterpart->cookie);

	if (counterpart->rank == 0)
		INA_UNINTERRUPTED(got,
		                  getrandom(&counterpart->cookie, sizeof(counterpart->cookie), 0));
	if (got != sizeof(counterpart->cookie))
		PMPI_Abort(counterpart->mpi, EXIT_FAILURE);
	ina_mpi_real.Ibcast(&counterpart->cookie, 1, MPI_UINT64_T, 0, counterpart->mpi,
	                    &counterpart->cookie_comes);
}

static struct ina_mpi_counterpart *make(MPI_Comm comm)
{
	struct ina_mpi_counterpart *counterpart = calloc(1, sizeof(*counterpart));
	int inter;

	if (!counterpart)
		PMPI_Abort(comm, EXIT_FAILURE);
	counterpart->mpi = comm;
	counterpart->fd = -1;
	counterpart->cookie_comes = MPI_REQUEST_NULL;
	counterpart->closing = MPI_REQUEST_NULL;
	counterpart->started_comm = MPI_COMM_NULL;
	pthread_mutex_init(&counterpart->lock, NULL);
	pthread_cond_init(&counterpart->wake, NULL);
	PMPI_Comm_rank(comm, &counterpart->rank);
	PMPI_Comm_size(comm, &counterpart->ranks);
	PMPI_Comm_test_inter(comm, &inter);
	counterpart->world_ranks =
	        calloc((size_t)counterpart->ranks, sizeof(*counterpart->world_ranks));
	if (!counterpart->world_ranks)
		PMPI_Abort(comm, EXIT_FAILURE);
	if (inter)
		counterpart->why = INA_MPI_INTER;
	else if (counterpart->ranks == 1)
		counterpart->why = INA_MPI_FEW;
	else if (counterpart->ranks > INA_MAX_RANKS)
		counterpart->why = INA_MPI_MANY;
	else
		look_at_ranks(counterpart);
	PMPI_Comm_set_attr(comm, ina_mpi_world.keyval, counterpart);
	/*
	 * As soon as another rank has the cookie, it may say that it is here. The talk drops a
	 * message for a counterpart that is not in the list, so it must not look before that.
	 */
	pthread_mutex_lock(&ina_mpi_counterparts.lock);
	if (counterpart->why == INA_MPI_BY_INA)
		draw_cookie(counterpart);
	counterpart->next = ina_mpi_counterparts.first;
	ina_mpi_counterparts.first = counterpart;
	pthread_mutex_unlock(&ina_mpi_counterparts.lock);
	return counterpart;
}

struct ina_mpi_counterpart *ina_mpi_counterpart_of(MPI_Comm comm)
{
	void *counterpart;
	int found;

	PMPI_Comm_get_attr(comm, ina_mpi_world.keyval, &counterpart, &found);
	return found ? counterpart : make(comm);
}

/*
 * A rank closes a counterpart together with all other ranks, even a counterpart that was never
 * opened. Until then another rank may wait in it for a call for which this rank used MPI, and ask
 * about it (talk.h).
 */
static void ask_to_close(struct ina_mpi_counterpart *counterpart)
{
	pthread_mutex_lock(&counterpart->lock);
	counterpart->is_closing = true;
	if (counterpart->why == INA_MPI_BY_INA && !counterpart->is_astray)
		ina_mpi_real.Ibarrier(counterpart->mpi, &counterpart->closing);
	pthread_cond_broadcast(&counterpart->wake);
	pthread_mutex_unlock(&counterpart->lock);
}

/*
 * Called with the lock held. If the counterpart is astray, some ranks may never enter the barrier.
 */
static bool is_closed(struct ina_mpi_counterpart *counterpart)
{
	int done = 1;

	if (counterpart->closing != MPI_REQUEST_NULL && !counterpart->is_astray)
		PMPI_Test(&counterpart->closing, &done, MPI_STATUS_IGNORE);
	return done && ina_mpi_talk_knows(counterpart) &&
	       (counterpart->phase == INA_MPI_UNBEGUN || counterpart->is_ended);
}

static void await_end(struct ina_mpi_counterpart *counterpart)
{
	const struct timespec pause = {.tv_nsec = 1000 * 1000 * CALLER_MS};
	bool closed = false;

	while (!closed) {
		pthread_mutex_lock(&counterpart->lock);
		closed = is_closed(counterpart);
		pthread_mutex_unlock(&counterpart->lock);
		ina_mpi_poke();
		if (!closed)
			nanosleep(&pause, NULL);
	}
}

/* Frees a counterpart that is no longer in the list. */
static void free_counterpart(struct ina_mpi_counterpart *counterpart)
{
	if (counterpart->phase != INA_MPI_UNBEGUN)
		pthread_join(counterpart->thread, NULL);
	pthread_cond_destroy(&counterpart->wake);
	pthread_mutex_destroy(&counterpart->lock);
	free(counterpart->world_ranks);
	free(counterpart);
}

void ina_mpi_counterpart_close(MPI_Comm comm)
{
	struct ina_mpi_counterpart **at = &ina_mpi_counterparts.first;
	struct ina_mpi_counterpart *counterpart;
	void *attribute;
	int found = 0;

	if (!ina_mpi_world.is_open || comm == MPI_COMM_NULL)
		return;
	PMPI_Comm_get_attr(comm, ina_mpi_world.keyval, &attribute, &found);
	if (!found)
		return;
	counterpart = attribute;
	ask_to_close(counterpart);
	await_end(counterpart);
	pthread_mutex_lock(&ina_mpi_counterparts.lock);
	while (*at != counterpart)
		at = &(*at)->next;
	*at = counterpart->next;
	pthread_mutex_unlock(&ina_mpi_counterparts.lock);
	PMPI_Comm_delete_attr(comm, ina_mpi_world.keyval);
	if (counterpart->started_comm != MPI_COMM_NULL)
		ina_mpi_real.Comm_free(&counterpart->started_comm);
	free_counterpart(counterpart);
}

/*
 * Closes all counterparts at the same time, since ranks may have opened them in different orders.
 * MPI_Finalize() frees the MPI communicators.
 */
void ina_mpi_counterpart_close_all(void)
{
	struct ina_mpi_counterpart *counterpart;

	for (counterpart = ina_mpi_counterparts.first; counterpart; counterpart = counterpart->next)
		ask_to_close(counterpart);
	for (counterpart = ina_mpi_counterparts.first; counterpart; counterpart = counterpart->next)
		await_end(counterpart);
	ina_mpi_talk_end();
	while ((counterpart = ina_mpi_counterparts.first)) {
		ina_mpi_counterparts.first = counterpart->next;
		free_counterpart(counterpart);
	}
}
