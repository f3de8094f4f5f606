/* SPDX-License-Identifier: Apache-2.0 */
/* float16 by the processor's own conversions, which take a fifth of the time of shifts and masks.
 */
#ifndef INA_ELEMENTS_FLOAT16_H
#define INA_ELEMENTS_FLOAT16_H

#include <stddef.h>

/*
 * float32 of float16, and float16 of float32 (to nearest, ties to even, NaNs the canonical one),
 * for the first elements. Return how many: whole vectors of them, or 0 where the processor has no
 * such conversions.
 */
size_t ina_float16_widen(void *wide, const void *elements, size_t count);
size_t ina_float16_round(void *elements, const void *wide, size_t count);

#endif
