/* SPDX-License-Identifier: Apache-2.0 */
/* Each node is a loop over all lanes, simple enough for the compiler to make vectors of it. */
#include "tree.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ina_wire.h"

enum {
	HEADER_LANES = sizeof(struct ina_wire_header) / 4,
	TRAILER_LANES = sizeof(struct ina_wire_trailer) / 4,
	CONTRIBUTORS_LANE = offsetof(struct ina_wire_trailer, contributors) / 4,
	FLAGS_LANE = offsetof(struct ina_wire_trailer, flags) / 4,
};

#define FLOAT32_INFINITY 0x7F800000u
#define FLOAT32_SIGN     0x80000000u

bool tree_open(struct tree *tree, unsigned port_count)
{
	tree->leaf_count = 1;
	while (tree->leaf_count < port_count)
		tree->leaf_count *= 2;
	tree->nodes = calloc(tree->leaf_count, sizeof(*tree->nodes));
	tree->operands = calloc(tree->leaf_count, sizeof(*tree->operands));
	return tree->nodes && tree->operands;
}

void tree_close(struct tree *tree)
{
	free(tree->nodes);
	free(tree->operands);
	tree->nodes = NULL;
	tree->operands = NULL;
}

void tree_clear(struct tree *tree)
{
	memset(tree->operands, 0, tree->leaf_count * sizeof(*tree->operands));
}

void tree_set_operand(struct tree *tree, unsigned port, const union payload *payload)
{
	assert(port < tree->leaf_count);
	tree->operands[port] = payload;
}

/* Two's complement, modulo 2^32. Bit 31 of the result: some lane overflowed. */
static uint32_t add_int32(const union payload *a, const union payload *b,
                          union payload *restrict sum, unsigned begin, unsigned end)
{
	uint32_t overflow = 0;

	for (unsigned i = begin; i < end; i++) {
		uint32_t s = a->words[i] + b->words[i];

		/* Both operands have the sign that the sum has not. */
		overflow |= (a->words[i] ^ s) & (b->words[i] ^ s);
		sum->words[i] = s;
	}
	return overflow;
}

/* IEEE 754, round to nearest even: the host's own addition, but for the bits of a NaN. */
static void add_float32(const union payload *a, const union payload *b, union payload *sum,
                        unsigned begin, unsigned end)
{
	for (unsigned i = begin; i < end; i++) {
		float s = a->floats[i] + b->floats[i];
		uint32_t bits;

		memcpy(&bits, &s, sizeof(bits));
		sum->words[i] =
		        (bits & ~FLOAT32_SIGN) > FLOAT32_INFINITY ? TREE_CANONICAL_NAN : bits;
	}
}

static void max_int32(const union payload *a, const union payload *b, union payload *sum,
                      unsigned begin, unsigned end)
{
	for (unsigned i = begin; i < end; i++)
		sum->words[i] =
		        (int32_t)a->words[i] > (int32_t)b->words[i] ? a->words[i] : b->words[i];
}

static void add_trailer(const union payload *a, const union payload *b, union payload *sum,
                        unsigned begin)
{
	unsigned contributors = begin + CONTRIBUTORS_LANE;
	unsigned flags = begin + FLAGS_LANE;

	sum->words[contributors] = a->words[contributors] + b->words[contributors];
	sum->words[flags] = a->words[flags] | b->words[flags];
	max_int32(a, b, sum, flags + 1, begin + TRAILER_LANES);
}

/* The value of the subtree under a node; NULL where it has no operand. */
static const union payload *node_value(struct tree *tree, const struct tree_layout *layout,
                                       unsigned node, uint32_t *overflow)
{
	if (node >= tree->leaf_count)
		return tree->operands[node - tree->leaf_count];

	const union payload *a = node_value(tree, layout, 2 * node, overflow);
	const union payload *b = node_value(tree, layout, 2 * node + 1, overflow);
	if (!a || !b)
		return a ? a : b;

	union payload *sum = &tree->nodes[node];
	unsigned lanes = layout->payload_bytes / 4;
	unsigned begin = layout->starts ? HEADER_LANES : 0;
	unsigned end = layout->ends ? lanes - TRAILER_LANES : lanes;

	if (layout->starts)
		max_int32(a, b, sum, 0, HEADER_LANES);
	if (layout->float32)
		add_float32(a, b, sum, begin, end);
	else
		*overflow |= add_int32(a, b, sum, begin, end);
	if (layout->ends)
		add_trailer(a, b, sum, end);
	return sum;
}

bool tree_sum(struct tree *tree, const struct tree_layout *layout, uint8_t *sum)
{
	uint32_t overflow = 0;
	const union payload *value = node_value(tree, layout, 1, &overflow);

	assert(value);
	memcpy(sum, value->bytes, layout->payload_bytes);
	return overflow >> 31;
}
