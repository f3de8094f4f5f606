/* SPDX-License-Identifier: Apache-2.0 */
/* Each node is a loop over all lanes, simple enough for the compiler to make vectors of it. */
#include "tree.h"

#include <assert.h>
#include <math.h>
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

uint32_t tree_widen_bfloat16(uint16_t bits)
{
	return (uint32_t)bits << 16;
}

/* binary16: exponent bias 15, 10 bits of fraction; float32: 127 and 23. */
uint32_t tree_widen_float16(uint16_t bits)
{
	uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
	uint32_t exponent = bits >> 10 & 31, fraction = bits & 0x3FF;

	if (exponent == 31)
		return sign | FLOAT32_INFINITY | fraction << 13;
	if (exponent > 0)
		return sign | (exponent + 112) << 23 | fraction << 13;
	if (fraction == 0)
		return sign;
	unsigned zeros = (unsigned)__builtin_clz(fraction) - 22; /* before the leading one of 10 */
	return sign | (112 - zeros) << 23 | (fraction << (zeros + 1) & 0x3FF) << 13;
}

/* `bits` without the lowest `count` ones (1 to 31), to nearest, ties to even. */
static uint32_t round_off(uint32_t bits, unsigned count)
{
	uint32_t half = 1u << (count - 1), lost = bits & (2 * half - 1), kept = bits >> count;

	return kept + (lost > half || (lost == half && (kept & 1)));
}

uint16_t tree_round_bfloat16(uint32_t bits)
{
	if ((bits & ~FLOAT32_SIGN) >= FLOAT32_INFINITY)
		return (uint16_t)(bits >> 16);
	return (uint16_t)round_off(bits, 16);
}

uint16_t tree_round_float16(uint32_t bits)
{
	uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
	uint32_t magnitude = bits & ~FLOAT32_SIGN, exponent = magnitude >> 23;

	if (magnitude >= FLOAT32_INFINITY)
		return (uint16_t)(sign | 0x7C00 | (magnitude >> 13 & 0x3FF));
	if (exponent >= 143) /* 2^16 */
		return sign | 0x7C00;
	if (exponent >= 113) /* 2^-14, the smallest normal number; the carry may reach infinity */
		return (uint16_t)(sign | round_off(magnitude - (112u << 23), 13));
	if (exponent < 102) /* less than half of the smallest subnormal, 2^-24 */
		return sign;
	return (uint16_t)(sign | round_off((magnitude & 0x7FFFFF) | 0x800000, 13 + 113 - exponent));
}

bool tree_open(struct tree *tree, unsigned port_count)
{
	tree->leaf_count = 1;
	while (tree->leaf_count < port_count)
		tree->leaf_count *= 2;
	tree->nodes = calloc(tree->leaf_count, sizeof(*tree->nodes));
	tree->operands = calloc(tree->leaf_count, sizeof(*tree->operands));
	tree->wide = calloc(tree->leaf_count, sizeof(*tree->wide));
	return tree->nodes && tree->operands && tree->wide;
}

void tree_close(struct tree *tree)
{
	free(tree->nodes);
	free(tree->operands);
	free(tree->wide);
	tree->nodes = NULL;
	tree->operands = NULL;
	tree->wide = NULL;
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

static float one_nan(float value)
{
	static const uint32_t bits = TREE_CANONICAL_NAN;
	float nan;

	memcpy(&nan, &bits, sizeof(nan));
	return value == value ? value : nan;
}

/* IEEE 754-2019, 9.6: a NaN makes the result one, and -0 is less than +0. */
static float maximum(float a, float b)
{
	if (a == b)
		return signbit(a) ? b : a;
	return a > b ? a : b > a ? b : one_nan(NAN);
}

static float minimum(float a, float b)
{
	if (a == b)
		return signbit(a) ? a : b;
	return a < b ? a : b < a ? b : one_nan(NAN);
}

/* The host's own float32 arithmetic (to nearest even), but for the bits of a NaN. */
static void combine_floats(enum ina_wire_operation operation, const float *a, const float *b,
                           float *result, unsigned count)
{
	if (operation == INA_WIRE_SUM)
		for (unsigned i = 0; i < count; i++)
			result[i] = one_nan(a[i] + b[i]);
	else if (operation == INA_WIRE_MAX)
		for (unsigned i = 0; i < count; i++)
			result[i] = maximum(a[i], b[i]);
	else
		for (unsigned i = 0; i < count; i++)
			result[i] = minimum(a[i], b[i]);
}

static void max_int32(const union payload *a, const union payload *b, union payload *sum,
                      unsigned begin, unsigned end)
{
	for (unsigned i = begin; i < end; i++)
		sum->words[i] =
		        (int32_t)a->words[i] > (int32_t)b->words[i] ? a->words[i] : b->words[i];
}

static void min_int32(const union payload *a, const union payload *b, union payload *sum,
                      unsigned begin, unsigned end)
{
	for (unsigned i = begin; i < end; i++)
		sum->words[i] =
		        (int32_t)a->words[i] < (int32_t)b->words[i] ? a->words[i] : b->words[i];
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

/* The elements of 32 bits; those of 16 are combine_halves()'s. */
static void combine_words(const struct tree_layout *layout, const union payload *a,
                          const union payload *b, union payload *sum, unsigned begin, unsigned end,
                          uint32_t *overflow)
{
	if (layout->number_type == INA_WIRE_FLOAT32)
		combine_floats(layout->operation, a->floats + begin, b->floats + begin,
		               sum->floats + begin, end - begin);
	else if (layout->number_type != INA_WIRE_INT32)
		return;
	else if (layout->operation == INA_WIRE_SUM)
		*overflow |= add_int32(a, b, sum, begin, end);
	else if (layout->operation == INA_WIRE_MAX)
		max_int32(a, b, sum, begin, end);
	else
		min_int32(a, b, sum, begin, end);
}

static unsigned elements_begin(const struct tree_layout *layout)
{
	return layout->starts ? HEADER_LANES : 0;
}

static unsigned elements_end(const struct tree_layout *layout)
{
	return layout->payload_bytes / 4 - (layout->ends ? TRAILER_LANES : 0);
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
	unsigned end = elements_end(layout);

	if (layout->starts)
		max_int32(a, b, sum, 0, HEADER_LANES);
	combine_words(layout, a, b, sum, elements_begin(layout), end, overflow);
	if (layout->ends)
		add_trailer(a, b, sum, end);
	return sum;
}

static void widen(enum ina_wire_number_type type, const uint8_t *bytes, float *wide, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint16_t half;
		uint32_t bits;

		memcpy(&half, bytes + sizeof(half) * i, sizeof(half));
		bits = type == INA_WIRE_BFLOAT16 ? tree_widen_bfloat16(half)
		                                 : tree_widen_float16(half);
		memcpy(&wide[i], &bits, sizeof(bits));
	}
}

static void round_to(enum ina_wire_number_type type, const float *wide, uint8_t *bytes,
                     unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		uint32_t bits;
		uint16_t half;

		memcpy(&bits, &wide[i], sizeof(bits));
		half = type == INA_WIRE_BFLOAT16 ? tree_round_bfloat16(bits)
		                                 : tree_round_float16(bits);
		memcpy(bytes + sizeof(half) * i, &half, sizeof(half));
	}
}

/* The elements of 16 bits, level by level, written to `sum` where they belong. */
static void combine_halves(struct tree *tree, const struct tree_layout *layout, uint8_t *sum)
{
	unsigned begin = elements_begin(layout), count = 2 * (elements_end(layout) - begin);
	float *values[TREE_LEAVES_MAX];

	for (unsigned i = 0; i < tree->leaf_count; i++) {
		values[i] = tree->operands[i] ? tree->wide[i] : NULL;
		if (values[i])
			widen(layout->number_type, tree->operands[i]->bytes + 4 * begin, values[i],
			      count);
	}
	for (unsigned width = tree->leaf_count / 2; width > 0; width /= 2)
		for (unsigned i = 0; i < width; i++) {
			float *a = values[2 * i], *b = values[2 * i + 1];

			if (a && b)
				combine_floats(layout->operation, a, b, a, count);
			values[i] = a ? a : b;
		}
	round_to(layout->number_type, values[0], sum + 4 * begin, count);
}

static bool has_halves(const struct tree_layout *layout)
{
	return layout->number_type == INA_WIRE_BFLOAT16 || layout->number_type == INA_WIRE_FLOAT16;
}

static unsigned operand_count(const struct tree *tree)
{
	unsigned count = 0;

	for (unsigned i = 0; i < tree->leaf_count; i++)
		count += tree->operands[i] != NULL;
	return count;
}

bool tree_sum(struct tree *tree, const struct tree_layout *layout, uint8_t *sum)
{
	uint32_t overflow = 0;
	const union payload *value = node_value(tree, layout, 1, &overflow);

	assert(value);
	memcpy(sum, value->bytes, layout->payload_bytes);
	if (has_halves(layout) && operand_count(tree) > 1)
		combine_halves(tree, layout, sum);
	return overflow >> 31;
}
