/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of an all-reduce of several machines: what to wait for, and what to do if it does not come.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/deadline.h"
#include "parallel.h"

/*
 * How long a rank that finds another one in another call waits: by then all are in that call, and
 * the settlement can say who called what.
 */
#define DIFFERENCE_MS 200

int ina_parallel_pollfds(const struct ina_comm *comm, struct pollfd *fds)
{
	const struct ina_comm *rail = comm->parallel->rail;
	const struct ina_intra *intra = &comm->parallel->intra;
	int count = ina_local_pollfds(&comm->parallel->local, fds);

	if (intra->timer_fd >= 0)
		fds[count++] = (struct pollfd){.fd = intra->timer_fd, .events = POLLIN};
	count += ina_control_pollfds(&comm->control, fds + count);
	if (!rail || rail->ranks == 1)
		return count;
	count += ina_control_pollfds(&rail->control, fds + count);
	/* Messages that come before their call are left where they are. */
	if (rail->first || rail->phase != INA_STEADY)
		fds[count++] = (struct pollfd){.fd = rail->fabric.channel->fd, .events = POLLIN};
	if (rail->phase == INA_REJOINING)
		fds[count++] = (struct pollfd){.fd = rail->fabric.events->fd, .events = POLLIN};
	return count;
}

/* A completion, a wake-up, or what has been read: not a word of the control channel, nor an end. */
static bool is_work(const struct ina_comm *comm, int fd)
{
	const struct ina_parallel *parallel = comm->parallel;

	return fd == parallel->local.wake[parallel->local.index] ||
	       fd == parallel->intra.timer_fd ||
	       (parallel->rail && parallel->rail->ranks > 1 &&
	        fd == parallel->rail->fabric.channel->fd);
}

void ina_parallel_attend(struct ina_comm *rail)
{
	if (rail->first || rail->ranks == 1 || rail->failure.status != INA_OK)
		return;
	ina_control_pump(&rail->control, 0);
	if (rail->phase == INA_STEADY && ina_disturbed(&rail->control, &rail->current))
		ina_comm_fault(rail, NULL);
	while (rail->phase != INA_STEADY) {
		ina_progress_arm(rail);
		rail->last_completions = 0;
		ina_comm_mend(rail, 0);
		if (rail->last_completions == 0)
			break;
	}
}

/* The other machines' ranks of the rail are told by their own settlement, and here nothing waits.
 */
static void die(struct ina_comm *comm)
{
	struct ina_comm *rail = comm->parallel->rail;

	comm->latest = comm->failure;
	if (rail && rail->failure.status == INA_OK) {
		rail->failure = comm->failure;
		ina_fabric_silence(&rail->fabric);
		ina_collective_abort(rail);
	}
	for (unsigned int i = 0; rail && i < INA_LOCAL_DEPTH; i++) {
		if (comm->parallel->pipeline.requests[i])
			ina_wait(comm->parallel->pipeline.requests[i]);
		comm->parallel->pipeline.requests[i] = NULL;
	}
	comm->phase = INA_STEADY;
	ina_collective_abort(comm);
}

void ina_parallel_mend(struct ina_comm *comm, int timeout_ms)
{
	struct ina_plan ignored;

	ina_control_pump(&comm->control, ina_fault_agreement_tick(&comm->settlement, timeout_ms));
	/* No aggregator at this storey: no fault can be mended. */
	if (ina_fault_agreement_poll(&comm->settlement, &comm->control, &ignored, &comm->failure) ==
	    INA_FAULT_FATAL)
		die(comm);
}

static void activate(struct ina_comm *comm)
{
	ina_collective_begin(comm);
	ina_pipeline_start(comm);
}

static void count_call(struct ina_comm *comm)
{
	const struct ina_parallel *parallel = comm->parallel;
	struct ina_stats *stats = &comm->stats;
	uint64_t overflows = stats->overflows;
	struct ina_stats rail = {0};
	uint64_t calls = stats->calls + 1;
	bool overflow = false;

	for (int r = 0; r < parallel->topology.rails; r++)
		overflow |= atomic_load(&parallel->local.ranks[r].overflow) == comm->current.number;
	if (parallel->rail) {
		rail = parallel->rail->stats;
		stats->algorithm = rail.algorithm;
		stats->messages_aggregated = rail.messages_aggregated;
		stats->messages_ring = rail.messages_ring;
		stats->bytes_aggregated = rail.bytes_aggregated;
		stats->bytes_ring = rail.bytes_ring;
		stats->messages_retried = rail.messages_retried;
		stats->fallbacks = rail.fallbacks;
		stats->rejoins = rail.rejoins;
		stats->registrations = rail.registrations;
	}
	stats->calls = calls;
	stats->overflows = overflows + overflow;
}

static const char *where(const struct ina_parallel *parallel)
{
	return parallel->rail && parallel->rail->first ? "a sum of all machines"
	                                               : "another rank of this machine";
}

/* Nothing has moved: is anything wrong? */
static void look_around(struct ina_comm *comm)
{
	struct ina_parallel *parallel = comm->parallel;
	int64_t now_ms = ina_now_ms();
	struct ina_failure failure;
	int gone = ina_local_look(&parallel->local);

	ina_control_pump(&comm->control, 0);
	if (parallel->rail)
		ina_parallel_attend(parallel->rail);
	if (gone >= 0) {
		ina_fail(&failure, INA_ERR_PEER, "rank %d, on the same machine, is gone",
		         ina_topology_rank(&parallel->topology, parallel->topology.machine, gone));
		ina_comm_fault(comm, &failure);
	} else if (ina_disturbed(&comm->control, &comm->current)) {
		ina_comm_fault(comm, NULL);
	} else if (parallel->rail && parallel->rail->failure.status != INA_OK) {
		ina_comm_fault(comm, &parallel->rail->failure);
	} else if (parallel->differs >= 0 && now_ms - comm->progressed_ms >= DIFFERENCE_MS) {
		ina_fail(&failure, INA_ERR_MISMATCH,
		         "rank %d, on the same machine, called something else",
		         ina_topology_rank(&parallel->topology, parallel->topology.machine,
		                           parallel->differs));
		ina_comm_fault(comm, &failure);
	} else if (now_ms >= comm->deadline_ms) {
		ina_fail(&failure, INA_ERR_TIMEOUT, "waited in vain for %s, for %d ms",
		         where(parallel), comm->settings.options.timeout_ms);
		ina_comm_fault(comm, &failure);
	} else if (now_ms - comm->progressed_ms >= INA_STALL_MS) {
		ina_tell_stall(&comm->control, &comm->current);
	}
}

/* Takes the request as far as it goes. Returns whether anything has moved, or it is over. */
static bool go(struct ina_comm *comm)
{
	struct ina_failure failure;
	bool moved;

	if (ina_pipeline_advance(comm, &moved, &failure) != INA_OK) {
		ina_comm_fault(comm, &failure);
		return true;
	}
	if (moved)
		comm->progressed_ms = ina_now_ms();
	if (!ina_pipeline_done(comm))
		return moved;
	count_call(comm);
	ina_collective_finish(comm, INA_OK);
	return true;
}

/* The descriptor tells of what there is to wait for now. */
static void follow(struct ina_comm *comm)
{
	struct ina_parallel *parallel = comm->parallel;
	struct pollfd fds[INA_PARALLEL_FDS];
	uint64_t ticks;
	int count;

	if (parallel->epoll_fd < 0)
		return;
	if (read(parallel->timer_fd, &ticks, sizeof(ticks)) < 0)
		ticks = 0;
	count = ina_parallel_pollfds(comm, fds);
	for (int i = 0; i < count; i++) {
		struct epoll_event event = {.events = (uint32_t)fds[i].events,
		                            .data.fd = fds[i].fd};

		epoll_ctl(parallel->epoll_fd, EPOLL_CTL_ADD, fds[i].fd, &event);
	}
	if (parallel->rail && parallel->rail->ranks > 1 && !parallel->rail->first)
		epoll_ctl(parallel->epoll_fd, EPOLL_CTL_DEL, parallel->rail->fabric.channel->fd,
		          NULL);
}

static bool is_under_way(const struct ina_comm *comm)
{
	return comm->phase == INA_STEADY && comm->first && comm->first->active;
}

/* Sleeps. Who looks round each time pays for more calls of the kernel than the work takes. */
static void wait_for_work(struct ina_comm *comm, int timeout_ms)
{
	struct ina_parallel *parallel = comm->parallel;
	struct pollfd fds[INA_PARALLEL_FDS];
	int count = ina_parallel_pollfds(comm, fds);
	bool work = false;

	if (parallel->differs >= 0 && timeout_ms > DIFFERENCE_MS)
		timeout_ms = DIFFERENCE_MS;
	if (poll(fds, (nfds_t)count, timeout_ms) > 0) {
		work = true;
		for (int i = 0; i < count; i++)
			work = work && (!fds[i].revents || is_work(comm, fds[i].fd));
	}
	parallel->noticed = !work;
	ina_local_awake(&parallel->local, fds[0].revents != 0);
}

void ina_parallel_step(struct ina_comm *comm, int timeout_ms)
{
	struct ina_parallel *parallel = comm->parallel;
	struct ina_local *local = &parallel->local;

	if (comm->phase != INA_STEADY) {
		ina_parallel_mend(comm, timeout_ms);
		return;
	}
	if (timeout_ms == 0) {
		parallel->noticed = true;
		ina_local_awake(local, true);
	}
	if (!comm->first->active)
		activate(comm);
	if (go(comm) && timeout_ms > 0)
		return;
	if (!is_under_way(comm))
		return;
	if (parallel->noticed)
		look_around(comm);
	if (!is_under_way(comm))
		return;
	/* Armed first, looked at once more, then asleep: nothing can slip in between. */
	atomic_store(&local->ranks[local->index].wants, ina_pipeline_wants(comm));
	if (parallel->rail && parallel->rail->first && parallel->rail->ranks > 1)
		ina_progress_arm(parallel->rail);
	if (go(comm) && timeout_ms > 0) {
		ina_local_awake(local, false);
		return;
	}
	if (!is_under_way(comm))
		return;
	if (timeout_ms > 0)
		wait_for_work(comm, timeout_ms);
	else
		follow(comm);
}

enum ina_status ina_parallel_fd(struct ina_comm *comm, int *fd)
{
	struct ina_parallel *parallel = comm->parallel;
	const struct itimerspec times = {.it_interval.tv_nsec = 500000000,
	                                 .it_value.tv_nsec = 500000000};
	struct epoll_event event = {.events = EPOLLIN};

	if (parallel->epoll_fd < 0) {
		parallel->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		parallel->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		if (parallel->epoll_fd < 0 || parallel->timer_fd < 0 ||
		    timerfd_settime(parallel->timer_fd, 0, &times, NULL) != 0 ||
		    epoll_ctl(parallel->epoll_fd, EPOLL_CTL_ADD, parallel->timer_fd, &event) != 0)
			return ina_fail(&comm->latest, INA_ERR_SYSTEM,
			                "no file descriptor to poll on: %s", strerror(errno));
	}
	*fd = parallel->epoll_fd;
	return INA_OK;
}
