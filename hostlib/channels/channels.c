/* SPDX-License-Identifier: Apache-2.0 */
/* Several channels: the row of functions for the engine. */
#include "channels.h"

#include <errno.h>
#include <stdlib.h>

#include "common/deadline.h"
#include "hostlib/engine/count.h"
#include "hostlib/rdma/probe.h"

/*
 * The most rounds over all channels in one call, so that a call ends even if messages keep
 * arriving.
 */
#define ROUNDS 8

enum ina_status ina_channels_open(struct ina_comm *comm, size_t unit_bytes,
                                  struct ina_failure *failure)
{
	struct ina_channels *channels = calloc(1, sizeof(*channels));
	bool may_lose = comm->settings.options.algorithm == INA_ALGORITHM_AUTO;
	uint32_t lost = 0;

	if (!channels)
		return ina_fail(failure, INA_ERR_MEMORY, "no memory for channels");
	comm->channels = channels;
	channels->comm = comm;
	channels->unit_bytes = unit_bytes;
	for (int c = 0; c < comm->strands.count; c++) {
		struct ina_comm *strand = comm->strands.comms[c];

		if (may_lose && strand->stats.algorithm != INA_ALGORITHM_INA)
			lost |= (uint32_t)1 << c;
	}
	ina_shares_open(&channels->known, lost);
	for (unsigned int s = 0; s < INA_CHANNEL_STEPS; s++)
		channels->steps[s].known = channels->known;
	return INA_OK;
}

/*
 * Registers the memory of a call. Returns INA_OK, or INA_ERR_MEMORY if some of it is not memory of
 * this process.
 */
static enum ina_status hold(struct ina_channels *channels, struct ina_channel_call *call,
                            const void *start, bool writable, struct ina_failure *failure)
{
	size_t bytes = call->transfer.total_bytes;
	uint32_t ignored;

	for (int c = 0; c < channels->comm->strands.count; c++) {
		unsigned int *count = &call->entry_counts[c];
		int error = ina_memory_get(&channels->comm->strands.comms[c]->network.memory, start,
		                           bytes, writable, bytes > INA_COPIED_BYTES,
		                           &call->entries[c][*count], &ignored);

		*count += error == 0;
		if (error == EFAULT && !ina_may_read_afresh(start, bytes))
			return ina_fail(failure, INA_ERR_MEMORY, INA_NOT_MEMORY, bytes, start);
	}
	return INA_OK;
}

/*
 * Registers the memory with all channels, so that no piece needs another registration. If that
 * fails, each piece is registered or copied separately.
 */
static enum ina_status hold_both(struct ina_channels *channels, struct ina_channel_call *call,
                                 struct ina_failure *failure)
{
	const struct ina_transfer *transfer = &call->transfer;
	enum ina_status status;

	if (transfer->total_bytes == 0)
		return INA_OK;
	/* Register the result first, because in place its registration serves for both. */
	status = hold(channels, call, transfer->recv, !transfer->is_given, failure);
	if (status != INA_OK || transfer->send == transfer->recv)
		return status;
	return hold(channels, call, transfer->send, false, failure);
}

/* Pieces hold registrations that the device still needs. */
static void release(struct ina_channels *channels, struct ina_channel_call *call)
{
	for (int c = 0; c < channels->comm->strands.count; c++) {
		for (unsigned int i = 0; i < call->entry_counts[c]; i++)
			ina_memory_put(&channels->comm->strands.comms[c]->network.memory,
			               call->entries[c][i]);
		call->entry_counts[c] = 0;
	}
}

static struct ina_channel_call *call_of(struct ina_channels *channels, uint64_t number)
{
	return &channels->calls[number % INA_CHANNEL_STEPS];
}

/* Has the latest call begun all its steps? There must be one. */
static bool has_begun_all(const struct ina_channels *channels)
{
	return channels->calls[(channels->calls_begun - 1) % INA_CHANNEL_STEPS].begun;
}

/*
 * Makes all progress that is possible without waiting, or a part of it. *moved: there was progress,
 * and another call may make more.
 */
static enum ina_status run(struct ina_channels *channels, bool *moved, struct ina_failure *failure)
{
	const struct ina_strands *strands = &channels->comm->strands;
	bool again = true;

	*moved = false;
	for (int round = 0; again && round < ROUNDS; round++) {
		bool looked_at = channels->noticed;

		channels->noticed = false;
		again = ina_strands_run(strands, looked_at);
		if (ina_strands_have_failed(strands, failure))
			return failure->status;
		while (ina_step_end(channels))
			again = true;
		while (channels->calls_begun > channels->calls_ended && !has_begun_all(channels) &&
		       ina_step_has_room(channels)) {
			if (ina_step_begin(channels, failure) != INA_OK)
				return failure->status;
			again = true;
		}
		*moved |= again;
	}
	return INA_OK;
}

/*
 * A trial gets as much time as the call that runs at the same time, however long ago it began,
 * because no rank makes progress on it while all ranks compute.
 */
static void give_time(struct ina_channels *channels)
{
	struct ina_comm *comm = channels->comm;
	int64_t deadline_ms = ina_now_ms() + comm->settings.options.timeout_ms;

	for (int c = 0; c < comm->strands.count; c++) {
		if (channels->trials[c])
			comm->strands.comms[c]->turn.deadline_ms = deadline_ms;
	}
}

/* The row of functions. */

static bool row_has_room(const void *self)
{
	const struct ina_channels *channels = self;
	uint64_t calls = channels->calls_begun - channels->calls_ended;

	return calls > 0 && calls < INA_CHANNEL_STEPS && has_begun_all(channels) &&
	       ina_step_has_room(channels);
}

static enum ina_status row_start(void *self, const struct ina_transfer *transfer,
                                 struct ina_failure *failure)
{
	struct ina_channels *channels = self;
	struct ina_channel_call *call = call_of(channels, channels->calls_begun);
	bool moved;

	*call = (struct ina_channel_call){.transfer = *transfer};
	channels->calls_begun++;
	give_time(channels);
	if (hold_both(channels, call, failure) != INA_OK)
		return failure->status;
	return run(channels, &moved, failure);
}

static bool row_is_done(const void *self)
{
	const struct ina_channels *channels = self;

	return channels->calls_ended < channels->calls_begun &&
	       channels->calls[channels->calls_ended % INA_CHANNEL_STEPS].ended;
}

static void row_arm(void *self)
{
	ina_strands_arm(&((struct ina_channels *)self)->comm->strands);
}

static enum ina_status row_advance(void *self, bool before_wait, bool *moved,
                                   struct ina_failure *failure)
{
	struct ina_channels *channels = self;
	enum ina_status status;

	channels->noticed |= !before_wait;
	status = run(channels, moved, failure);
	if (!before_wait || status != INA_OK || *moved || row_is_done(self))
		return status;
	/*
	 * Arms the channels, and runs once more before the caller sleeps, so that no completion is
	 * missed.
	 */
	row_arm(self);
	return run(channels, moved, failure);
}

static int row_pollfds(const void *self, struct pollfd *fds)
{
	return ina_strands_pollfds(&((const struct ina_channels *)self)->comm->strands, fds);
}

static enum ina_status row_wait(void *self, int timeout_ms, bool *moved,
                                struct ina_failure *failure)
{
	struct ina_channels *channels = self;
	struct ina_comm *comm = channels->comm;
	struct pollfd fds[INA_COMM_FDS];
	int count = row_pollfds(self, fds);

	count += ina_control_pollfds(&comm->control, fds + count);
	*moved = poll(fds, (nfds_t)count, timeout_ms) > 0;
	for (int i = 0; i < count; i++)
		*moved =
		        *moved && (!fds[i].revents || ina_strands_is_work(&comm->strands, &fds[i]));
	if (*moved) {
		enum ina_status status = run(channels, moved, failure);

		/* If only a queue pair was revived, look for faults too. */
		if (status != INA_OK || *moved)
			return status;
	}
	channels->noticed = true;
	ina_control_pump(&comm->control, 0);
	return INA_OK;
}

static bool row_find_fault(void *self, int64_t waited_ms, struct ina_failure *failure)
{
	const struct ina_strands *strands = &((const struct ina_channels *)self)->comm->strands;

	(void)waited_ms;
	ina_strands_attend(strands);
	return ina_strands_have_failed(strands, failure);
}

static bool row_end(void *self, struct ina_stats *stats, uint64_t *until)
{
	struct ina_channels *channels = self;
	struct ina_channel_call *call = call_of(channels, channels->calls_ended++);

	*until = 0;
	release(channels, call);
	ina_strands_count(&channels->comm->strands, stats);
	channels->comm->first->way = ina_way_of_parts(call->ways);
	ina_count_way(stats, channels->comm->first->way);
	return call->overflowed;
}

static void row_abort(void *self)
{
	struct ina_channels *channels = self;

	ina_strands_abort(&channels->comm->strands, &channels->comm->failure);
	ina_steps_drop(channels);
}

static void row_explain_timeout(const void *self, int timeout_ms, struct ina_failure *failure)
{
	const struct ina_channels *channels = self;

	ina_fail(failure, INA_ERR_TIMEOUT, "step %llu did not finish on all channels within %d ms",
	         (unsigned long long)channels->steps_ended, timeout_ms);
}

const struct ina_algorithm_row ina_channels_algorithm = {
        .has_room = row_has_room,
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

void ina_channels_finish(struct ina_channels *channels, int channel)
{
	struct ina_request **trial = &channels->trials[channel];

	give_time(channels);
	if (*trial)
		ina_request_wait(*trial);
	*trial = NULL;
}

void ina_channels_attend(struct ina_channels *channels, int timeout_ms)
{
	const struct ina_strands *strands = &channels->comm->strands;
	struct pollfd fds[INA_COMM_FDS];
	int count;

	give_time(channels);
	ina_strands_attend(strands);
	ina_strands_arm(strands);
	ina_strands_run(strands, true);
	count = row_pollfds(channels, fds);
	count += ina_control_pollfds(&channels->comm->control, fds + count);
	poll(fds, (nfds_t)count, timeout_ms);
}
