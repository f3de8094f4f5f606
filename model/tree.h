/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adder tree: combines n payloads into one, each lane by its rule.
 *
 * It is a balanced binary tree over the ports, padded to a power of two; four ports give (p0 +
 * p1) + (p2 + p3). A port without an operand is bypassed, never added as a zero, so -0 stays -0.
 * The shape is fixed, so a float sum has the same bits for every order of arrival. Numbers of 16
 * bits are widened to float32 before the tree and rounded once after it.
 */
#ifndef INA_MODEL_TREE_H
#define INA_MODEL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/ina_wire.h"
#include "packet.h"

/* The bits of every NaN that an operation makes: quiet, positive, no payload. */
#define TREE_CANONICAL_NAN 0x7FC00000u

enum {
	TREE_LEAVES_MAX = 32,
	TREE_PIECE_LANES = 256, /* lanes that are combined at a time */
};

/* The values of a piece at a node: of 32 bits, or of 16 bits and widened. */
union tree_piece {
	uint32_t words[2 * TREE_PIECE_LANES];
	float floats[2 * TREE_PIECE_LANES];
};

struct tree {
	unsigned leaf_count; /* a power of two */
	/*
	 * Node 1 is the root, the children of node i are 2i and 2i + 1, and the leaves come last.
	 */
	union tree_piece *nodes;
	const union payload **operands; /* one for each leaf; NULL: no operand */
};

/* The layout of the packets that are combined. */
struct tree_layout {
	unsigned payload_bytes; /* length of each payload; a multiple of 16 */
	bool starts;            /* lanes 0 to 7 are a message header: rule MAX */
	bool ends;              /* the last four lanes are a trailer */
	enum ina_wire_number_type number_type;
	enum ina_wire_operation operation;
};

/* Return the same number in float32. A NaN keeps its sign and fraction. */
uint32_t tree_widen_bfloat16(uint16_t bits);
uint32_t tree_widen_float16(uint16_t bits);

/*
 * Round to nearest, ties to even, with subnormals and overflow to infinity. A NaN keeps its sign
 * and the upper bits of its fraction, which must not all be 0.
 */
uint16_t tree_round_bfloat16(uint32_t bits);
uint16_t tree_round_float16(uint32_t bits);

/* Opens a tree for `port_count` operands, at most 32. False: out of memory. */
bool tree_open(struct tree *tree, unsigned port_count);
void tree_close(struct tree *tree);

/*
 * tree_clear() removes all operands. tree_set_operand() sets one; the payload must stay valid
 * until the sum has been made.
 */
void tree_clear(struct tree *tree);
void tree_set_operand(struct tree *tree, unsigned port, const union payload *payload);

/*
 * Writes the sum of the operands, at least one, to `sum` (payload_bytes, any alignment). True if
 * an int32 addition of elements overflowed in any node. With a single operand the sum has exactly
 * its bits.
 */
bool tree_sum(struct tree *tree, const struct tree_layout *layout, uint8_t *sum);

#endif
