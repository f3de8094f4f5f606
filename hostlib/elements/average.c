/* SPDX-License-Identifier: Apache-2.0 */
/* Sums become averages. */
#include "average.h"

#include "combine.h"
#include "rounding.h"

/* divide_TYPE(): each element is read as `number`, divided, and made bits of again. */
#define DIVIDE(type, element, number, read, write)                                                 \
	static __attribute__((noinline)) void divide_##type(uint8_t *elements, size_t count,       \
	                                                    int ranks)                             \
	{                                                                                          \
		for (size_t i = 0; i < count; i++) {                                               \
			element bits;                                                              \
                                                                                                   \
			memcpy(&bits, elements + i * sizeof(bits), sizeof(bits));                  \
			bits = (element)write((number)read(bits) / (number)ranks);                 \
			memcpy(elements + i * sizeof(bits), &bits, sizeof(bits));                  \
		}                                                                                  \
	}

/* clang-format off */
DIVIDE(int32, int32_t, int64_t, , )
DIVIDE(int64, int64_t, int64_t, , )
DIVIDE(uint8, uint8_t, uint64_t, , )
DIVIDE(uint32, uint32_t, uint64_t, , )
DIVIDE(uint64, uint64_t, uint64_t, , )
DIVIDE(float64, uint64_t, double, double_of, float64_bits)
DIVIDE(float32, uint32_t, float, float_of, float32_bits)
DIVIDE(bfloat16, uint16_t, float, widen_bfloat16, round_bfloat16)
DIVIDE(float16, uint16_t, float, widen_float16, round_float16)
/* clang-format on */

static void (*const DIVIDE_OF[])(uint8_t *elements, size_t count, int ranks) = {
        [INA_INT32] = divide_int32,       [INA_FLOAT32] = divide_float32,
        [INA_BFLOAT16] = divide_bfloat16, [INA_FLOAT16] = divide_float16,
        [INA_FLOAT64] = divide_float64,   [INA_INT64] = divide_int64,
        [INA_UINT8] = divide_uint8,       [INA_UINT32] = divide_uint32,
        [INA_UINT64] = divide_uint64,
};

void ina_average(void *sums, size_t count, enum ina_type type, int ranks)
{
	uint64_t mode = ina_rounding_begin();

	DIVIDE_OF[type](sums, count, ranks);
	ina_rounding_end(mode);
}
