/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One all-reduce of machines with several ranks. Each rail has a part of the elements, which is cut
 * into segments, one for each step. In each step
 *
 *	every rank	puts its own of each rail's segment into shared memory (contributes);
 *	rail r's owner	reads its machine's for rail r and adds them up by local index (reduces);
 *	rail r		all-reduces that sum among the machines' owners (publishes);
 *	every rank	reads the sums of all rails (takes).
 *
 * The steps are a pipeline of INA_LOCAL_DEPTH places. A place is used again when all for whom it
 * was meant have said that they are done with it, and nobody waits for anything else.
 */
#include "parallel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hostlib/elements/reduce.h"

/*
 * How long a rank that finds another one in another call waits: by then all are in that call, and
 * the diagnosis can say who called what.
 */
#define DIFFERENCE_MS 200

/* Less than a message is not divided: it would cost every rail a message's latency. */
#define PART_BYTES_MIN ((size_t)64 << 10)

/* One piece of memory, those first whose alignment is the strictest. */
struct ina_parallel *ina_parallel_new(const struct ina_topology *topology)
{
	size_t ranks = (size_t)topology->ranks;
	size_t locals = (size_t)topology->locals;
	size_t rails = (size_t)topology->rails;
	struct ina_local *local;
	struct ina_parallel *parallel =
	        calloc(1, sizeof(*parallel) + rails * sizeof(*parallel->taking) +
	                          ranks * sizeof(*topology->where) +
	                          locals * (sizeof(*local->wake) + sizeof(*local->alive) +
	                                    sizeof(*local->gone)));

	if (!parallel)
		return NULL;
	local = &parallel->local;
	parallel->taking = (struct ina_taking *)(parallel + 1);
	parallel->topology = *topology;
	parallel->topology.where = (struct ina_location *)(parallel->taking + rails);
	memcpy(parallel->topology.where, topology->where, ranks * sizeof(*topology->where));
	local->wake = (int *)(parallel->topology.where + ranks);
	local->alive = local->wake + locals;
	local->gone = (bool *)(local->alive + locals);
	local->count = topology->locals;
	ina_local_init(local);
	parallel->intra.timer_fd = -1;
	parallel->differs = -1;
	return parallel;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t round_up(size_t bytes)
{
	return (bytes + 63) / 64 * 64; /* a cache line holds whole elements of every type */
}

/*
 * Where step `step` begins in a rail's part. The first step is shorter on the lower rails, and the
 * last one makes up for it: rails that began and ended their all-reduces together would all leave
 * the network idle at the same time.
 */
static size_t step_offset(const struct ina_parallel *parallel, uint64_t step, int rail)
{
	const struct ina_pipeline *p = &parallel->pipeline;
	size_t rails = (size_t)parallel->topology.rails;
	size_t first = p->steps == 1 ? p->part_bytes
	                             : round_up(p->segment_bytes * ((size_t)rail + 1) / rails);

	return step == 0 ? 0 : smaller(first + (step - 1) * p->segment_bytes, p->part_bytes);
}

static size_t segment_offset(const struct ina_parallel *parallel, uint64_t step, int rail)
{
	const struct ina_pipeline *p = &parallel->pipeline;

	return smaller((size_t)rail * p->part_bytes + step_offset(parallel, step, rail),
	               p->transfer.total_bytes);
}

static size_t segment_size(const struct ina_parallel *parallel, uint64_t step, int rail)
{
	const struct ina_pipeline *p = &parallel->pipeline;
	size_t end = (size_t)rail * p->part_bytes + step_offset(parallel, step + 1, rail);

	return smaller(end, p->transfer.total_bytes) - segment_offset(parallel, step, rail);
}

static struct ina_local_rank *own(const struct ina_parallel *parallel)
{
	return &parallel->local.ranks[parallel->local.index];
}

static void start_pipeline(struct ina_parallel *parallel, const struct ina_transfer *transfer)
{
	size_t rails = (size_t)parallel->topology.rails;
	size_t total = transfer->total_bytes;
	size_t even = round_up((total + rails - 1) / rails);
	size_t part = even < PART_BYTES_MIN ? PART_BYTES_MIN : even;
	/* Nothing is a step as well: its call is compared with the others'. */
	size_t segments = total == 0 ? 1 : (part - 1) / parallel->local.segment_bytes + 1;
	uint64_t base = parallel->pipeline.base + parallel->pipeline.steps;

	parallel->pipeline = (struct ina_pipeline){
	        .transfer = *transfer,
	        .base = base,
	        .part_bytes = part,
	        .segment_bytes = round_up((part + segments - 1) / segments),
	        .steps = segments + (segments > 1 && rails > 1),
	};
	memset(parallel->taking, 0, rails * sizeof(*parallel->taking));
	if (parallel->rail)
		parallel->pipeline.rail_overflows = parallel->rail->stats.overflows;
	own(parallel)->call = parallel->turn->current;
}

static bool contribute(struct ina_parallel *parallel)
{
	struct ina_pipeline *p = &parallel->pipeline;
	const struct ina_local *local = &parallel->local;
	const uint8_t *send = p->transfer.send;

	if (p->contributed == p->steps ||
	    !ina_local_is_free(ina_local_all_reduced(local), p->base + p->contributed))
		return false;
	for (int r = 0; r < parallel->topology.rails; r++) {
		size_t bytes = segment_size(parallel, p->contributed, r);

		/* An owner adds its own from where they are. */
		if (r != local->index && bytes > 0)
			memcpy(ina_local_contribution(local, local->index, r,
			                              p->base + p->contributed),
			       send + segment_offset(parallel, p->contributed, r), bytes);
	}
	p->contributed++;
	atomic_store(&own(parallel)->contributed, p->base + p->contributed);
	return true;
}

static bool same_call(const struct ina_call *a, const struct ina_call *b)
{
	return a->number == b->number && a->count == b->count && a->type == b->type &&
	       a->op == b->op;
}

/* Have all contributed to the step, in this same call? */
static bool all_contributed(struct ina_parallel *parallel)
{
	const struct ina_pipeline *p = &parallel->pipeline;

	parallel->differs = -1;
	for (int i = 0; i < parallel->local.count; i++) {
		struct ina_local_rank *rank = &parallel->local.ranks[i];

		if (atomic_load(&rank->contributed) <= p->base + p->reduced)
			return false;
		if (!same_call(&rank->call, &parallel->turn->current)) {
			parallel->differs = i;
			return false;
		}
	}
	return true;
}

static void add_up(struct ina_parallel *parallel, uint8_t *sum, size_t bytes)
{
	struct ina_pipeline *p = &parallel->pipeline;
	const struct ina_local *local = &parallel->local;
	const struct ina_transfer *transfer = &p->transfer;
	int rail = local->index;
	const void *before = NULL;

	for (int i = 0; i < local->count && bytes > 0; i++) {
		const uint8_t *part =
		        i == local->index
		                ? transfer->send + segment_offset(parallel, p->reduced, rail)
		                : ina_local_contribution(local, i, rail, p->base + p->reduced);

		if (!before && local->count == 1)
			memcpy(sum, part, bytes);
		else if (before)
			p->overflow |=
			        ina_reduce(sum, part, before, bytes / transfer->element_bytes,
			                   transfer->type, transfer->op);
		before = before ? sum : part;
	}
}

static enum ina_status reduce(struct ina_parallel *parallel, bool *moved,
                              struct ina_failure *failure)
{
	struct ina_pipeline *p = &parallel->pipeline;
	const struct ina_transfer *transfer = &p->transfer;
	int rail = parallel->local.index;
	uint64_t step = p->base + p->reduced;
	size_t bytes;
	uint8_t *sum;
	bool goes;

	*moved = false;
	if (p->reduced == p->steps || !ina_local_is_free(p->base + p->published, step))
		return INA_OK;
	bytes = segment_size(parallel, p->reduced, rail);
	/* The first rail's first step goes even if it is empty, for the call to be compared. */
	goes = bytes > 0 || (p->reduced == 0 && rail == 0);
	if (goes && (!ina_local_is_free(ina_local_all_taken(&parallel->local), step) ||
	             !all_contributed(parallel)))
		return INA_OK;
	sum = ina_local_reduced(&parallel->local, rail, step);
	if (p->adding_ns == 0) {
		add_up(parallel, sum, bytes);
		p->adding_ns = ina_intra_read(&parallel->intra,
		                              (size_t)(parallel->local.count - 1) * bytes);
	}
	if (!ina_intra_is_there(&parallel->intra, p->adding_ns))
		return INA_OK;
	p->adding_ns = 0;
	if (goes &&
	    ina_request_start(parallel->rail, sum, ina_local_sum(&parallel->local, rail, step),
	                      bytes / transfer->element_bytes, transfer->type, transfer->op,
	                      &p->requests[step % INA_LOCAL_DEPTH]) != INA_OK) {
		*failure = parallel->rail->latest;
		return failure->status;
	}
	p->reduced++;
	atomic_store(&own(parallel)->reduced, p->base + p->reduced);
	*moved = true;
	return INA_OK;
}

static enum ina_status publish(struct ina_parallel *parallel, bool *moved,
                               struct ina_failure *failure)
{
	struct ina_pipeline *p = &parallel->pipeline;
	struct ina_request **place = &p->requests[(p->base + p->published) % INA_LOCAL_DEPTH];

	*moved = false;
	if (parallel->rail->first && parallel->noticed)
		*moved = ina_comm_step(parallel->rail, 0);
	else if (parallel->rail->first)
		*moved = ina_comm_work(parallel->rail);
	if (p->published == p->reduced || (*place && !(*place)->done))
		return INA_OK;
	if (*place && ina_request_take(*place) != INA_OK) {
		*place = NULL;
		*failure = parallel->rail->failure;
		return failure->status;
	}
	*place = NULL;
	p->published++;
	p->overflow |= parallel->rail->stats.overflows != p->rail_overflows;
	if (p->published == p->steps && p->overflow)
		atomic_store(&own(parallel)->overflow, parallel->turn->current.number);
	atomic_store(&own(parallel)->published, p->base + p->published);
	*moved = true;
	return INA_OK;
}

/* A rail's next sum; returns when it is there. Who owns the rail has it. */
static int64_t copy_sum(struct ina_parallel *parallel, int rail)
{
	const struct ina_local *local = &parallel->local;
	uint64_t step = parallel->taking[rail].steps;
	size_t bytes = segment_size(parallel, step, rail);

	if (bytes > 0)
		memcpy(parallel->pipeline.transfer.recv + segment_offset(parallel, step, rail),
		       ina_local_sum(local, rail, parallel->pipeline.base + step), bytes);
	return ina_intra_read(&parallel->intra, rail == local->index ? 0 : bytes);
}

static bool take(struct ina_parallel *parallel)
{
	const struct ina_pipeline *p = &parallel->pipeline;
	uint64_t all = p->steps;
	bool moved = false;

	for (int r = 0; r < parallel->topology.rails; r++) {
		uint64_t published = atomic_load(&parallel->local.ranks[r].published);
		struct ina_taking *taking = &parallel->taking[r];

		for (; p->base + taking->steps < published && taking->steps < p->steps;
		     taking->steps++) {
			if (taking->ready_ns == 0)
				taking->ready_ns = copy_sum(parallel, r);
			if (!ina_intra_is_there(&parallel->intra, taking->ready_ns))
				break;
			taking->ready_ns = 0;
			moved = true;
		}
		all = taking->steps < all ? taking->steps : all;
	}
	atomic_store(&own(parallel)->taken, p->base + all);
	return moved;
}

/* The timer tells of what is there first of what is being read. */
static void await_reads(struct ina_parallel *parallel)
{
	int64_t first_ns = parallel->pipeline.adding_ns;

	for (int r = 0; r < parallel->topology.rails; r++) {
		int64_t ready_ns = parallel->taking[r].ready_ns;

		if (ready_ns != 0 && (first_ns == 0 || ready_ns < first_ns))
			first_ns = ready_ns;
	}
	ina_intra_arm(&parallel->intra, first_ns);
}

/* As far as it goes without a wait. */
static enum ina_status run(struct ina_parallel *parallel, bool *moved, struct ina_failure *failure)
{
	bool again = true;
	bool changed;

	*moved = false;
	while (again) {
		again = contribute(parallel);
		if (parallel->rail) {
			if (reduce(parallel, &changed, failure) != INA_OK)
				return failure->status;
			again |= changed;
			if (publish(parallel, &changed, failure) != INA_OK)
				return failure->status;
			again |= changed;
		}
		again |= take(parallel);
		*moved |= again;
		if (again)
			ina_local_wake(&parallel->local);
	}
	await_reads(parallel);
	return INA_OK;
}

/* The row of the table of algorithms. */

static enum ina_status row_start(void *self, const struct ina_transfer *transfer,
                                 struct ina_failure *failure)
{
	bool moved;

	start_pipeline(self, transfer);
	return run(self, &moved, failure);
}

static bool row_is_done(const void *self)
{
	const struct ina_parallel *parallel = self;

	return atomic_load(&own(parallel)->taken) ==
	       parallel->pipeline.base + parallel->pipeline.steps;
}

/* What this rank would do if others of its machine let it. */
static uint32_t wants(const struct ina_parallel *parallel)
{
	const struct ina_pipeline *p = &parallel->pipeline;

	return INA_LOCAL_SLEEPS | (p->contributed < p->steps ? INA_LOCAL_CONTRIBUTE : 0u) |
	       (parallel->rail && p->reduced < p->steps ? INA_LOCAL_REDUCE : 0u);
}

static void row_arm(void *self)
{
	struct ina_parallel *parallel = self;
	struct ina_comm *rail = parallel->rail;

	atomic_store(&own(parallel)->wants, wants(parallel));
	if (rail && rail->first)
		rail->algorithm->arm(rail->algorithm_state);
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
	status = run(parallel, moved, failure);
	if (!before_wait || status != INA_OK || *moved || row_is_done(self))
		return status;
	/* Armed first, looked at once more, then asleep: nothing can slip in between. */
	row_arm(self);
	status = run(parallel, moved, failure);
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
	if (parallel->rail)
		count += ina_comm_pollfds(parallel->rail, fds + count);
	return count;
}

/* A completion, a wake-up, or what has been read: not a frame of a control channel, nor an end. */
static bool is_work(const struct ina_parallel *parallel, const struct pollfd *fd)
{
	const struct ina_comm *rail = parallel->rail;

	return fd->fd == parallel->local.wake[parallel->local.index] ||
	       fd->fd == parallel->intra.timer_fd ||
	       (rail && rail->ranks > 1 && fd->fd == rail->network.fabric.channel->fd &&
	        ina_fabric_is_completion(fd));
}

/* Who looks round after each wait pays for more calls of the kernel than the work takes. */
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
	*moved = work;
	if (work)
		return run(parallel, &work, failure);
	ina_control_pump(parallel->control, 0);
	return INA_OK;
}

static bool row_find_fault(void *self, int64_t waited_ms, struct ina_failure *failure)
{
	struct ina_parallel *parallel = self;
	const struct ina_topology *topology = &parallel->topology;
	int gone = ina_local_look(&parallel->local);

	if (parallel->rail)
		ina_comm_attend(parallel->rail);
	if (gone >= 0) {
		ina_fail(failure, INA_ERR_PEER, "rank %d, on the same machine, is gone",
		         ina_topology_rank(topology, topology->machine, gone));
		return true;
	}
	if (parallel->rail && parallel->rail->failure.status != INA_OK) {
		*failure = parallel->rail->failure;
		return true;
	}
	if (parallel->differs < 0 || waited_ms < DIFFERENCE_MS)
		return false;
	ina_fail(failure, INA_ERR_MISMATCH, "rank %d, on the same machine, called something else",
	         ina_topology_rank(topology, topology->machine, parallel->differs));
	return true;
}

static bool row_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	const struct ina_parallel *parallel = self;
	bool overflow = false;

	*until = 0;
	for (int r = 0; r < parallel->topology.rails; r++)
		overflow |= atomic_load(&parallel->local.ranks[r].overflow) ==
		            parallel->turn->current.number;
	if (parallel->rail) {
		const struct ina_stats *rail = &parallel->rail->stats;

		stats->algorithm = rail->algorithm;
		stats->messages_aggregated = rail->messages_aggregated;
		stats->messages_ring = rail->messages_ring;
		stats->bytes_aggregated = rail->bytes_aggregated;
		stats->bytes_ring = rail->bytes_ring;
		stats->messages_retried = rail->messages_retried;
		stats->fallbacks = rail->fallbacks;
		stats->rejoins = rail->rejoins;
		stats->registrations = rail->registrations;
	}
	return overflow;
}

/* The other machines' ranks of the rail are told by their own recovery, and here nothing waits. */
static void row_abort(void *self)
{
	struct ina_parallel *parallel = self;
	struct ina_comm *rail = parallel->rail;

	if (rail && rail->failure.status == INA_OK) {
		rail->failure = *parallel->failure;
		ina_comm_abort(rail);
	}
	for (unsigned int i = 0; rail && i < INA_LOCAL_DEPTH; i++) {
		if (parallel->pipeline.requests[i])
			ina_request_wait(parallel->pipeline.requests[i]);
		parallel->pipeline.requests[i] = NULL;
	}
}

static void row_explain_timeout(const void *self, int timeout_ms, struct ina_failure *failure)
{
	const struct ina_parallel *parallel = self;

	ina_fail(failure, INA_ERR_TIMEOUT, "waited in vain for %s, for %d ms",
	         parallel->rail && parallel->rail->first ? "a sum of all machines"
	                                                 : "another rank of this machine",
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

	if (parallel->rail)
		ina_comm_attend(parallel->rail);
	count = row_pollfds(parallel, fds);
	count += ina_control_pollfds(parallel->control, fds + count);
	poll(fds, (nfds_t)count, timeout_ms);
	ina_local_awake(&parallel->local, true);
	ina_local_look(&parallel->local);
}
