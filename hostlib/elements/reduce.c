/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise operations: one loop for each type and operation, which the compiler turns into
 * vector code, and a table of these loops.
 */
#include "reduce.h"

#include "combine.h"
#include "common/vector.h"
#include "float16.h"
#include "number.h"
#include "rounding.h"

/* each_NAME() applies NAME() to the elements of two arrays. */
#define EACH(element, name)                                                                        \
	INA_VECTOR static bool each_##name(void *result, const void *restrict a, const void *b,    \
	                                   size_t count)                                           \
	{                                                                                          \
		element *to = result;                                                              \
		const element *restrict left = a;                                                  \
		const element *right = b;                                                          \
                                                                                                   \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = name(left[i], right[i]);                                           \
		return false;                                                                      \
	}

/*
 * A sum of int32 is the only operation that reports an overflow: the sign bit is set if both
 * operands have the same sign, and the sum has the other.
 */
#define EACH_SUM(type, name, bits)                                                                 \
	INA_VECTOR static bool each_sum_##name(void *result, const void *restrict a,               \
	                                       const void *b, size_t count)                        \
	{                                                                                          \
		element##bits *to = result;                                                        \
		const element##bits *restrict left = a;                                            \
		const element##bits *right = b;                                                    \
		uint##bits##_t overflow = 0;                                                       \
                                                                                                   \
		for (size_t i = 0; i < count; i++) {                                               \
			uint##bits##_t sum = sum_##name(left[i], right[i]);                        \
                                                                                                   \
			if (INA_##type == INA_INT32)                                               \
				overflow |= (left[i] ^ sum) & (right[i] ^ sum);                    \
			to[i] = sum;                                                               \
		}                                                                                  \
		return overflow >> (bits - 1);                                                     \
	}

#define EACH_INTEGER(type, name, bits)                                                             \
	EACH_SUM(type, name, bits)                                                                 \
	EACH(element##bits, prod_##name)                                                           \
	EACH(element##bits, max_##name)                                                            \
	EACH(element##bits, min_##name)
#define EACH_SIGNED   EACH_INTEGER
#define EACH_UNSIGNED EACH_INTEGER
#define EACH_FLOAT(type, name, bits)                                                               \
	EACH(element##bits, sum_##name)                                                            \
	EACH(element##bits, prod_##name)                                                           \
	EACH(element##bits, max_##name)                                                            \
	EACH(element##bits, min_##name)

/* A type that widens has conversions instead of sums and products. */
#define EACH_HALF(type, name, bits)                                                                \
	EACH(element##bits, max_##name)                                                            \
	EACH(element##bits, min_##name)                                                            \
	INA_VECTOR static void widen_all_##name(element32 *restrict to,                            \
	                                        const element16 *restrict from, size_t count)      \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = bits_of(widen_##name(from[i]));                                    \
	}                                                                                          \
                                                                                                   \
	INA_VECTOR static void round_all_##name(element16 *restrict to,                            \
	                                        const element32 *restrict from, size_t count)      \
	{                                                                                          \
		for (size_t i = 0; i < count; i++)                                                 \
			to[i] = round_##name(float_of(from[i]));                                   \
	}

#define LOOPS(type, name, kind, bits, ...) EACH_##kind(type, name, bits)
INA_TYPES(LOOPS)

/* The loop for each type and operation. It returns whether an int32 sum overflowed. */
typedef bool (*each_fn)(void *result, const void *restrict a, const void *b, size_t count);

#define ROW(type, name, kind, ...) [INA_##type] = {ROW_##kind(name)},
#define ROW_HALF(name)             [INA_MAX] = each_max_##name, [INA_MIN] = each_min_##name

#define ROW_FLOAT(name) ROW_HALF(name), [INA_SUM] = each_sum_##name, [INA_PROD] = each_prod_##name

#define ROW_SIGNED   ROW_FLOAT
#define ROW_UNSIGNED ROW_FLOAT

static const each_fn EACH_OF[][INA_PROD + 1] = {[INA_BYTES] = {[INA_SUM] = each_sum_uint8},
                                                INA_TYPES(ROW)};

/* Elements per round for a type that widens: the float32 values in between stay in the cache. */
#define BLOCK ((size_t)512)

bool ina_type_widens(enum ina_type type, enum ina_op op)
{
	return (op == INA_SUM || op == INA_PROD) && !EACH_OF[type][op];
}

/* Shifts and masks convert the float16 that the processor's instructions leave over, or all. */
static __attribute__((noinline)) void widen(element32 *to, const element16 *from, size_t count,
                                            enum ina_type type)
{
	size_t done = type == INA_FLOAT16 ? ina_float16_widen(to, from, count) : 0;

	if (type == INA_FLOAT16)
		widen_all_float16(to + done, from + done, count - done);
	else
		widen_all_bfloat16(to, from, count);
}

static __attribute__((noinline)) void narrow(element16 *to, const element32 *from, size_t count,
                                             enum ina_type type)
{
	size_t done = type == INA_FLOAT16 ? ina_float16_round(to, from, count) : 0;

	if (type == INA_FLOAT16)
		round_all_float16(to + done, from + done, count - done);
	else
		round_all_bfloat16(to, from, count);
}

/*
 * Returns the elements as float32: the operand itself if it is wide, and otherwise a copy in
 * `room`.
 */
static const element32 *wide_of(struct ina_operand operand, size_t offset, size_t count,
                                enum ina_type type, element32 *room)
{
	if (operand.wide)
		return (const element32 *)operand.elements + offset;
	widen(room, (const element16 *)operand.elements + offset, count, type);
	return room;
}

static void combine_wide(void *result, bool result_is_wide, struct ina_operand a,
                         struct ina_operand b, size_t count, enum ina_type type, enum ina_op op)
{
	uint32_t rooms[3][BLOCK];

	for (size_t done = 0; done < count; done += BLOCK) {
		size_t length = count - done < BLOCK ? count - done : BLOCK;
		const element32 *left = wide_of(a, done, length, type, rooms[0]);
		const element32 *right = wide_of(b, done, length, type, rooms[1]);
		element32 *to = result_is_wide ? (element32 *)result + done : rooms[2];

		EACH_OF[INA_FLOAT32][op](to, left, right, length);
		if (!result_is_wide)
			narrow((element16 *)result + done, to, length, type);
	}
}

bool ina_combine_wide(void *result, bool result_is_wide, struct ina_operand a, struct ina_operand b,
                      size_t count, enum ina_type type, enum ina_op op)
{
	uint64_t mode = ina_rounding_begin();
	bool overflow = false;

	if (ina_type_widens(type, op))
		combine_wide(result, result_is_wide, a, b, count, type, op);
	else
		overflow = EACH_OF[type][op](result, a.elements, b.elements, count);
	ina_rounding_end(mode);
	return overflow;
}

bool ina_combine(void *result, const void *a, const void *b, size_t count, enum ina_type type,
                 enum ina_op op)
{
	return ina_combine_wide(result, false, (struct ina_operand){a, false},
	                        (struct ina_operand){b, false}, count, type, op);
}

void ina_widen(void *wide, const void *elements, size_t count, enum ina_type type)
{
	uint64_t mode = ina_rounding_begin();

	widen(wide, elements, count, type);
	ina_rounding_end(mode);
}

void ina_round(void *elements, const void *wide, size_t count, enum ina_type type)
{
	uint64_t mode = ina_rounding_begin();

	narrow(elements, wide, count, type);
	ina_rounding_end(mode);
}
