/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element-wise operations: a loop for each type and operation, which the compiler turns into vector
 * code, and a table of them.
 */
#include "reduce.h"

#include "combine.h"
#include "common/vector.h"
#include "float16.h"
#include "number.h"
#include "rounding.h"

/* Elements lie anywhere, and are looked at as numbers and as bits. */
typedef uint8_t __attribute__((may_alias)) element8;
typedef uint16_t __attribute__((aligned(1), may_alias)) element16;
typedef uint32_t __attribute__((aligned(1), may_alias)) element32;
typedef uint64_t __attribute__((aligned(1), may_alias)) element64;

/* each_NAME(): what NAME() makes of two elements, for arrays of them. */
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
EACH(element16, sum_bfloat16) EACH(element16, max_bfloat16) EACH(element16, min_bfloat16) EACH(element16, prod_bfloat16)
EACH(element16, sum_float16) EACH(element16, max_float16) EACH(element16, min_float16) EACH(element16, prod_float16)
        /* clang-format on */

        /* The sum of which it is told whether it overflowed. */
        INA_VECTOR static bool each_sum_int32(void *result, const void *restrict a, const void *b,
                                              size_t count)
{
	element32 *to = result;
	const element32 *restrict left = a;
	const element32 *right = b;
	uint32_t overflow = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t sum = left[i] + right[i];

		/* The sign bit is set where both operands have a sign that the sum has not. */
		overflow |= (left[i] ^ sum) & (right[i] ^ sum);
		to[i] = sum;
	}
	return overflow >> 31;
}

/* What is left of a sum by vectors, or all of it, goes by shifts and masks. */
static __attribute__((noinline)) bool sum_float16_fast(void *result, const void *restrict a,
                                                       const void *b, size_t count)
{
	size_t done = ina_float16_sum(result, a, b, count);
	size_t bytes = done * sizeof(uint16_t);

	return each_sum_float16((uint8_t *)result + bytes, (const uint8_t *)a + bytes,
	                        (const uint8_t *)b + bytes, count - done);
}

/* By type and operation; returns whether an int32 sum overflowed. */
typedef bool (*each_fn)(void *result, const void *restrict a, const void *b, size_t count);

#define ROW(sum, max, min, prod)                                                                   \
	{                                                                                          \
		[INA_SUM] = (sum), [INA_MAX] = (max), [INA_MIN] = (min), [INA_PROD] = (prod)       \
	}

static const each_fn EACH_OF[][INA_PROD + 1] = {
        [INA_INT32] = ROW(each_sum_int32, each_max_int32, each_min_int32, each_prod_uint32),
        [INA_FLOAT32] =
                ROW(each_sum_float32, each_max_float32, each_min_float32, each_prod_float32),
        [INA_BFLOAT16] =
                ROW(each_sum_bfloat16, each_max_bfloat16, each_min_bfloat16, each_prod_bfloat16),
        [INA_FLOAT16] =
                ROW(sum_float16_fast, each_max_float16, each_min_float16, each_prod_float16),
        [INA_FLOAT64] =
                ROW(each_sum_float64, each_max_float64, each_min_float64, each_prod_float64),
        [INA_INT64] = ROW(each_sum_uint64, each_max_int64, each_min_int64, each_prod_uint64),
        [INA_UINT8] = ROW(each_sum_uint8, each_max_uint8, each_min_uint8, each_prod_uint8),
        [INA_BYTES] = {[INA_SUM] = each_sum_uint8},
        [INA_UINT32] = ROW(each_sum_uint32, each_max_uint32, each_min_uint32, each_prod_uint32),
        [INA_UINT64] = ROW(each_sum_uint64, each_max_uint64, each_min_uint64, each_prod_uint64),
};

bool ina_combine(void *result, const void *a, const void *b, size_t count, enum ina_type type,
                 enum ina_op op)
{
	uint64_t mode = ina_rounding_begin();
	bool overflow = EACH_OF[type][op](result, a, b, count);

	ina_rounding_end(mode);
	return overflow;
}
