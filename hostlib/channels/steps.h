/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of all-reduces over channels: the pieces, trials and tallies.
 *
 * The weights change when channels lose or regain their aggregators. All ranks must change them at
 * the same step, and no rank asks the others. Whether a channel carried out a piece through the
 * aggregator or over the ring is the same on all ranks, because every change between the two is. So
 * the weights of step s follow from the results of the steps up to s - INA_CHANNEL_STEPS, which
 * every rank has finished before it begins step s. When a channel loses its aggregator, the pieces
 * under way finish over the channel's ring, and the other channels carry its elements from that
 * step on.
 *
 * Each rank counts for itself how idle the channels are, and the smallest count of all ranks is
 * used. A channel without a weight has no pieces through whose ring the aggregator could be
 * regained. So it gets trials: empty all-reduces that run at the same time as the steps, and no
 * step waits for them. A rank knows only of itself when a trial has ended. Both facts are shared by
 * tallies: minima over all ranks, at steps that all ranks know.
 */
#ifndef INA_CHANNELS_STEPS_H
#define INA_CHANNELS_STEPS_H

#include "strands.h"
#include "shares.h"

/* The most steps under way; as many all-reduces of one message keep a link busy. */
#define INA_CHANNEL_STEPS 8u

/* Number of steps from one tally to the next. Each tally has ended before the next one begins. */
#define INA_TALLY_STEPS (2 * INA_CHANNEL_STEPS)

struct ina_channel_call {
	struct ina_transfer transfer;
	uint64_t begun_bytes; /* bytes in steps that have begun */
	bool begun;           /* all its steps have begun */
	bool ended;
	bool overflowed;
	uint32_t ways; /* how its pieces were carried out (count.h) */
	/* Registrations of its memory, by channel: at most two each. */
	unsigned int entries[INA_MAX_CHANNELS][2];
	unsigned int entry_counts[INA_MAX_CHANNELS];
};

struct ina_channel_step {
	uint64_t call;
	bool is_last; /* of its call */
	struct ina_request *pieces[INA_MAX_CHANNELS];
	struct ina_request *tally;     /* NULL: this step has no tally */
	struct ina_shares_known known; /* `known` of struct ina_channels when the step ended */
};

struct ina_channels {
	struct ina_comm *comm; /* the communicator of all ranks, which has the channels */
	size_t unit_bytes;     /* the most bytes of elements in a message */
	uint64_t calls_begun;
	uint64_t calls_ended; /* ended, and their structs are free */
	uint64_t steps_begun;
	uint64_t steps_ended;
	struct ina_channel_call calls[INA_CHANNEL_STEPS]; /* ring buffers */
	struct ina_channel_step steps[INA_CHANNEL_STEPS];
	struct ina_shares_known known; /* after the last step that has ended */
	/*
	 * Counts since the last tally: `ends` is the number of steps that ended while later ones
	 * were under way, and `dry` how often a channel had nothing left to do at such a time.
	 */
	uint32_t ends;
	uint32_t dry[INA_MAX_CHANNELS];
	struct ina_request *trials[INA_MAX_CHANNELS]; /* NULL: no trial is under way */
	/*
	 * The contents of a tally: for each channel, whether its trial has ended; after these, how
	 * idle each channel was. `told` has this rank's values, and `heard` the minima over all
	 * ranks.
	 */
	int32_t told[2 * INA_MAX_CHANNELS];
	int32_t heard[2 * INA_MAX_CHANNELS];
	bool noticed; /* the last wait ended by something other than work, or by its timeout */
};

/* Begins the next step of the latest call, which must have one left. */
enum ina_status ina_step_begin(struct ina_channels *channels, struct ina_failure *failure);

/* Ends the oldest step if it is done. Returns whether it did. */
bool ina_step_end(struct ina_channels *channels);

/* May another step begin? */
static inline bool ina_step_has_room(const struct ina_channels *channels)
{
	return channels->steps_begun - channels->steps_ended < INA_CHANNEL_STEPS;
}

/* Forgets all steps under way: the channels have failed, or are being closed. */
void ina_steps_drop(struct ina_channels *channels);

#endif
