/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One all-reduce of machines with several ranks. Each rail has a part of the elements, which is cut
 * into segments, one for each step. Each step has four actions:
 *
 *   - contribute: every rank copies its elements of each rail's segment into shared memory;
 *   - reduce: the owner of rail r adds up its machine's elements for the rail by local index, and
 *     starts an all-reduce of the sum among the machines' owners;
 *   - publish: the owner of rail r reports that this all-reduce is done;
 *   - take: every rank copies the sums of all rails.
 *
 * The steps are a pipeline of INA_LOCAL_DEPTH places. A place is used again when all ranks that use
 * it have reported that they are done with it. Ranks wait for nothing else.
 */
#include "pipeline.h"

#include <string.h>

#include "hostlib/elements/reduce.h"
#include "hostlib/engine/count.h"

/* The smallest part of a rail. A shorter one would cost every rail the latency of a message. */
#define PART_BYTES_MIN ((size_t)64 << 10)

/*
 * The most rounds of a rank's actions in one call, so that a call ends even if other ranks keep
 * contributing.
 */
#define ROUNDS 8

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t round_up(size_t bytes)
{
	return (bytes + 63) / 64 * 64; /* a cache line holds whole elements of every type */
}

/*
 * The offset of step `step` in a rail's part. The first step is shorter on the lower rails, and the
 * last one makes up for it. If all rails began and ended their all-reduces together, they would all
 * leave the network idle at the same time.
 */
static size_t step_offset(const struct ina_parallel *parallel, uint64_t step, int rail)
{
	const struct ina_pipeline *p = &parallel->pipeline;
	size_t rails = (size_t)parallel->layout.rails;
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

void ina_pipeline_start(struct ina_parallel *parallel, const struct ina_transfer *transfer)
{
	size_t rails = (size_t)parallel->layout.rails;
	size_t total = transfer->total_bytes;
	size_t even = round_up((total + rails - 1) / rails);
	size_t part = even < PART_BYTES_MIN ? PART_BYTES_MIN : even;
	/*
	 * Even without elements there is one step, because its call is compared with those of other
	 * ranks.
	 */
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
	ina_parallel_own(parallel)->call = parallel->turn->current;
}

static bool contribute(struct ina_parallel *parallel)
{
	struct ina_pipeline *p = &parallel->pipeline;
	const struct ina_local *local = &parallel->local;
	const uint8_t *send = p->transfer.send;

	if (p->contributed == p->steps ||
	    !ina_local_is_free(ina_local_all_reduced(local), p->base + p->contributed))
		return false;
	for (int r = 0; r < parallel->layout.rails; r++) {
		size_t bytes = segment_size(parallel, p->contributed, r);

		/* an owner adds its elements directly from its buffer */
		if (r != local->index && bytes > 0)
			memcpy(ina_local_contribution(local, local->index, r,
			                              p->base + p->contributed),
			       send + segment_offset(parallel, p->contributed, r), bytes);
	}
	p->contributed++;
	atomic_store(&ina_parallel_own(parallel)->contributed, p->base + p->contributed);
	return true;
}

static bool same_call(const struct ina_call *a, const struct ina_call *b)
{
	return a->number == b->number && ina_calls_agree(a, b);
}

/* Have all ranks contributed to the step, in the same call as this rank? */
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

/* Elements that are added up together; the intermediate results stay in the cache. */
#define BLOCK ((size_t)1024)

/* A local rank's elements for this rank's rail, in the next step to be added up. */
static const uint8_t *part_of(const struct ina_parallel *parallel, int index)
{
	const struct ina_pipeline *p = &parallel->pipeline;
	const struct ina_local *local = &parallel->local;

	return index == local->index
	               ? p->transfer.send + segment_offset(parallel, p->reduced, local->index)
	               : ina_local_contribution(local, index, local->index, p->base + p->reduced);
}

/* Adds by local index. Partial sums may be wide (elements/reduce.h), but the last one is not. */
static bool add_block(const struct ina_parallel *parallel, uint8_t *sum, size_t offset,
                      size_t count)
{
	const struct ina_transfer *transfer = &parallel->pipeline.transfer;
	bool widens = ina_type_widens(transfer->type, transfer->op);
	uint32_t room[BLOCK];
	struct ina_operand before = {part_of(parallel, 0) + offset, false};
	bool overflow = false;

	for (int i = 1; i < parallel->local.count; i++) {
		bool wide = widens && i < parallel->local.count - 1;
		void *to = wide ? (void *)room : sum + offset;
		const struct ina_operand part = {part_of(parallel, i) + offset, false};

		overflow |= ina_combine_wide(to, wide, part, before, count, transfer->type,
		                             transfer->op);
		before = (struct ina_operand){to, wide};
	}
	return overflow;
}

static void add_up(struct ina_parallel *parallel, uint8_t *sum, size_t bytes)
{
	struct ina_pipeline *p = &parallel->pipeline;
	size_t block_bytes = BLOCK * p->transfer.element_bytes;

	if (parallel->local.count == 1 && bytes > 0)
		memcpy(sum, part_of(parallel, 0), bytes);
	for (size_t offset = 0; parallel->local.count > 1 && offset < bytes; offset += block_bytes)
		p->overflow |=
		        add_block(parallel, sum, offset,
		                  smaller(block_bytes, bytes - offset) / p->transfer.element_bytes);
}

static enum ina_status reduce(struct ina_parallel *parallel, bool *moved,
                              struct ina_failure *failure)
{
	struct ina_pipeline *p = &parallel->pipeline;
	const struct ina_transfer *transfer = &p->transfer;
	int rail = parallel->local.index;
	uint64_t step = p->base + p->reduced;
	struct ina_collective what;
	size_t bytes;
	uint8_t *sum;
	bool goes;

	*moved = false;
	if (p->reduced == p->steps || !ina_local_is_free(p->base + p->published, step))
		return INA_OK;
	bytes = segment_size(parallel, p->reduced, rail);
	/*
	 * The first rail's first step is carried out even if it is empty, so that the calls are
	 * compared.
	 */
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
	what = (struct ina_collective){.kind = INA_CALL_ALLREDUCE,
	                               .send = sum,
	                               .recv = ina_local_sum(&parallel->local, rail, step),
	                               .count = bytes / transfer->element_bytes,
	                               .type = transfer->type,
	                               .op = transfer->op,
	                               .mark = transfer->mark};
	if (goes && ina_request_start(ina_parallel_rail(parallel), &what,
	                              &p->requests[step % INA_LOCAL_DEPTH]) != INA_OK) {
		*failure = ina_parallel_rail(parallel)->latest;
		return failure->status;
	}
	p->reduced++;
	atomic_store(&ina_parallel_own(parallel)->reduced, p->base + p->reduced);
	*moved = true;
	return INA_OK;
}

static enum ina_status publish(struct ina_parallel *parallel, bool *moved,
                               struct ina_failure *failure)
{
	struct ina_pipeline *p = &parallel->pipeline;
	struct ina_request **place = &p->requests[(p->base + p->published) % INA_LOCAL_DEPTH];

	*moved = ina_strands_run(parallel->strands, parallel->noticed);
	if (p->published == p->reduced || (*place && !(*place)->done))
		return INA_OK;
	if (*place) {
		p->ways |= (*place)->way;
		p->overflow |= (*place)->overflowed;
	}
	if (*place && ina_request_take(*place) != INA_OK) {
		*place = NULL;
		*failure = ina_parallel_rail(parallel)->failure;
		return failure->status;
	}
	*place = NULL;
	p->published++;
	if (p->published == p->steps)
		atomic_store(&ina_parallel_own(parallel)->way, ina_way_of_parts(p->ways));
	if (p->published == p->steps && p->overflow)
		atomic_store(&ina_parallel_own(parallel)->overflow, parallel->turn->current.number);
	atomic_store(&ina_parallel_own(parallel)->published, p->base + p->published);
	*moved = true;
	return INA_OK;
}

/*
 * Copies a rail's next sum. Returns the time from which on it counts as read. The rail's owner has
 * it already.
 */
static int64_t copy_sum(struct ina_parallel *parallel, int rail)
{
	const struct ina_local *local = &parallel->local;
	uint64_t step = parallel->taking[rail].steps;
	size_t bytes = segment_size(parallel, step, rail);

	if (bytes > 0 && !parallel->pipeline.transfer.is_given)
		memcpy(parallel->pipeline.transfer.recv + segment_offset(parallel, step, rail),
		       ina_local_sum(local, rail, parallel->pipeline.base + step), bytes);
	return ina_intra_read(&parallel->intra, rail == local->index ? 0 : bytes);
}

static bool take(struct ina_parallel *parallel)
{
	const struct ina_pipeline *p = &parallel->pipeline;
	uint64_t all = p->steps;
	bool moved = false;

	for (int r = 0; r < parallel->layout.rails; r++) {
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
	atomic_store(&ina_parallel_own(parallel)->taken, p->base + all);
	return moved;
}

/* Sets the timer to the earliest time at which a read is complete. */
static void await_reads(struct ina_parallel *parallel)
{
	int64_t first_ns = parallel->pipeline.adding_ns;

	for (int r = 0; r < parallel->layout.rails; r++) {
		int64_t ready_ns = parallel->taking[r].ready_ns;

		if (ready_ns != 0 && (first_ns == 0 || ready_ns < first_ns))
			first_ns = ready_ns;
	}
	ina_intra_arm(&parallel->intra, first_ns);
}

enum ina_status ina_pipeline_run(struct ina_parallel *parallel, bool *moved,
                                 struct ina_failure *failure)
{
	bool again = true;
	bool changed;

	*moved = false;
	for (int round = 0; again && round < ROUNDS; round++) {
		again = contribute(parallel);
		if (ina_parallel_rail(parallel)) {
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

bool ina_pipeline_is_done(const struct ina_parallel *parallel)
{
	return atomic_load(&ina_parallel_own(parallel)->taken) ==
	       parallel->pipeline.base + parallel->pipeline.steps;
}

uint32_t ina_pipeline_wants(const struct ina_parallel *parallel)
{
	const struct ina_pipeline *p = &parallel->pipeline;

	return INA_LOCAL_SLEEPS | (p->contributed < p->steps ? INA_LOCAL_CONTRIBUTE : 0u) |
	       (ina_parallel_rail(parallel) && p->reduced < p->steps ? INA_LOCAL_REDUCE : 0u);
}
