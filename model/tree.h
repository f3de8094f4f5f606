/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adder tree: n payloads become one, each lane by its rule.
 *
 * A balanced binary tree over the ports, padded to a power of two: with four
 * (p0 + p1) + (p2 + p3). A port without an operand is bypassed, never added as
 * a zero, so -0 stays -0. The shape is fixed, so a float sum has the same bits
 * whatever the order of arrival. Numbers of 16 bits are widened to float32
 * before the tree and rounded once after it.
 */
#ifndef INA_MODEL_TREE_H
#define INA_MODEL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "ina_wire.h"
#include "packet.h"

/* What every NaN that an operation makes looks like: quiet, positive, no payload. */
#define TREE_CANONICAL_NAN 0x7FC00000u

enum { TREE_LEAVES_MAX = 32 };

struct tree {
	unsigned leaf_count; /* a power of two */
	union payload
	        *nodes; /* partial sums; node 1 is the root, the children of i are 2i, 2i + 1 */
	const union payload **operands; /* one a leaf, or NULL */
	/* One a leaf: what numbers of 16 bits become. */
	float (*wide)[2 * PACKET_LANES];
};

/* What the lanes of the packets at hand are. */
struct tree_layout {
	unsigned payload_bytes; /* a multiple of 16 */
	bool starts;            /* lanes 0 to 7 are a message header: the largest */
	bool ends;              /* the last four lanes are a trailer */
	enum ina_wire_number_type number_type;
	enum ina_wire_operation operation;
};

/* The same number in float32; a NaN keeps sign and fraction. */
uint32_t tree_widen_bfloat16(uint16_t bits);
uint32_t tree_widen_float16(uint16_t bits);

/*
 * Rounded to nearest, ties to even, subnormals kept, overflow to infinity. A NaN keeps its sign
 * and the upper bits of its fraction, which must not all be 0.
 */
uint16_t tree_round_bfloat16(uint32_t bits);
uint16_t tree_round_float16(uint32_t bits);

/* A tree for `port_count` operands, 32 at most. False: no memory. */
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
