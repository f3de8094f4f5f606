/* SPDX-License-Identifier: Apache-2.0 */
/* Machines with several ranks: the row of functions for the engine, and the waits. */
#include "parallel.h"

#include "hostlib/engine/count.h"

#include <stdlib.h>
#include <string.h>

/*
 * If another local rank is in a different call, a rank waits this long before it reports it. By
 * then all ranks are in their calls, and the diagnosis can name these.
 */
#define DIFFERENCE_MS 200

/* Allocates all arrays in one piece of memory, those with the strictest alignment first. */
struct ina_parallel *ina_parallel_new(const struct ina_layout *layout)
{
	size_t ranks = (size_t)layout->ranks;
	size_t locals = (size_t)layout->locals;
	size_t rails = (size_t)layout->rails;
	struct ina_local *local;
	struct ina_parallel *parallel =
	        calloc(1, sizeof(*parallel) + rails * sizeof(*parallel->taking) +
	                          ranks * sizeof(*layout->where) +
	                          locals * (sizeof(*local->wake) + sizeof(*local->alive) +
	                                    sizeof(*local->gone)));

	if (!parallel)
		return NULL;
	local = &parallel->local;
	parallel->taking = (struct ina_taking *)(parallel + 1);
	parallel->layout = *layout;
	parallel->layout.where = (struct ina_location *)(parallel->taking + rails);
	memcpy(parallel->layout.where, layout->where, ranks * sizeof(*layout->where));
	local->wake = (int *)(parallel->layout.where + ranks);
	local->alive = local->wake + locals;
	local->gone = (bool *)(local->alive + locals);
	local->count = layout->locals;
	ina_local_init(local);
	parallel->intra.timer_fd = -1;
	parallel->differs = -1;
	return parallel;
}

/* The row of functions. */

static enum ina_status row_start(void *self, const struct ina_transfer *transfer,
                                 struct ina_failure *failure)
{
	bool moved;

	ina_pipeline_start(self, transfer);
	return ina_pipeline_run(self, &moved, failure);
}

static bool row_is_done(const void *self)
{
	return ina_pipeline_is_done(self);
}

static void row_arm(void *self)
{
	struct ina_parallel *parallel = self;

	atomic_store(&ina_parallel_own(parallel)->wants, ina_pipeline_wants(parallel));
	ina_strands_arm(parallel->strands);
}

static enum ina_status row_advance(void *self, bool before_wait, bool *moved,
                                   struct ina_failure *failure)
{
	struct ina_parallel *parallel = self;
	enum ina_status status;

	if (!before_wait) {
		parallel->noticed = true;
		ina_local_awake(&parallel->local, true);
	}
	status = ina_pipeline_run(parallel, moved, failure);
	if (!before_wait || status != INA_OK || *moved || row_is_done(self))
		return status;
	/*
	 * Arms the rail, and runs once more before the caller sleeps, so that no completion is
	 * missed.
	 */
	row_arm(self);
	status = ina_pipeline_run(parallel, moved, failure);
	if (status != INA_OK || *moved)
		ina_local_awake(&parallel->local, false);
	return status;
}

static int row_pollfds(const void *self, struct pollfd *fds)
{
	const struct ina_parallel *parallel = self;
	int count = ina_local_pollfds(&parallel->local, fds);

	if (parallel->intra.timer_fd >= 0)
		fds[count++] = (struct pollfd){.fd = parallel->intra.timer_fd, .events = POLLIN};
	return count + ina_strands_pollfds(parallel->strands, fds + count);
}

/*
 * Is the descriptor one of those that report work: a completion, a wakeup or the end of a read? The
 * others report frames of a control channel and the end of ranks.
 */
static bool is_work(const struct ina_parallel *parallel, const struct pollfd *fd)
{
	return fd->fd == parallel->local.wake[parallel->local.index] ||
	       fd->fd == parallel->intra.timer_fd || ina_strands_is_work(parallel->strands, fd);
}

/*
 * If the wait ended by work alone, does not look for faults, because that would take more system
 * calls than the work.
 */
static enum ina_status row_wait(void *self, int timeout_ms, bool *moved,
                                struct ina_failure *failure)
{
	struct ina_parallel *parallel = self;
	struct pollfd fds[INA_COMM_FDS];
	int count = row_pollfds(self, fds);
	bool work = false;

	count += ina_control_pollfds(parallel->control, fds + count);
	if (parallel->differs >= 0 && timeout_ms > DIFFERENCE_MS)
		timeout_ms = DIFFERENCE_MS;
	if (poll(fds, (nfds_t)count, timeout_ms) > 0) {
		work = true;
		for (int i = 0; i < count; i++)
			work = work && (!fds[i].revents || is_work(parallel, &fds[i]));
	}
	parallel->noticed = !work;
	ina_local_awake(&parallel->local, fds[0].revents != 0);
	*moved = false;
	if (work) {
		enum ina_status status = ina_pipeline_run(parallel, moved, failure);

		/* If only a queue pair was revived, look for faults too. */
		if (status != INA_OK || *moved)
			return status;
		parallel->noticed = true;
	}
	ina_control_pump(parallel->control, 0);
	return INA_OK;
}

static bool row_find_fault(void *self, int64_t waited_ms, struct ina_failure *failure)
{
	struct ina_parallel *parallel = self;
	const struct ina_layout *layout = &parallel->layout;
	int gone = ina_local_look(&parallel->local);

	ina_strands_attend(parallel->strands);
	if (gone >= 0) {
		ina_fail(failure, INA_ERR_PEER, "rank %d, on the same machine, disconnected",
		         ina_layout_rank(layout, layout->machine, gone));
		return true;
	}
	if (ina_strands_have_failed(parallel->strands, failure))
		return true;
	if (parallel->differs < 0 || waited_ms < DIFFERENCE_MS)
		return false;
	ina_fail(failure, INA_ERR_MISMATCH, "rank %d, on the same machine, made a different call",
	         ina_layout_rank(layout, layout->machine, parallel->differs));
	return true;
}

static bool row_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	const struct ina_parallel *parallel = self;
	bool overflow = false;

	*until = 0;
	for (int r = 0; r < parallel->layout.rails; r++)
		overflow |= atomic_load(&parallel->local.ranks[r].overflow) ==
		            parallel->turn->current.number;
	ina_strands_count(parallel->strands, stats);
	ina_count_way(stats, atomic_load(&parallel->local.ranks[0].way));
	return overflow;
}

/*
 * The rail's recovery informs its ranks on the other machines. None of these requests has to wait
 * any more.
 */
static void row_abort(void *self)
{
	struct ina_parallel *parallel = self;

	ina_strands_abort(parallel->strands, parallel->failure);
	for (unsigned int i = 0; i < INA_LOCAL_DEPTH; i++) {
		if (parallel->pipeline.requests[i])
			ina_request_wait(parallel->pipeline.requests[i]);
		parallel->pipeline.requests[i] = NULL;
	}
}

static void row_explain_timeout(const void *self, int timeout_ms, struct ina_failure *failure)
{
	const struct ina_parallel *parallel = self;
	const struct ina_comm *rail = ina_parallel_rail(parallel);

	ina_fail(failure, INA_ERR_TIMEOUT, "received nothing from %s in %d ms",
	         rail && rail->first ? "the other machines" : "another rank of this machine",
	         timeout_ms);
}

const struct ina_algorithm_row ina_parallel_algorithm = {
        .start = row_start,
        .advance = row_advance,
        .wait = row_wait,
        .find_fault = row_find_fault,
        .is_done = row_is_done,
        .end = row_end,
        .abort = row_abort,
        .pollfds = row_pollfds,
        .arm = row_arm,
        .explain_timeout = row_explain_timeout,
};

void ina_parallel_attend(struct ina_parallel *parallel, int timeout_ms)
{
	struct pollfd fds[INA_COMM_FDS];
	int count;

	ina_strands_attend(parallel->strands);
	count = row_pollfds(parallel, fds);
	count += ina_control_pollfds(parallel->control, fds + count);
	poll(fds, (nfds_t)count, timeout_ms);
	ina_local_awake(&parallel->local, true);
	ina_local_look(&parallel->local);
}
