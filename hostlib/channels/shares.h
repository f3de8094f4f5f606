/* SPDX-License-Identifier: Apache-2.0 */
/* How elements are shared out among channels: the same at all ranks, since it is made of numbers
 * that all ranks share. */
#ifndef INA_CHANNELS_SHARES_H
#define INA_CHANNELS_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/include/ina.h"

/* What all ranks know of their channels, the same at each. */
struct ina_shares_known {
	uint32_t lost;                   /* by bits: have lost their aggregators */
	int32_t rates[INA_MAX_CHANNELS]; /* at the slowest rank, bytes a ms; 0: not known yet */
};

/* A channel's part of a step; an empty one is none of its business. */
struct ina_share {
	size_t offset; /* in the step, bytes */
	size_t bytes;
};

/*
 * Cuts a step of `bytes` into a piece for each channel, in proportion to the weights, of which one
 * at least is not 0. Pieces begin at multiples of `unit` bytes, so what is short is not cut at all;
 * they follow each other in the order of channels, from another one on in each step, so that short
 * steps go by all of them in turn. Pure.
 */
void ina_shares_cut(const uint32_t *weights, int channels, uint64_t step, size_t bytes, size_t unit,
                    struct ina_share *shares);

/*
 * Weights. Channels that have lost their aggregators get nothing, as long as others have theirs;
 * the others get parts in proportion to their rates, in sixteenths of the fastest one's. Where
 * rates differ by a quarter or less, or one is not known, or all channels are lost, all are alike
 * (1): less would come and go with the measurement.
 */
void ina_shares_weigh(const struct ina_shares_known *known, int channels, uint32_t *weights);

/*
 * A rank's rate: so many bytes in so long; in [1, INT32_MAX). INT32_MAX, which a minimum over all
 * ranks ignores, where there was nothing to measure.
 */
int32_t ina_shares_rate(uint64_t bytes, int64_t busy_ns);

/* Takes that minimum into the rate of a channel: half of the new one is what was known. */
void ina_shares_learn(struct ina_shares_known *known, int channel, int32_t slowest);

#endif
