/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, products, averages, maxima and minima, computed in a different way. */
#include "reference.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Wide enough for every product of two integers; 113 bits of fraction, more than twice as many as
 * float64.
 */
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;
__extension__ typedef _Float128 quad;

struct format {
	int exponent_bits;
	int fraction_bits;
	reference_bits nan;
};

static const struct format FORMATS[] = {
        [INA_FLOAT32] = {8, 23, 0x7FC00000},
        [INA_BFLOAT16] = {8, 7, 0x7FC0},
        [INA_FLOAT16] = {5, 10, 0x7E00},
};

/* The values of all non-negative 16-bit encodings; infinity has the value that a number in its
 * place would have.
 */
static double magnitudes[2][0x8000];

static double magnitude_of(const struct format *format, reference_bits bits)
{
	int bias = (1 << (format->exponent_bits - 1)) - 1;
	int exponent = (int)(bits >> format->fraction_bits);
	double fraction = (double)(bits & ((1u << format->fraction_bits) - 1));

	if (exponent == 0)
		return ldexp(fraction, 1 - bias - format->fraction_bits);
	return ldexp(fraction + ldexp(1, format->fraction_bits),
	             exponent - bias - format->fraction_bits);
}

uint32_t reference_hash(uint32_t x)
{
	x = (x ^ (x >> 16)) * 0x7FEB352Du; /* Wellons, hash-prospector */
	x = (x ^ (x >> 15)) * 0x846CA68Bu;
	return x ^ (x >> 16);
}

void reference_init(void)
{
	for (reference_bits bits = 0; bits < 0x8000; bits++) {
		magnitudes[0][bits] = magnitude_of(&FORMATS[INA_BFLOAT16], bits);
		magnitudes[1][bits] = magnitude_of(&FORMATS[INA_FLOAT16], bits);
	}
}

static int width_of(const struct format *format)
{
	return 1 + format->exponent_bits + format->fraction_bits;
}

static reference_bits infinity_of(const struct format *format)
{
	return ((1u << format->exponent_bits) - 1) << format->fraction_bits;
}

double reference_value(enum ina_type type, reference_bits bits)
{
	const struct format *format = &FORMATS[type];
	reference_bits sign = 1u << (width_of(format) - 1);
	reference_bits magnitude = bits & (sign - 1);
	double value;

	if (type == INA_INT32)
		return (double)(int32_t)(uint32_t)bits;
	if (magnitude > infinity_of(format))
		return NAN;
	value = magnitude == infinity_of(format) ? INFINITY : magnitude_of(format, magnitude);
	return bits & sign ? -value : value;
}

/* The compiler's rounding of double to float is the processor's, which is independent enough. */
static reference_bits round_float32(double value)
{
	float rounded = (float)value;
	uint32_t bits;

	memcpy(&bits, &rounded, sizeof(bits));
	return isnan(value) ? FORMATS[INA_FLOAT32].nan : bits;
}

reference_bits reference_round(enum ina_type type, double value)
{
	const double *table = magnitudes[type == INA_FLOAT16];
	const struct format *format = &FORMATS[type];
	reference_bits low = 0;
	reference_bits high = infinity_of(format);
	double magnitude = fabs(value);
	double below;
	double above;

	if (isnan(value))
		return format->nan;
	if (type == INA_FLOAT32)
		return round_float32(value);
	if (magnitude >= table[high]) {
		low = high;
	} else {
		while (high - low > 1) { /* table[low] <= magnitude < table[high] */
			reference_bits middle = (low + high) / 2;

			if (table[middle] <= magnitude)
				low = middle;
			else
				high = middle;
		}
		below = magnitude - table[low];
		above = table[high] - magnitude;
		if (below > above || (below == above && low % 2 == 1))
			low = high;
	}
	return low | (signbit(value) ? 0x8000u : 0);
}

enum ina_type reference_type(int index)
{
	static const enum ina_type types[REFERENCE_TYPES] = {
	        INA_INT32, INA_FLOAT32, INA_BFLOAT16, INA_FLOAT16, INA_FLOAT64, INA_INT64,
	        INA_UINT8, INA_UINT32,  INA_UINT64,   INA_INT8,    INA_UINT16,
	};

	return types[index];
}

size_t reference_bytes(enum ina_type type)
{
	switch (type) {
	case INA_UINT8:
	case INA_INT8:
		return 1;
	case INA_BFLOAT16:
	case INA_FLOAT16:
	case INA_UINT16:
		return 2;
	case INA_INT32:
	case INA_FLOAT32:
	case INA_UINT32:
		return 4;
	case INA_FLOAT64:
	case INA_INT64:
	case INA_UINT64:
		return 8;
	}
	return 0;
}

static bool is_float(enum ina_type type)
{
	return type == INA_FLOAT32 || type == INA_BFLOAT16 || type == INA_FLOAT16 ||
	       type == INA_FLOAT64;
}

static bool is_half(enum ina_type type)
{
	return type == INA_BFLOAT16 || type == INA_FLOAT16;
}

static wide integer_of(enum ina_type type, reference_bits bits)
{
	switch (type) {
	case INA_INT32:
		return (int32_t)(uint32_t)bits;
	case INA_INT64:
		return (int64_t)bits;
	case INA_INT8:
		return (int8_t)(uint8_t)bits;
	default:
		return bits;
	}
}

/* Modulo 2 to the power of the number of bits. */
static reference_bits bits_of(enum ina_type type, wide value)
{
	return (reference_bits)value & (UINT64_MAX >> (64 - 8 * reference_bytes(type)));
}

static reference_bits combine_integers(enum ina_type type, enum ina_op op, reference_bits a,
                                       reference_bits b)
{
	wide x = integer_of(type, a);
	wide y = integer_of(type, b);

	switch (op) {
	case INA_SUM:
		return bits_of(type, x + y);
	case INA_PROD: /* of two 64-bit unsigned numbers, the lower half of 128 bits */
		return bits_of(type, (wide)((unsigned_wide)x * (unsigned_wide)y));
	case INA_MAX:
		return x > y ? a : b;
	case INA_MIN:
		return x < y ? a : b;
	case INA_AVG:
		break;
	}
	return 0;
}

static quad quad_of(reference_bits bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static reference_bits round_float64(quad value)
{
	double rounded = (double)value;
	reference_bits bits;

	memcpy(&bits, &rounded, sizeof(bits));
	return value != value ? 0x7FF8000000000000 : bits;
}

static bool has_sign(quad value)
{
	return signbit((double)value);
}

static quad combine_values(enum ina_op op, quad a, quad b)
{
	if (op == INA_PROD)
		return a * b;
	if (op == INA_SUM || a != a || b != b)
		return a + b;
	if (a == b) /* zeros may have different signs */
		return (op == INA_MAX) == has_sign(a) ? b : a;
	return (op == INA_MAX) == (a > b) ? a : b;
}

reference_bits reference_combine(enum ina_type type, enum ina_op op, reference_bits a,
                                 reference_bits b)
{
	double value;

	if (!is_float(type))
		return combine_integers(type, op, a, b);
	if (type == INA_FLOAT64)
		return round_float64(combine_values(op, quad_of(a), quad_of(b)));
	/* Sums and products of these types have no more digits than a double. */
	value = (double)combine_values(op, reference_value(type, a), reference_value(type, b));
	if (op == INA_PROD && type == INA_BFLOAT16)
		value = (float)value;
	return reference_round(type, value);
}

/* The operands [first, first + width) of a tree over `count` operands. */
static reference_bits combine_tree(enum ina_type type, enum ina_op op,
                                   const reference_bits *operands, int count, int first, int width)
{
	int half = width / 2;

	if (width == 1)
		return operands[first];
	if (first + half >= count)
		return combine_tree(type, op, operands, count, first, half);
	return reference_combine(type, op, combine_tree(type, op, operands, count, first, half),
	                         combine_tree(type, op, operands, count, first + half, half));
}

static void widen(enum ina_type type, const reference_bits *operands, int count,
                  reference_bits *wide)
{
	for (int r = 0; r < count; r++)
		wide[r] = round_float32(reference_value(type, operands[r]));
}

static reference_bits narrow(enum ina_type type, reference_bits wide)
{
	return reference_round(type, reference_value(INA_FLOAT32, wide));
}

reference_bits reference_network(enum ina_type type, enum ina_op op, const reference_bits *operands,
                                 int count)
{
	reference_bits wide[INA_MAX_RANKS];
	int width = 2;

	while (width < count)
		width *= 2;
	if (!is_half(type))
		return combine_tree(type, op, operands, count, 0, width);
	widen(type, operands, count, wide);
	return narrow(type, combine_tree(INA_FLOAT32, op, wide, count, 0, width));
}

static bool widens(enum ina_type type, enum ina_op op)
{
	return is_half(type) && (op == INA_SUM || op == INA_PROD);
}

reference_bits reference_ring(enum ina_type type, enum ina_op op, const reference_bits *operands,
                              int count, size_t index, size_t elements)
{
	size_t ranks = (size_t)count;
	size_t chunk = 0;
	size_t end = 0;
	reference_bits sum;

	/* n chunks of almost equal size, the first ones larger by one; each begins at its rank. */
	for (chunk = 0; chunk < ranks; chunk++) {
		end += elements / ranks + (chunk < elements % ranks);
		if (index < end)
			break;
	}
	if (widens(type, op)) {
		reference_bits wide[INA_MAX_RANKS] = {0};

		widen(type, operands, count, wide);
		return narrow(type, reference_ring(INA_FLOAT32, op, wide, count, index, elements));
	}
	sum = operands[chunk];
	for (size_t step = 1; step < ranks; step++)
		sum = reference_combine(type, op, sum, operands[(chunk + step) % ranks]);
	return sum;
}

/* The units [first, first + width): pairs of ranks first, then single ranks. */
static reference_bits combine_units(enum ina_type type, enum ina_op op,
                                    const reference_bits *operands, int pairs, int first, int width)
{
	int half = width / 2;

	if (width > 1)
		return reference_combine(
		        type, op, combine_units(type, op, operands, pairs, first, half),
		        combine_units(type, op, operands, pairs, first + half, half));
	if (first >= pairs)
		return operands[first + pairs];
	return reference_combine(type, op, operands[2 * first], operands[2 * first + 1]);
}

/* Each step is rounded to the type. */
static reference_bits by_pairs(enum ina_type type, enum ina_op op, const reference_bits *operands,
                               int count)
{
	int units = 1;

	while (2 * units <= count)
		units *= 2;
	return combine_units(type, op, operands, count - units, 0, units);
}

reference_bits reference_doubling(enum ina_type type, enum ina_op op,
                                  const reference_bits *operands, int count)
{
	reference_bits wide[INA_MAX_RANKS];

	if (!widens(type, op))
		return by_pairs(type, op, operands, count);
	widen(type, operands, count, wide);
	return narrow(type, by_pairs(INA_FLOAT32, op, wide, count));
}

/* docs/protocol.md, Short messages between hosts. */
static bool is_halved(enum ina_type type, enum ina_op op, int count, size_t bytes)
{
	return !widens(type, op) && (count & (count - 1)) == 0 && bytes <= 131072 &&
	       bytes <= 16384 * (size_t)count;
}

/* op is not an average. */
static reference_bits combine_all(enum reference_way way, enum ina_type type, enum ina_op op,
                                  const reference_bits *operands, int count, size_t index,
                                  size_t elements)
{
	size_t bytes = widens(type, op) ? 4 : reference_bytes(type);

	if (way == REFERENCE_NETWORK)
		return reference_network(type, op, operands, count);
	if (way == REFERENCE_MACHINES)
		return by_pairs(type, op, operands, count);
	if (elements * bytes <= 16384 || is_halved(type, op, count, elements * bytes))
		return reference_doubling(type, op, operands, count);
	return reference_ring(type, op, operands, count, index, elements);
}

static reference_bits average_of_integers(enum ina_type type, const reference_bits *operands,
                                          int count)
{
	wide sum = 0;

	for (int r = 0; r < count; r++)
		sum += integer_of(type, operands[r]);
	return bits_of(type, sum / count);
}

/* The largest finite one, with the sign of the value. */
static reference_bits largest(enum ina_type type, quad value)
{
	if (type == INA_FLOAT64)
		return has_sign(value) ? 0xFFEFFFFFFFFFFFFF : 0x7FEFFFFFFFFFFFFF;
	return has_sign(value) ? 0xFF7FFFFF : 0x7F7FFFFF;
}

/*
 * Each element is divided by the first power of two above the number of ranks, and rounded to
 * float32 or float64. These addends are summed in that type, and the sum is divided by the number
 * of ranks and multiplied by that power.
 */
static reference_bits average_of_floats(enum reference_way way, enum ina_type type,
                                        const reference_bits *operands, int count, size_t index,
                                        size_t elements)
{
	enum ina_type as = type == INA_FLOAT64 ? INA_FLOAT64 : INA_FLOAT32;
	reference_bits addends[INA_MAX_RANKS] = {0};
	reference_bits average;
	quad power = 1;
	quad sum;

	while (power <= count)
		power *= 2;
	for (int r = 0; r < count; r++)
		addends[r] =
		        as == INA_FLOAT64
		                ? round_float64(quad_of(operands[r]) / power)
		                : round_float32(reference_value(type, operands[r]) / (double)power);
	average = combine_all(way, as, INA_SUM, addends, count, index, elements);
	sum = as == INA_FLOAT64 ? quad_of(average) : (quad)reference_value(as, average);
	average = as == INA_FLOAT64 ? round_float64(sum * power / count)
	                            : round_float32((double)(sum * power / count));
	/* All elements are finite, or the sum would not be. */
	if (sum - sum == 0 && average == largest(as, sum) + 1)
		average = largest(as, sum);
	return as == type ? average : narrow(type, average);
}

reference_bits reference_result(enum reference_way way, enum ina_type type, enum ina_op op,
                                const reference_bits *operands, int count, size_t index,
                                size_t elements)
{
	if (op != INA_AVG)
		return combine_all(way, type, op, operands, count, index, elements);
	if (is_float(type))
		return average_of_floats(way, type, operands, count, index, elements);
	return average_of_integers(type, operands, count);
}
