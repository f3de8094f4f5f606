/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of all-reduces over channels: pieces, trials and tallies, from their beginning to their
 * end.
 *
 * How steps are shared out changes with what becomes of the channels. All ranks must do that from
 * the same step on, and none asks the others for it: by which way a channel has gone through a
 * piece is the same at all ranks, as every switch between aggregator and ring is. So the weights of
 * step s are made of what became of the steps up to s - INA_CHANNEL_STEPS, which every rank has
 * finished before it begins step s. That is the boundary: what is under way when a channel loses
 * its aggregator finishes by the channel's own ring, and its part goes to the others from there on.
 *
 * How idle channels are, each rank counts for itself, and the least idle one's figure counts. A
 * channel without a weight has nothing to do by which its ring could bring the aggregator back: it
 * gets empty all-reduces, the trials, beside the steps, and no step waits for them. When a rank's
 * trial is over is known to that rank alone. For both there are tallies: minima over all ranks, at
 * steps that all know.
 */
#ifndef INA_CHANNELS_STEPS_H
#define INA_CHANNELS_STEPS_H

#include "strands.h"
#include "shares.h"

/* Steps under way at most: as many as all-reduces of a message each keep a link busy. */
#define INA_CHANNEL_STEPS 8u

/* Tallies come so many steps apart: each is over before the next one. */
#define INA_TALLY_STEPS (2 * INA_CHANNEL_STEPS)

struct ina_channel_call {
	struct ina_transfer transfer;
	uint64_t begun_bytes; /* of it, in steps that have begun */
	bool begun;           /* all of it */
	bool ended;
	bool overflowed;
	uint32_t ways; /* of its pieces (count.h) */
	/* Registrations of its memory, by channel: two each. */
	unsigned int entries[INA_MAX_CHANNELS][2];
	unsigned int entry_counts[INA_MAX_CHANNELS];
};

struct ina_channel_step {
	uint64_t call;
	bool is_last; /* of its call */
	struct ina_request *pieces[INA_MAX_CHANNELS];
	struct ina_request *tally;     /* NULL: none goes with it */
	struct ina_shares_known known; /* when it has ended */
};

struct ina_channels {
	struct ina_comm *comm; /* of all ranks, and the channels */
	size_t unit_bytes;     /* elements of a message, at most */
	uint64_t calls_begun;
	uint64_t calls_ended; /* and forgotten */
	uint64_t steps_begun;
	uint64_t steps_ended;
	struct ina_channel_call calls[INA_CHANNEL_STEPS]; /* rings */
	struct ina_channel_step steps[INA_CHANNEL_STEPS];
	struct ina_shares_known known; /* after the last step that has ended */
	/* Since the last tally: steps that have ended with others behind them, and how often a
	 * channel had nothing left to do then. */
	uint32_t ends;
	uint32_t dry[INA_MAX_CHANNELS];
	struct ina_request *trials[INA_MAX_CHANNELS]; /* NULL: none is under way */
	/* Of a tally: is a channel's trial over, and behind these how idle channels were, at this
	 * rank; at all ranks. */
	int32_t told[2 * INA_MAX_CHANNELS];
	int32_t heard[2 * INA_MAX_CHANNELS];
	bool noticed; /* the latest wait ended by something other than work, or by its time */
};

/* Begins the next step of the last call, which has not begun all of them. */
enum ina_status ina_step_begin(struct ina_channels *channels, struct ina_failure *failure);

/* Ends the first step that is under way, if it is over. Returns whether it did. */
bool ina_step_end(struct ina_channels *channels);

/* May another one begin? */
static inline bool ina_step_has_room(const struct ina_channels *channels)
{
	return channels->steps_begun - channels->steps_ended < INA_CHANNEL_STEPS;
}

/* Forgets all that is under way: the channels have failed, or are given up. */
void ina_steps_drop(struct ina_channels *channels);

#endif
