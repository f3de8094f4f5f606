/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever waits in a call takes all operations of its channel further, and the thread does where
 * nobody waits: for what is started, and to open and to close, where a rank waits for all others
 * and MPI is to get on meanwhile.
 */
#include "common/interrupted.h"
#include "channel.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "op.h"
#include "report.h"
#include "talk.h"
#include "world.h"

/* How long a caller sleeps before it lets MPI get on, and the thread before it looks again. */
#define CALLER_MS 1
#define THREAD_MS 200

/* For ina_open(): all ranks call it at the same time. */
#define OPEN_MS 20000

struct ina_mpi_channels ina_mpi_channels = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void record_error(struct ina_mpi_op *op, const char *text)
{
	char shown[MPI_MAX_ERROR_STRING];

	op->code = ina_mpi_world.error_class;
	if (PMPI_Add_error_code(ina_mpi_world.error_class, &op->code) != MPI_SUCCESS)
		return;
	snprintf(shown, sizeof(shown), "libina: %.*s", (int)sizeof(shown) - 16, text);
	PMPI_Add_error_string(op->code, shown);
}

/*
 * Several may have ended since this was last asked: what libina has counted and the table has not
 * is taken for one of them, the aggregator's first.
 */
static enum ina_mpi_why why_of_last(struct ina_mpi_channel *channel)
{
	struct ina_stats stats;

	ina_comm_stats(channel->comm, &stats, sizeof(stats));

	const uint64_t done[INA_MPI_WITHOUT] = {
	        [INA_MPI_BY_INA] = stats.calls_aggregated,
	        [INA_MPI_UNFIT] = stats.calls_unfit,
	        [INA_MPI_HALVED] = stats.calls_halved,
	};

	for (int why = 0; why < INA_MPI_WITHOUT; why++) {
		if (channel->reported[why] != done[why]) {
			channel->reported[why]++;
			return why;
		}
	}
	return INA_MPI_WITHOUT;
}

/* The first operation is at its end: its caller, or whoever waits for its handle, goes on. */
static void finish_first(struct ina_mpi_channel *channel)
{
	struct ina_mpi_op *op = channel->first;

	channel->first = op->next;
	if (!channel->first)
		channel->last = NULL;
	if (op->is_left)
		ina_mpi_report(&op->call, op->plan.bytes, INA_MPI_LEFT);
	else if (op->status != INA_OK)
		record_error(op, channel->text);
	else
		ina_mpi_report(&op->call, op->plan.bytes, why_of_last(channel));
	ina_mpi_op_end(op);
	if (op->call.started) {
		channel->started--;
		PMPI_Grequest_complete(op->handle); /* it may be gone now */
	} else {
		op->is_done = true;
	}
}

/* How far the operation is, which is the first. */
static bool is_at_its_end(struct ina_mpi_channel *channel, struct ina_mpi_op *op)
{
	int done = 1;

	if (op->by_mpi != MPI_REQUEST_NULL)
		op->code = PMPI_Test(&op->by_mpi, &done, MPI_STATUS_IGNORE);
	if (op->request)
		op->status = ina_test(op->request, &done);
	if (done && op->status != INA_OK && channel->comm && !channel->is_astray)
		snprintf(channel->text, sizeof(channel->text), "%s", ina_error(channel->comm));
	return done;
}

static void begin_op(struct ina_mpi_channel *channel, struct ina_mpi_op *op)
{
	op->is_begun = true;
	if (channel->is_astray) {
		op->status = INA_ERR_MISMATCH;
	} else if (!channel->is_left) {
		op->status = ina_mpi_op_begin(op, channel->comm);
	} else {
		op->is_left = true;
		if (op->call.started)
			op->code = ina_mpi_op_start_by_mpi(&op->call, channel->started_comm,
			                                   &op->by_mpi);
	}
}

/* With the lock. Takes all as far as it goes without waiting. */
static void advance(struct ina_mpi_channel *channel)
{
	if (!channel->is_opened && !channel->is_astray)
		return;
	for (struct ina_mpi_op *op = channel->first; op; op = op->next) {
		if (!op->is_begun)
			begin_op(channel, op);
	}
	while (channel->first && is_at_its_end(channel, channel->first))
		finish_first(channel);
}

bool ina_mpi_channel_has_cookie(struct ina_mpi_channel *channel)
{
	int done = 1;

	if (channel->cookie_comes != MPI_REQUEST_NULL)
		PMPI_Test(&channel->cookie_comes, &done, MPI_STATUS_IGNORE);
	return done;
}

void ina_mpi_channel_lead_astray(struct ina_mpi_channel *channel, const char *text)
{
	if (channel->is_astray || channel->is_left)
		return;
	channel->is_astray = true;
	snprintf(channel->text, sizeof(channel->text), "%s", text);
	ina_abort(channel->comm, text);
	advance(channel);
	pthread_cond_broadcast(&channel->wake);
}

/* With the lock: the other ranks may need as long as they like. */
static void await_phase(struct ina_mpi_channel *channel, enum ina_mpi_phase phase)
{
	while (channel->phase < phase && !channel->is_astray)
		pthread_cond_wait(&channel->wake, &channel->lock);
}

/* Returns with the lock. */
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

/* With the lock, which it releases while it waits: the thread alone closes. */
static void close_comm(struct ina_mpi_channel *channel)
{
	ina_comm *comm = channel->comm;

	channel->comm = NULL;
	pthread_mutex_unlock(&channel->lock);
	ina_close(comm);
	pthread_mutex_lock(&channel->lock);
}

/* The program's error handler is for what MPI says of calls that went there. */
static void inherit_errhandler(struct ina_mpi_channel *channel)
{
	MPI_Errhandler handler;

	PMPI_Comm_get_errhandler(channel->mpi, &handler);
	PMPI_Comm_set_errhandler(channel->started_comm, handler);
	PMPI_Errhandler_free(&handler);
}

/* With the lock, which it releases while it waits: at all ranks, each in its thread. */
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
	inherit_errhandler(channel);
}

/* With the lock, which it releases while it waits. */
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

		advance(channel);
		if (channel->started == 0) {
			if (!channel->is_closing || channel->first)
				pthread_cond_wait(&channel->wake, &channel->lock);
			continue;
		}
		pthread_mutex_unlock(&channel->lock);
		poll(&fd, 1, channel->is_left ? CALLER_MS : THREAD_MS);
		pthread_mutex_lock(&channel->lock);
	}
	close_comm(channel);
	channel->is_ended = true;
	pthread_mutex_unlock(&channel->lock);
	return NULL;
}

/* Signals are the program's threads' to handle. */
static int start_thread(struct ina_mpi_channel *channel)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&channel->thread, NULL, run, channel);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

/* With the lock. */
static void begin(struct ina_mpi_channel *channel)
{
	if (start_thread(channel) != 0) {
		fprintf(stderr, "ina-mpi: no thread can be started\n");
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
	/* A barrier alone is not worth that a communicator is opened for it. */
	if (why == INA_MPI_BY_INA && call->kind == INA_MPI_BARRIER && channel->place.by_ina == 0)
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

static void put(struct ina_mpi_channel *channel, struct ina_mpi_op *op)
{
	if (channel->last)
		channel->last->next = op;
	else
		channel->first = op;
	channel->last = op;
	if (op->call.started) {
		channel->started++;
		pthread_cond_broadcast(&channel->wake);
	}
	advance(channel);
}

bool ina_mpi_channel_start_by_mpi(struct ina_mpi_channel *channel, const struct ina_mpi_call *call,
                                  MPI_Request *request, int *code)
{
	bool is_mine;

	pthread_mutex_lock(&channel->lock);
	is_mine = channel->is_left && channel->is_opened && !channel->first;
	if (is_mine) {
		inherit_errhandler(channel);
		*code = ina_mpi_op_start_by_mpi(call, channel->started_comm, request);
	}
	pthread_mutex_unlock(&channel->lock);
	return is_mine;
}

bool ina_mpi_channel_do(struct ina_mpi_channel *channel, struct ina_mpi_op *op)
{
	bool started = op->call.started;

	op->next = NULL;
	op->by_mpi = MPI_REQUEST_NULL;
	pthread_mutex_lock(&channel->lock);
	if (channel->phase == INA_MPI_UNBEGUN && !channel->is_astray)
		begin(channel);
	put(channel, op);
	while (!started && !op->is_done) {
		struct pollfd fd = {.fd = channel->fd, .events = POLLIN};

		pthread_mutex_unlock(&channel->lock);
		ina_mpi_poke();
		poll(&fd, 1, CALLER_MS); /* before it is opened, fd is -1, which poll() skips */
		pthread_mutex_lock(&channel->lock);
		advance(channel);
	}
	pthread_mutex_unlock(&channel->lock);
	return started || !op->is_left;
}

/* By world ranks and what each has said in MPI_Init: nothing is sent. */
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
		/* One of those ranks says so. */
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
 * Each channel has a cookie, whether it is opened or not: so all ranks take part in this at the
 * same call, whatever they then do with it. A started broadcast, which no blocking call of the
 * program can be taken for.
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
 * A rank closes a channel when all do, also one that was never opened: until then another one may
 * wait there for a call that this one has done by MPI, and asks about it (talk.h).
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

/* With the lock. Where the channel is astray, not all ranks may come to the barrier. */
static bool is_closed(struct ina_mpi_channel *channel)
{
	int done = 1;

	if (channel->closing != MPI_REQUEST_NULL && !channel->is_astray)
		PMPI_Test(&channel->closing, &done, MPI_STATUS_IGNORE);
	return done && ina_mpi_channel_has_cookie(channel) &&
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

/* Of one that is not in the list any more. */
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
 * All at the same time: ranks may have opened them in different orders. Communicators of MPI are
 * left for MPI_Finalize() to free.
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
