/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise sums, products, maxima and minima on the host, for the ring. */
#ifndef INA_ELEMENTS_REDUCE_H
#define INA_ELEMENTS_REDUCE_H

#include <stdbool.h>

#include "hostlib/include/ina.h"

/*
 * result[i] = a[i] op b[i] for i < count, by the rules of docs/protocol.md, Elements: what a node
 * of the aggregator's tree makes of two operands, with bfloat16 and float16 rounded at once; and
 * for types and operations that only hosts have, by those of The ring's connection. op is not
 * INA_AVG, which is a sum until its end (average.h). Memory of any alignment. result may be b; a
 * overlaps neither. Returns whether an int32 sum overflowed (the result is then its two's
 * complement); false for all else.
 */
bool ina_combine(void *result, const void *a, const void *b, size_t count, enum ina_type type,
                 enum ina_op op);

#endif
