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

/* Elements may have any alignment, and are accessed both as numbers and as bits. */
typedef uint8_t __attribute__((may_alias)) element8;
typedef uint16_t __attribute__((aligned(1), may_alias)) element16;
typedef uint32_t __attribute__((aligned(1), may_alias)) element32;
typedef uint64_t __attribute__((aligned(1), may_alias)) element64;

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

/* clang-format off */
EACH(element8, sum_uint8) EACH(element8, max_uint8) EACH(element8, min_uint8) EACH(element8, prod_uint8)
EACH(element32, sum_uint32) EACH(element32, max_uint32) EACH(element32, min_uint32) EACH(element32, prod_uint32)
EACH(element32, max_int32) EACH(element32, min_int32)
EACH(element64, sum_uint64) EACH(element64, max_uint64) EACH(element64, min_uint64) EACH(element64, prod_uint64)
EACH(element64, max_int64) EACH(element64, min_int64)
EACH(element64, sum_float64) EACH(element64, max_float64) EACH(element64, min_float64) EACH(element64, prod_float64)
EACH(element32, sum_float32) EACH(element32, max_float32) EACH(element32, min_float32) EACH(element32, prod_float32)
EACH(element16, max_bfloat16) EACH(element16, min_bfloat16)
EACH(element16, max_float16) EACH(element16, min_float16)
        /* clang-format on */

        /* The only operation that reports an overflow. */
        INA_VECTOR static bool each_sum_int32(void *result, const void *restrict a, const void *b,
                                              size_t count)
{
	element32 *to = result;
	const element32 *restrict left = a;
	const element32 *right = b;
	uint32_t overflow = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t sum = left[i] + right[i];

		/*
		 * The sign bit is set if both operands have the same sign, and the sum has the
		 * other.
		 */
		overflow |= (left[i] ^ sum) & (right[i] ^ sum);
		to[i] = sum;
	}
	return overflow >> 31;
}

/* The loop for each type and operation. It returns whether an int32 sum overflowed. */
typedef bool (*each_fn)(void *result, const void *restrict a, const void *b, size_t count);

#define ROW(sum, max, min, prod)                                                                   \
	{                                                                                          \
		[INA_SUM] = (sum), [INA_MAX] = (max), [INA_MIN] = (min), [INA_PROD] = (prod)       \
	}

static const each_fn EACH_OF[][INA_PROD + 1] = {
        [INA_INT32] = ROW(each_sum_int32, each_max_int32, each_min_int32, each_prod_uint32),
        [INA_FLOAT32] =
                ROW(each_sum_float32, each_max_float32, each_min_float32, each_prod_float32),
        [INA_BFLOAT16] = {[INA_MAX] = each_max_bfloat16, [INA_MIN] = each_min_bfloat16},
        [INA_FLOAT16] = {[INA_MAX] = each_max_float16, [INA_MIN] = each_min_float16},
        [INA_FLOAT64] =
                ROW(each_sum_float64, each_max_float64, each_min_float64, each_prod_float64),
        [INA_INT64] = ROW(each_sum_uint64, each_max_int64, each_min_int64, each_prod_uint64),
        [INA_UINT8] = ROW(each_sum_uint8, each_max_uint8, each_min_uint8, each_prod_uint8),
        [INA_BYTES] = {[INA_SUM] = each_sum_uint8},
        [INA_UINT32] = ROW(each_sum_uint32, each_max_uint32, each_min_uint32, each_prod_uint32),
        [INA_UINT64] = ROW(each_sum_uint64, each_max_uint64, each_min_uint64, each_prod_uint64),
};

/* Elements per round for a type that widens: the float32 values in between stay in the cache. */
#define BLOCK ((size_t)512)

bool ina_type_widens(enum ina_type type, enum ina_op op)
{
	return (type == INA_BFLOAT16 || type == INA_FLOAT16) && (op == INA_SUM || op == INA_PROD);
}

INA_VECTOR static void widen_all_bfloat16(element32 *restrict to, const element16 *restrict from,
                                          size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = bits_of(widen_bfloat16(from[i]));
}

INA_VECTOR static void round_all_bfloat16(element16 *restrict to, const element32 *restrict from,
                                          size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = round_bfloat16(float_of(from[i]));
}

/* Shifts and masks convert the elements that the processor's instructions leave over, or all. */
INA_VECTOR static void widen_all_float16(element32 *restrict to, const element16 *restrict from,
                                         size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = bits_of(widen_float16(from[i]));
}

INA_VECTOR static void round_all_float16(element16 *restrict to, const element32 *restrict from,
                                         size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = round_float16(float_of(from[i]));
}

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
