/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each node is a loop over a piece of the elements. It is simple enough for the compiler to
 * vectorize, and short enough for all nodes of a piece to stay in the processor's first-level
 * cache.
 */
#include "tree.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "wire/ina_wire.h"
#include "common/vector.h"

/* The rule of a lane that is no element: the sum, the OR, or the largest value. */
enum lane_rule { LANE_SUM, LANE_BITS, LANE_LARGEST };

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
	unsigned zeros = (unsigned)__builtin_clz(fraction) - 22; /* before the 10 bits' first one */
	return sign | (112 - zeros) << 23 | (fraction << (zeros + 1) & 0x3FF) << 13;
}

/* Returns `bits` without the lowest `count` bits (1 to 31), rounded to nearest, ties to even. */
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
	if (exponent >= 113) /* 2^-14, the smallest normal number; a carry may reach infinity */
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
	tree->nodes = calloc(2 * tree->leaf_count, sizeof(*tree->nodes));
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

/* Two's complement, modulo 2^32. Bit 31 of the return value: some lane overflowed. */
INA_VECTOR static uint32_t add_int32(const uint32_t *a, const uint32_t *b,
                                     uint32_t *restrict result, unsigned count)
{
	uint32_t overflow = 0;

	for (unsigned i = 0; i < count; i++) {
		uint32_t sum = a[i] + b[i];

		/* An addition overflows if both operands have the other sign than the sum. */
		overflow |= (a[i] ^ sum) & (b[i] ^ sum);
		result[i] = sum;
	}
	return overflow;
}

INA_VECTOR static void max_int32(const uint32_t *a, const uint32_t *b, uint32_t *restrict result,
                                 unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		result[i] = (int32_t)a[i] > (int32_t)b[i] ? a[i] : b[i];
}

INA_VECTOR static void min_int32(const uint32_t *a, const uint32_t *b, uint32_t *restrict result,
                                 unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		result[i] = (int32_t)a[i] < (int32_t)b[i] ? a[i] : b[i];
}

static uint32_t combine_integers(enum ina_wire_operation operation, const uint32_t *a,
                                 const uint32_t *b, uint32_t *restrict result, unsigned count)
{
	if (operation == INA_WIRE_SUM)
		return add_int32(a, b, result, count);
	if (operation == INA_WIRE_MAX)
		max_int32(a, b, result, count);
	else
		min_int32(a, b, result, count);
	return 0;
}

static inline float one_nan(float value)
{
	static const uint32_t bits = TREE_CANONICAL_NAN;
	float nan;

	memcpy(&nan, &bits, sizeof(nan));
	return value == value ? value : nan;
}

/* IEEE 754-2019, 9.6: any NaN makes the result a NaN, and -0 is less than +0. */
static inline float maximum(float a, float b)
{
	if (a == b)
		return signbit(a) ? b : a;
	return a > b ? a : b > a ? b : one_nan(NAN);
}

static inline float minimum(float a, float b)
{
	if (a == b)
		return signbit(a) ? a : b;
	return a < b ? a : b < a ? b : one_nan(NAN);
}

/* The host's float32 arithmetic (to nearest even), except for the bits of a NaN. */
INA_VECTOR static void combine_floats(enum ina_wire_operation operation, const float *a,
                                      const float *b, float *restrict result, unsigned count)
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

/*
 * Returns whether there are elements of 16 bits to be combined. A single operand does not change,
 * not even its NaNs.
 */
static bool has_halves(const struct tree *tree, const struct tree_layout *layout)
{
	unsigned operands = 0;

	for (unsigned port = 0; port < tree->leaf_count; port++)
		operands += tree->operands[port] != NULL;
	return operands > 1 && (layout->number_type == INA_WIRE_BFLOAT16 ||
	                        layout->number_type == INA_WIRE_FLOAT16);
}

/*
 * Combines one piece: `lanes` lanes of every operand, from lane `begin` on. Every node has the
 * value of the only operand below it, or combines two in its own buffer; its value is NULL if it
 * has no operand. Returns the int32 overflow of all nodes.
 */
static uint32_t combine_piece(struct tree *tree, const struct tree_layout *layout, unsigned begin,
                              unsigned lanes, uint8_t *sum)
{
	bool halves = has_halves(tree, layout),
	     floats = halves || layout->number_type == INA_WIRE_FLOAT32;
	unsigned count = halves ? 2 * lanes : lanes;
	const void *values[2 * TREE_LEAVES_MAX] = {NULL};
	uint32_t overflow = 0;

	for (unsigned port = 0; port < tree->leaf_count; port++) {
		const union payload *operand = tree->operands[port];
		unsigned leaf = tree->leaf_count + port;

		if (operand && halves)
			widen(layout->number_type, operand->bytes + 4 * begin,
			      tree->nodes[leaf].floats, count);
		if (operand)
			values[leaf] =
			        halves ? (const void *)&tree->nodes[leaf] : &operand->words[begin];
	}
	for (unsigned node = tree->leaf_count - 1; node > 0; node--) {
		const void *a = values[2 * node], *b = values[2 * node + 1];
		union tree_piece *own = &tree->nodes[node];

		values[node] = a && b ? own : a ? a : b;
		if (a && b && floats)
			combine_floats(layout->operation, a, b, own->floats, count);
		else if (a && b)
			overflow |= combine_integers(layout->operation, a, b, own->words, count);
	}
	if (halves)
		round_to(layout->number_type, values[1], sum, count);
	else
		memcpy(sum, values[1], 4 * lanes);
	return overflow;
}

/*
 * Combines one lane of the operands: their sum, their OR, or the largest. The order of operands
 * does not matter.
 */
static uint32_t combine_lane(const struct tree *tree, unsigned lane, enum lane_rule rule)
{
	uint32_t sum = 0, bits = 0;
	int32_t largest = INT32_MIN;

	for (unsigned port = 0; port < tree->leaf_count; port++) {
		const union payload *operand = tree->operands[port];

		if (!operand)
			continue;
		sum += operand->words[lane];
		bits |= operand->words[lane];
		if ((int32_t)operand->words[lane] > largest)
			largest = (int32_t)operand->words[lane];
	}
	return rule == LANE_SUM ? sum : rule == LANE_BITS ? bits : (uint32_t)largest;
}

static enum lane_rule trailer_rule(unsigned lane)
{
	return lane == CONTRIBUTORS_LANE ? LANE_SUM : lane == FLAGS_LANE ? LANE_BITS : LANE_LARGEST;
}

static void write_lane(uint8_t *sum, unsigned lane, uint32_t value)
{
	memcpy(sum + sizeof(value) * lane, &value, sizeof(value));
}

static bool combine_elements(struct tree *tree, const struct tree_layout *layout, uint8_t *sum)
{
	unsigned begin = layout->starts ? HEADER_LANES : 0;
	unsigned end = layout->payload_bytes / 4 - (layout->ends ? TRAILER_LANES : 0);
	uint32_t overflow = 0;

	for (unsigned lane = begin; lane < end; lane += TREE_PIECE_LANES)
		overflow |=
		        combine_piece(tree, layout, lane,
		                      end - lane < TREE_PIECE_LANES ? end - lane : TREE_PIECE_LANES,
		                      sum + 4 * lane);
	return overflow >> 31;
}

bool tree_sum(struct tree *tree, const struct tree_layout *layout, uint8_t *sum)
{
	unsigned trailer = layout->payload_bytes / 4 - TRAILER_LANES;

	if (layout->starts)
		for (unsigned lane = 0; lane < HEADER_LANES; lane++)
			write_lane(sum, lane, combine_lane(tree, lane, LANE_LARGEST));
	if (layout->ends)
		for (unsigned lane = 0; lane < TRAILER_LANES; lane++)
			write_lane(sum, trailer + lane,
			           combine_lane(tree, trailer + lane, trailer_rule(lane)));
	return combine_elements(tree, layout, sum);
}
