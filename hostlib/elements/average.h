/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Averages: each rank makes other elements of its own, all ranks add these up, and averages are
 *made of the sums. They are such that no sum overflows:
 *
 *	bfloat16, float16, float32   float32, divided by the smallest power of two above the ranks
 *	float64                      float64, likewise
 *	uint8                        int32
 *	int32, uint32                two int32: the upper half (shifted, with its sign) and the
 *lower int64, uint64                two int64: likewise
 */
#ifndef INA_ELEMENTS_AVERAGE_H
#define INA_ELEMENTS_AVERAGE_H

#include "hostlib/include/ina.h"

/* The type of what is added up, and its bytes for one element of `type`. */
enum ina_type ina_average_type(enum ina_type type);
size_t ina_average_bytes(enum ina_type type);

/*
 * Makes what is added up of `count` elements. Memory of any alignment; addends may be elements
 * where they have as many bytes, else they do not overlap. A division is exact, but for a float32
 * below 2^-126 times that power of two (float64: 2^-1022), which is rounded to a subnormal.
 */
void ina_average_begin(void *addends, const void *elements, size_t count, enum ina_type type,
                       int ranks);

/*
 * Makes averages of sums, in memory as above. Floats are rounded to nearest, ties to even: the
 * quotient to float32, and that to 16 bits; integers towards zero. The average of finite numbers is
 * finite, for all that sums of them are rounded.
 */
void ina_average_end(void *averages, const void *sums, size_t count, enum ina_type type, int ranks);

#endif
