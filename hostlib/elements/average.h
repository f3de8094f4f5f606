/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Averages: each rank makes addends from its elements, all ranks add these up, and each rank makes
 * the averages from the sums. The addends are such that no sum overflows:
 *
 * 	bfloat16, float16, float32   float32, divided by the smallest power of two above the ranks
 * 	float64                      float64, divided by the same power of two
 * 	uint8, int8, uint16          int32
 * 	int32, uint32                two int32: upper half (shifted, with its sign) and lower half
 * 	int64, uint64                two int64: the same halves
 */
#ifndef INA_ELEMENTS_AVERAGE_H
#define INA_ELEMENTS_AVERAGE_H

#include "hostlib/include/ina.h"

/* The type of the addends, and the bytes of addends for one element of `type`. */
enum ina_type ina_average_type(enum ina_type type);
size_t ina_average_bytes(enum ina_type type);

/*
 * Makes the addends of `count` elements. Memory may have any alignment. `addends` may be the same
 * memory as `elements` if both have the same number of bytes; otherwise they must not overlap. The
 * division of floats is exact, except for a float32 below 2^-126 times the power of two (float64:
 * 2^-1022), which is rounded to a subnormal.
 */
void ina_average_begin(void *addends, const void *elements, size_t count, enum ina_type type,
                       int ranks);

/*
 * Makes averages from sums; the rules for memory are those of ina_average_begin(). A float quotient
 * is rounded to nearest, ties to even; for 16-bit floats it is rounded to float32 first. An integer
 * quotient is rounded towards zero. The average of finite numbers is always finite, although sums
 * of them are rounded.
 */
void ina_average_end(void *averages, const void *sums, size_t count, enum ina_type type, int ranks);

#endif
