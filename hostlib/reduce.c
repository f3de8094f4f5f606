/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise sums, in loops that the compiler turns into vector code. */
#include "reduce.h"

static bool sum_int32(uint32_t *result, const uint32_t *restrict a, const uint32_t *b, size_t count)
{
	uint32_t overflow = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t left = a[i];
		uint32_t right = b[i];
		uint32_t sum = left + right;

		/* The sign bit is set where both operands have a sign that the sum has not. */
		overflow |= (left ^ sum) & (right ^ sum);
		result[i] = sum;
	}
	return overflow >> 31;
}

static void sum_float32(float *result, const float *restrict a, const float *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		result[i] = a[i] + b[i];
}

bool ina_reduce(void *result, const void *a, const void *b, size_t count, enum ina_type type)
{
	if (type == INA_INT32)
		return sum_int32(result, a, b, count);
	sum_float32(result, a, b, count);
	return false;
}
