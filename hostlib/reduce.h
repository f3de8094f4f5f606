/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise sums on the host, for the ring. */
#ifndef INA_REDUCE_H
#define INA_REDUCE_H

#include <stdbool.h>

#include "ina.h"

/*
 * result[i] = a[i] + b[i] for i < count. result may be b; a overlaps neither. Returns whether an
 * int32 addition overflowed (the result is then its two's complement); false for float32.
 */
bool ina_reduce(void *result, const void *a, const void *b, size_t count, enum ina_type type);

#endif
