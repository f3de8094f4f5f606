/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides elements among channels. All ranks get the same result, because it follows from numbers
 * that all ranks share.
 */
#ifndef INA_CHANNELS_SHARES_H
#define INA_CHANNELS_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/include/ina.h"

#define INA_SHARES_WHOLE 1024

/* The state of the channels that all ranks know, the same on each rank. */
struct ina_shares_known {
	uint32_t lost; /* bit c: channel c has lost its aggregators */
	/* the relative rates of the channels; the largest is INA_SHARES_WHOLE */
	uint32_t rates[INA_MAX_CHANNELS];
	/* the most by which a tally changes a rate, in units of 1 / INA_SHARES_WHOLE */
	uint32_t gain;
	int idlest; /* the idlest channel of the last tally */
};

/* Initialises the state: all rates are equal. lost: one bit for each channel. */
void ina_shares_open(struct ina_shares_known *known, uint32_t lost);

/* A channel's piece of a step. If it is empty, the channel takes no part. */
struct ina_piece {
	size_t offset; /* in the step, in bytes */
	size_t bytes;
};

/*
 * Cuts a step of `bytes` into one piece for each channel, in proportion to the weights, of which at
 * least one must not be 0. Pieces begin at multiples of `unit` bytes, so a short step is not cut at
 * all. Remainders go to different channels in different steps, so over many steps the channels get
 * elements in proportion to their weights. A pure function.
 */
void ina_shares_cut(const uint32_t *weights, int channels, uint64_t step, size_t bytes, size_t unit,
                    struct ina_piece *pieces);

/*
 * Sets the weights: the rates, or 1 if these are equal. Channels that have lost their aggregators
 * get 0, as long as others have theirs; if all have lost them, all weights are equal.
 */
void ina_shares_weigh(const struct ina_shares_known *known, int channels, uint32_t *weights);

/* Do channels have different rates? */
bool ina_shares_differ(const struct ina_shares_known *known, int channels);

/*
 * How often a channel had nothing to do, of the times when this rank looked: 0 to INA_SHARES_WHOLE.
 * If it never looked, INT32_MAX, which a minimum over all ranks ignores.
 */
int32_t ina_shares_idle(uint32_t dry, uint32_t ends);

/*
 * Adapts the rates to these minima. The rate of a channel that is idle while others are not grows,
 * by at most a half, and by less if another channel was the idlest the last time. So in the end all
 * channels are always busy, however fast each is. A channel that is held up once loses little, and
 * regains it soon.
 */
void ina_shares_learn(struct ina_shares_known *known, int channels, const int32_t *idle);

#endif
