/* SPDX-License-Identifier: Apache-2.0 */
/* How elements are shared out among channels: the same at all ranks, since it is made of numbers
 * that all ranks share. */
#ifndef INA_CHANNELS_SHARES_H
#define INA_CHANNELS_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/include/ina.h"

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
 * The weights of channels of which some, by bits, have lost their aggregators: these get nothing,
 * as long as others have theirs; else all are alike.
 */
void ina_shares_weigh(uint32_t lost, int channels, uint32_t *weights);

#endif
