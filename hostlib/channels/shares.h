/* SPDX-License-Identifier: Apache-2.0 */
/* How elements are shared out among channels: the same at all ranks, since it is made of numbers
 * that all ranks share. */
#ifndef INA_CHANNELS_SHARES_H
#define INA_CHANNELS_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/include/ina.h"

#define INA_SHARES_WHOLE 1024

/* What all ranks know of their channels, the same at each. */
struct ina_shares_known {
	uint32_t lost;                    /* by bits: have lost their aggregators */
	uint32_t parts[INA_MAX_CHANNELS]; /* of the elements; the largest is INA_SHARES_WHOLE */
	uint32_t gain; /* by how much parts change at most in a tally, of INA_SHARES_WHOLE */
	int idlest;    /* the channel that was so the last time */
};

/* Channels of which some are lost, by bits, have equal parts. */
void ina_shares_open(struct ina_shares_known *known, uint32_t lost);

/* A channel's part of a step; an empty one is none of its business. */
struct ina_share {
	size_t offset; /* in the step, bytes */
	size_t bytes;
};

/*
 * Cuts a step of `bytes` into a piece for each channel, in proportion to the weights, of which one
 * at least is not 0. Pieces begin at multiples of `unit` bytes, so what is short is not cut at all;
 * what does not come out even is given now to one, now to another, by the number of the step, so
 * that parts are right over many. Pure.
 */
void ina_shares_cut(const uint32_t *weights, int channels, uint64_t step, size_t bytes, size_t unit,
                    struct ina_share *shares);

/*
 * Weights: the parts, or 1 where they are equal. Channels that have lost their aggregators get
 * nothing, as long as others have theirs; where all have, all are alike.
 */
void ina_shares_weigh(const struct ina_shares_known *known, int channels, uint32_t *weights);

/* Have channels different parts? */
bool ina_shares_differ(const struct ina_shares_known *known, int channels);

/*
 * How often a channel had nothing to do when it was looked at, at this rank: 0 to INA_SHARES_WHOLE.
 * INT32_MAX, which a minimum over all ranks ignores, where nobody has looked.
 */
int32_t ina_shares_idle(uint32_t dry, uint32_t ends);

/*
 * Takes these minima into the parts: who has nothing to do while others do gets more, by half at
 * most, and by less where it was another channel the last time. So in the end all are at work all
 * the time, how fast each may be; a channel that is held up once loses little, and has it back
 * soon.
 */
void ina_shares_learn(struct ina_shares_known *known, int channels, const int32_t *idle);

#endif
