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
#include "world.h"

/* How long a caller sleeps before it lets MPI get on, and the thread before it looks again. */
#define CALLER_MS 1
#define THREAD_MS 200

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct ina_mpi_channel *list;

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
	if (op->status != INA_OK)
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

/* With the lock. Takes all as far as it goes without waiting. */
static void advance(struct ina_mpi_channel *channel)
{
	if (!channel->is_opened)
		return;
	for (struct ina_mpi_op *op = channel->first; op; op = op->next) {
		if (op->is_begun)
			continue;
		op->is_begun = true;
		op->status = channel->failure;
		if (op->status == INA_OK)
			op->status = ina_mpi_op_begin(op, channel->comm);
	}
	while (channel->first) {
		struct ina_mpi_op *op = channel->first;
		int done = 1;

		if (op->request)
			op->status = ina_test(op->request, &done);
		if (!done)
			return;
		if (op->status != INA_OK && channel->comm)
			snprintf(channel->text, sizeof(channel->text), "%s",
			         ina_error(channel->comm));
		finish_first(channel);
	}
}

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

	if (channel->cookie_comes != MPI_REQUEST_NULL)
		PMPI_Wait(&channel->cookie_comes, MPI_STATUS_IGNORE);
	inet_ntop(AF_INET, &channel->root, root, sizeof(root));
	inet_ntop(AF_INET, &ina_mpi_world.addresses[ina_mpi_world.rank], own, sizeof(own));
	snprintf(cookie, sizeof(cookie), "mpi %016" PRIx64, channel->cookie);
	ina_options_init(&options);
	options.rank = channel->rank;
	options.ranks = channel->ranks;
	options.root = root;
	options.bind = own;
	options.cookie = cookie;
	status = ina_open(&options, &comm, why, sizeof(why));
	if (status == INA_OK)
		status = ina_comm_fd(comm, &fd);
	pthread_mutex_lock(&channel->lock);
	channel->comm = comm;
	channel->fd = fd;
	channel->failure = status;
	snprintf(channel->text, sizeof(channel->text), "%s", why);
	channel->is_opened = true;
	pthread_cond_broadcast(&channel->wake);
	pthread_mutex_unlock(&channel->lock);
}

static void *run(void *context)
{
	struct ina_mpi_channel *channel = context;

	open_channel(channel);
	pthread_mutex_lock(&channel->lock);
	while (!channel->is_closing || channel->first) {
		struct pollfd fd = {.fd = channel->fd, .events = POLLIN};

		advance(channel);
		if (channel->started == 0) {
			if (!channel->is_closing || channel->first)
				pthread_cond_wait(&channel->wake, &channel->lock);
			continue;
		}
		pthread_mutex_unlock(&channel->lock);
		poll(&fd, 1, THREAD_MS);
		pthread_mutex_lock(&channel->lock);
	}
	pthread_mutex_unlock(&channel->lock);
	ina_close(channel->comm);
	pthread_mutex_lock(&channel->lock);
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

/* At the same call on all ranks, whose rank 0 draws a cookie. */
static void begin(struct ina_mpi_channel *channel, const struct ina_mpi_call *call)
{
	ssize_t got = sizeof(channel->cookie);

	if (channel->rank == 0)
		INA_UNINTERRUPTED(got, getrandom(&channel->cookie, sizeof(channel->cookie), 0));
	if (got != sizeof(channel->cookie))
		PMPI_Abort(call->comm, EXIT_FAILURE);
	if (call->started)
		ina_mpi_real.Ibcast(&channel->cookie, 1, MPI_UINT64_T, 0, call->comm,
		                    &channel->cookie_comes);
	else
		ina_mpi_real.Bcast(&channel->cookie, 1, MPI_UINT64_T, 0, call->comm);
	if (start_thread(channel) != 0) {
		fprintf(stderr, "ina-mpi: no thread can be started\n");
		PMPI_Abort(call->comm, EXIT_FAILURE);
	}
	channel->is_begun = true;
}

bool ina_mpi_channel_is_begun(const struct ina_mpi_channel *channel)
{
	return channel->is_begun;
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

void ina_mpi_channel_do(struct ina_mpi_channel *channel, struct ina_mpi_op *op)
{
	bool started = op->call.started;

	if (!channel->is_begun)
		begin(channel, &op->call);
	op->next = NULL;
	pthread_mutex_lock(&channel->lock);
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
}

/* By world ranks and what each has said in MPI_Init: nothing is sent. */
static void look_at_ranks(struct ina_mpi_channel *channel, MPI_Comm comm)
{
	MPI_Group group;
	bool several_hosts = false;

	channel->why = INA_MPI_BY_INA;
	PMPI_Comm_group(comm, &group);
	for (int r = 0; r < channel->ranks && channel->why == INA_MPI_BY_INA; r++) {
		int world_rank;
		uint32_t address;

		PMPI_Group_translate_ranks(group, 1, &r, ina_mpi_world.group, &world_rank);
		if (world_rank == MPI_UNDEFINED) {
			channel->why = INA_MPI_FOREIGN;
			break;
		}
		address = ina_mpi_world.addresses[world_rank];
		if (address == 0)
			channel->why = INA_MPI_NO_DEVICE;
		if (r == 0)
			channel->root = address;
		several_hosts |= address != channel->root;
	}
	PMPI_Group_free(&group);
	if (channel->why == INA_MPI_BY_INA && !several_hosts)
		channel->why = INA_MPI_ONE_HOST;
}

static struct ina_mpi_channel *make(MPI_Comm comm)
{
	struct ina_mpi_channel *channel = calloc(1, sizeof(*channel));
	int inter;

	if (!channel)
		PMPI_Abort(comm, EXIT_FAILURE);
	channel->fd = -1;
	channel->cookie_comes = MPI_REQUEST_NULL;
	pthread_mutex_init(&channel->lock, NULL);
	pthread_cond_init(&channel->wake, NULL);
	PMPI_Comm_rank(comm, &channel->rank);
	PMPI_Comm_size(comm, &channel->ranks);
	PMPI_Comm_test_inter(comm, &inter);
	if (inter)
		channel->why = INA_MPI_INTER;
	else if (channel->ranks == 1)
		channel->why = INA_MPI_FEW;
	else if (channel->ranks > INA_MAX_RANKS)
		channel->why = INA_MPI_MANY;
	else
		look_at_ranks(channel, comm);
	PMPI_Comm_set_attr(comm, ina_mpi_world.keyval, channel);
	pthread_mutex_lock(&list_lock);
	channel->next = list;
	list = channel;
	pthread_mutex_unlock(&list_lock);
	return channel;
}

struct ina_mpi_channel *ina_mpi_channel_of(MPI_Comm comm)
{
	void *channel;
	int found;

	PMPI_Comm_get_attr(comm, ina_mpi_world.keyval, &channel, &found);
	return found ? channel : make(comm);
}

static void ask_to_close(struct ina_mpi_channel *channel)
{
	pthread_mutex_lock(&channel->lock);
	channel->is_closing = true;
	pthread_cond_broadcast(&channel->wake);
	pthread_mutex_unlock(&channel->lock);
}

static void await_end(struct ina_mpi_channel *channel)
{
	const struct timespec pause = {.tv_nsec = 1000 * 1000 * CALLER_MS};
	bool ended = !channel->is_begun;

	while (!ended) {
		ina_mpi_poke();
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&channel->lock);
		ended = channel->is_ended;
		pthread_mutex_unlock(&channel->lock);
	}
	if (channel->is_begun)
		pthread_join(channel->thread, NULL);
	pthread_cond_destroy(&channel->wake);
	pthread_mutex_destroy(&channel->lock);
	free(channel);
}

void ina_mpi_channel_close(MPI_Comm comm)
{
	struct ina_mpi_channel **at = &list;
	struct ina_mpi_channel *channel;
	void *attribute;
	int found = 0;

	if (!ina_mpi_world.is_open || comm == MPI_COMM_NULL)
		return;
	PMPI_Comm_get_attr(comm, ina_mpi_world.keyval, &attribute, &found);
	if (!found)
		return;
	channel = attribute;
	pthread_mutex_lock(&list_lock);
	while (*at != channel)
		at = &(*at)->next;
	*at = channel->next;
	pthread_mutex_unlock(&list_lock);
	PMPI_Comm_delete_attr(comm, ina_mpi_world.keyval);
	ask_to_close(channel);
	await_end(channel);
}

/* All at once: ranks may have opened them in different orders. */
void ina_mpi_channel_close_all(void)
{
	for (struct ina_mpi_channel *channel = list; channel; channel = channel->next)
		ask_to_close(channel);
	while (list) {
		struct ina_mpi_channel *channel = list;

		list = channel->next;
		await_end(channel);
	}
}
