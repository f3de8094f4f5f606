/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adder tree: n payloads become one, each lane by its rule.
 *
 * A balanced binary tree over the ports, padded to a power of two: with four
 * (p0 + p1) + (p2 + p3). A port without an operand is bypassed, never added as
 * a zero, so -0 stays -0. The shape is fixed, so a float sum has the same bits
 * whatever the order of arrival.
 */
#ifndef INA_MODEL_TREE_H
#define INA_MODEL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

/* What every NaN that an addition makes looks like: quiet, positive, no payload. */
#define TREE_CANONICAL_NAN 0x7FC00000u

struct tree {
	unsigned leaf_count; /* a power of two */
	union payload
	        *nodes; /* partial sums; node 1 is the root, the children of i are 2i, 2i + 1 */
	const union payload **operands; /* one a leaf, or NULL */
};

/* What the lanes of the packets at hand are. */
struct tree_layout {
	unsigned payload_bytes; /* a multiple of 16 */
	bool starts;            /* lanes 0 to 7 are a message header: the largest */
	bool ends;              /* the last four lanes are a trailer */
	bool float32;           /* elements are added as float32, else as int32 */
};

/* A tree for `port_count` operands. False: no memory. */
bool tree_open(struct tree *tree, unsigned port_count);
void tree_close(struct tree *tree);

/* Forgets the operands, then sets one; it must stay until the sum has been made. */
void tree_clear(struct tree *tree);
void tree_set_operand(struct tree *tree, unsigned port, const union payload *payload);

/*
 * Makes the sum of the operands, at least one, and copies it to `sum`
 * (payload_bytes, any alignment). True where an int32 addition of elements overflowed, in any node.
 * With a single operand the sum is that operand, bit by bit.
 */
bool tree_sum(struct tree *tree, const struct tree_layout *layout, uint8_t *sum);

#endif
