/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an all-reduce of M bytes should take, in the alpha-beta model: alpha for a message's
 *latency, M / B for its bytes. For n machines with g ranks each, P = n g (after NetReduce, Liu et
 *al., ASPLOS 2023, whose parallel algorithm this is; the ring's form is Patarasuk and Yuan's,
 *2009):
 *
 *	flat ring	2 (P - 1) alpha + 2 (P - 1) / P * M / B_inter
 *	leader		a + g * M / B_intra + c * M / B_inter
 *	parallel	a + 2 (g - 1) / g * M / B_intra + c * M / B_inter
 *
 * One machine's link is shared by its g rails, so g times M / g go through it. Between machines c
 * is 1 and a is 2 alpha if the aggregator sums; by ring c is 2 (n - 1) / n and a 2 (n - 1) alpha.
 *
 * What a rank or rail all-reduces of at most 16 KiB without an aggregator is no ring: it takes
 * s (alpha + M / B_inter), s = log2 P, or 2 more than that rounded down (docs/protocol.md, Short
 * messages between hosts).
 *
 * B_intra is the rate at which a rank reads what others of its machine have: the leader reads the
 * g - 1 others' elements, and they all at once its sums; in parallel each reads (g - 1) / g of
 * both. B_intra and B_inter are taken one after the other: where they overlap, the model's
 * time is too long.
 */
#ifndef INA_COST_MODEL_H
#define INA_COST_MODEL_H

#include <stdbool.h>

struct cost_model {
	int ranks;
	int machines;
	int locals; /* ranks of the largest machine */
	bool aggregated;
	double alpha_s;
	double inter; /* bytes a second */
	double intra; /* bytes a second; 0: it takes no time */
};

enum cost_schedule { COST_FLAT, COST_LEADER, COST_PARALLEL, COST_COUNT };

#define COST_SHORT_BYTES 16384

/* Messages one behind the other in a short all-reduce of so many ranks. */
int cost_steps(int ranks);

/* Seconds for an all-reduce of `bytes`. */
double cost_of(const struct cost_model *model, enum cost_schedule schedule, double bytes);

/* The fastest; of several equal ones parallel, then leader. */
enum cost_schedule cost_fastest(const struct cost_model *model, double bytes);

/* The part of cost_of() that is spent inside the machines. */
double cost_inside(const struct cost_model *model, enum cost_schedule schedule, double bytes);

/* Bytes that a machine sends, over those of the elements: 1, or 2 (n - 1) / n. */
double cost_share(const struct cost_model *model);

#endif
