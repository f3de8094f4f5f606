/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of all-reduces over channels. All ranks must act alike in step s. So they decide by
 * their calls, by s, and by the results of the steps up to s - INA_CHANNEL_STEPS. The same holds
 * for `known` in a place of the ring buffer, and for the trials that are under way at a tally,
 * because the previous tally ended at least that many steps ago.
 */
#include <string.h>

#include "steps.h"

#include "hostlib/engine/count.h"

/*
 * Messages of a step on a channel: only few, to keep the data under way small. On the ring there
 * are more, because it cuts them into as many pieces as there are ranks.
 */
#define PIECE_MESSAGES      4u
#define PIECE_MESSAGES_RING 64u

static uint32_t bit(int channel)
{
	return (uint32_t)1 << channel;
}

static bool all_lost(const struct ina_channels *channels, uint32_t lost)
{
	return lost == bit(channels->comm->strands.count) - 1;
}

/* The channel that carries a step that is not cut: the first one that has a weight. */
static int lead_of(const struct ina_channels *channels, uint32_t lost)
{
	int lead = 0;

	while (!all_lost(channels, lost) && lost & bit(lead))
		lead++;
	return lead;
}

static enum ina_status begin(const struct ina_channels *channels, int channel,
                             const struct ina_collective *what, struct ina_request **request,
                             struct ina_failure *failure)
{
	struct ina_comm *strand = channels->comm->strands.comms[channel];

	if (ina_request_start(strand, what, request) == INA_OK)
		return INA_OK;
	*request = NULL;
	*failure = strand->latest;
	return failure->status;
}

/* The bytes of a step that is not the last one of its call. */
static size_t full_bytes(const struct ina_channels *channels, const struct ina_channel_step *step)
{
	return channels->unit_bytes * (size_t)channels->comm->strands.count *
	       (all_lost(channels, step->known.lost) ? PIECE_MESSAGES_RING : PIECE_MESSAGES);
}

static size_t bytes_left(const struct ina_channels *channels, const struct ina_channel_step *step)
{
	const struct ina_channel_call *call = &channels->calls[step->call % INA_CHANNEL_STEPS];

	return call->transfer.total_bytes - call->begun_bytes;
}

static enum ina_status begin_pieces(struct ina_channels *channels, struct ina_channel_step *step,
                                    uint64_t number, struct ina_failure *failure)
{
	const struct ina_comm *comm = channels->comm;
	struct ina_channel_call *call = &channels->calls[step->call % INA_CHANNEL_STEPS];
	const struct ina_transfer *transfer = &call->transfer;
	size_t left = bytes_left(channels, step);
	size_t bytes = full_bytes(channels, step);
	struct ina_piece pieces[INA_MAX_CHANNELS];
	uint32_t weights[INA_MAX_CHANNELS];
	enum ina_status status = INA_OK;

	if (bytes > left)
		bytes = left;
	ina_shares_weigh(&step->known, comm->strands.count, weights);
	ina_shares_cut(weights, comm->strands.count, number, bytes, channels->unit_bytes, pieces);
	for (int c = 0; c < comm->strands.count && status == INA_OK; c++) {
		size_t offset = call->begun_bytes + pieces[c].offset;
		const struct ina_collective what = {
		        .kind = INA_CALL_ALLREDUCE,
		        .send = bytes > 0 ? transfer->send + offset : NULL,
		        .recv = bytes > 0 ? transfer->recv + offset : NULL,
		        .count = pieces[c].bytes / transfer->element_bytes,
		        .type = transfer->type,
		        .op = transfer->op,
		        .mark = transfer->mark,
		        .is_given = transfer->is_given,
		};

		/*
		 * Even a step without elements starts a piece, because its call is compared with
		 * those of other ranks.
		 */
		if (pieces[c].bytes > 0 || (bytes == 0 && c == lead_of(channels, step->known.lost)))
			status = begin(channels, c, &what, &step->pieces[c], failure);
	}
	call->begun_bytes += bytes;
	call->begun = step->is_last = call->begun_bytes == transfer->total_bytes;
	return status;
}

/*
 * Called when a step has ended: counts the channels that have nothing left to do in the later ones.
 */
static void count_dry(struct ina_channels *channels)
{
	if (channels->steps_ended == channels->steps_begun)
		return;
	channels->ends++;
	for (int c = 0; c < channels->comm->strands.count; c++) {
		bool is_dry = true;

		for (uint64_t s = channels->steps_ended; s < channels->steps_begun; s++) {
			const struct ina_request *piece =
			        channels->steps[s % INA_CHANNEL_STEPS].pieces[c];

			is_dry = is_dry && (!piece || piece->done);
		}
		channels->dry[c] += is_dry;
	}
}

static void forget_dry(struct ina_channels *channels)
{
	channels->ends = 0;
	memset(channels->dry, 0, sizeof(channels->dry));
}

/*
 * Begins a tally, and trials on channels that have lost their aggregators. Short calls have no
 * tally, since it would cost as much as they do, except if the rates are not equal: these may have
 * become wrong.
 */
static enum ina_status begin_tally(struct ina_channels *channels, struct ina_channel_step *step,
                                   struct ina_failure *failure)
{
	int count = channels->comm->strands.count;
	const struct ina_collective trial = {
	        .kind = INA_CALL_ALLREDUCE, .type = INA_INT32, .op = INA_SUM};
	const struct ina_collective tally = {.kind = INA_CALL_ALLREDUCE,
	                                     .send = channels->told,
	                                     .recv = channels->heard,
	                                     .count = 2 * (size_t)count,
	                                     .type = INA_INT32,
	                                     .op = INA_MIN};
	bool tallies = bytes_left(channels, step) >= full_bytes(channels, step) ||
	               ina_shares_differ(&step->known, count);

	for (int c = 0; c < count; c++) {
		struct ina_request **request = &channels->trials[c];

		tallies |= *request != NULL;
		channels->told[c] = *request && (*request)->done;
		channels->told[count + c] = ina_shares_idle(channels->dry[c], channels->ends);
		if (!*request && step->known.lost & bit(c) &&
		    begin(channels, c, &trial, request, failure) != INA_OK)
			return failure->status;
	}
	if (!tallies)
		return INA_OK;
	forget_dry(channels);
	return begin(channels, lead_of(channels, step->known.lost), &tally, &step->tally, failure);
}

enum ina_status ina_step_begin(struct ina_channels *channels, struct ina_failure *failure)
{
	uint64_t number = channels->steps_begun++;
	struct ina_channel_step *step = &channels->steps[number % INA_CHANNEL_STEPS];

	*step = (struct ina_channel_step){.call = channels->calls_begun - 1, .known = step->known};
	if (number % INA_TALLY_STEPS == 0) {
		/* Look for faults from time to time, even if there is never a pause. */
		channels->noticed = true;
		if (begin_tally(channels, step, failure) != INA_OK)
			return failure->status;
	}
	return begin_pieces(channels, step, number, failure);
}

static bool is_over(const struct ina_channels *channels, const struct ina_channel_step *step)
{
	if (step->tally && !step->tally->done)
		return false;
	for (int c = 0; c < channels->comm->strands.count; c++) {
		if (step->pieces[c] && !step->pieces[c]->done)
			return false;
	}
	return true;
}

/* Records how a channel carried out a piece. All ranks record the same. */
static void note_way(struct ina_channels *channels, int channel, uint32_t way)
{
	uint32_t *lost = &channels->known.lost;
	uint32_t before = *lost;

	if (way & INA_WAY_AGGREGATED)
		*lost &= ~bit(channel);
	else if (way & INA_WAY_WITHOUT)
		*lost |= bit(channel);
	if (*lost == before)
		return;
	/* The detection itself says nothing about how busy the channels are. */
	forget_dry(channels);
	channels->known.rates[channel] = INA_SHARES_WHOLE;
	if (*lost & bit(channel))
		ina_warn(&channels->comm->log, "channel %d lost its aggregator, as of step %llu",
		         channel, (unsigned long long)channels->steps_ended);
	else
		ina_log(&channels->comm->log, "channel %d uses its aggregator, as of step %llu",
		        channel, (unsigned long long)channels->steps_ended);
}

static void take(struct ina_request **request)
{
	if (*request)
		ina_request_take(*request);
	*request = NULL;
}

/*
 * Handles a tally: trials that have ended on all ranks, and for each channel the idleness on its
 * busiest rank.
 */
static void hear_tally(struct ina_channels *channels, struct ina_channel_step *step)
{
	int count = channels->comm->strands.count;

	if (!step->tally)
		return;
	take(&step->tally);
	ina_shares_learn(&channels->known, count, channels->heard + count);
	for (int c = 0; c < count; c++) {
		if (!channels->trials[c] || channels->heard[c] == 0)
			continue;
		note_way(channels, c, channels->trials[c]->way);
		take(&channels->trials[c]);
	}
}

bool ina_step_end(struct ina_channels *channels)
{
	struct ina_channel_step *step = &channels->steps[channels->steps_ended % INA_CHANNEL_STEPS];
	struct ina_channel_call *call = &channels->calls[step->call % INA_CHANNEL_STEPS];

	if (channels->steps_ended == channels->steps_begun || !is_over(channels, step))
		return false;
	for (int c = 0; c < channels->comm->strands.count; c++) {
		if (!step->pieces[c])
			continue;
		call->ways |= step->pieces[c]->way;
		call->overflowed |= step->pieces[c]->overflowed;
		note_way(channels, c, step->pieces[c]->way);
		take(&step->pieces[c]);
	}
	hear_tally(channels, step);
	call->ended = step->is_last;
	step->known = channels->known;
	channels->steps_ended++;
	count_dry(channels);
	return true;
}

/* A request that is not done is in its channel's queue, and ends with that. */
static void drop(struct ina_request **request)
{
	if (*request && !(*request)->done)
		*request = NULL;
	take(request);
}

void ina_steps_drop(struct ina_channels *channels)
{
	for (unsigned int s = 0; s < INA_CHANNEL_STEPS; s++) {
		drop(&channels->steps[s].tally);
		for (int c = 0; c < INA_MAX_CHANNELS; c++)
			drop(&channels->steps[s].pieces[c]);
	}
	for (int c = 0; c < INA_MAX_CHANNELS; c++)
		drop(&channels->trials[c]);
	channels->steps_ended = channels->steps_begun;
	channels->calls_ended = channels->calls_begun;
}
