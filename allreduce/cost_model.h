/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The predicted time of an all-reduce of M bytes, in the alpha-beta model: alpha for a message's
 * latency, M / B for its bytes. There are n machines with g ranks each, so P = n g (after
 * NetReduce, Liu et al., ASPLOS 2023, from which the parallel algorithm comes; the ring's form is
 * that of Patarasuk and Yuan, 2009):
 *
 *	flat ring	2 (P - 1) alpha + 2 (P - 1) / P * M / B_inter
 *	leader		a + g * M / B_intra + c * M / B_inter
 *	parallel	a + 2 (g - 1) / g * M / B_intra + c * M / B_inter
 *
 * The g rails of a machine share its link, so g times M / g pass through it. Between machines, c is
 * 1 and a is 2 alpha if the aggregator sums. With the ring, c is 2 (n - 1) / n and a is
 * 2 (n - 1) alpha.
 *
 * If a rank or rail all-reduces at most 16 KiB without an aggregator, it does not use the ring. Its
 * time is s (alpha + M / B_inter), where s = log2 P, or 2 more than that rounded down if P is not a
 * power of two (docs/protocol.md, Short messages between hosts).
 *
 * B_intra is the rate at which a rank reads data of other ranks on its machine. The leader reads
 * the elements of the other g - 1 ranks, and then these all read its sums at the same time. With
 * the parallel algorithm each rank reads (g - 1) / g of both. The model adds the times of B_intra
 * and B_inter; if they overlap, its result is too long.
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
	double inter; /* bytes per second */
	double intra; /* bytes per second; 0: no time */
};

enum cost_schedule { COST_FLAT, COST_LEADER, COST_PARALLEL, COST_COUNT };

#define COST_SHORT_BYTES 16384

/* The number of successive messages in a short all-reduce of `ranks` ranks. */
int cost_steps(int ranks);

/* Seconds for an all-reduce of `bytes` bytes. */
double cost_of(const struct cost_model *model, enum cost_schedule schedule, double bytes);

/* The fastest schedule; of equally fast ones parallel comes first, then leader. */
enum cost_schedule cost_fastest(const struct cost_model *model, double bytes);

/* The part of cost_of() that is spent inside the machines. */
double cost_inside(const struct cost_model *model, enum cost_schedule schedule, double bytes);

/* Bytes that a machine sends for each byte of elements: 1, or 2 (n - 1) / n. */
double cost_share(const struct cost_model *model);

#endif
