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

#include "wire/ina_wire.h"
#include "packet.h"

/* What every NaN that an operation makes looks like: quiet, positive, no payload. */
#define TREE_CANONICAL_NAN 0x7FC00000u

enum {
	TREE_LEAVES_MAX = 32,
	TREE_PIECE_LANES = 256, /* are worked on at a time */
};

/* The values of a piece at a node: of 32 bits, or of 16 bits and widened. */
union tree_piece {
	uint32_t words[2 * TREE_PIECE_LANES];
	float floats[2 * TREE_PIECE_LANES];
};

struct tree {
	unsigned leaf_count; /* a power of two */
	/* Node 1 is the root, the children of i are 2i and 2i + 1, the leaves come last. */
	union tree_piece *nodes;
	const union payload **operands; /* one a leaf, or NULL */
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
