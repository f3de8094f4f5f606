/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise sums, products, maxima and minima on the host, for the ring. */
#ifndef INA_ELEMENTS_REDUCE_H
#define INA_ELEMENTS_REDUCE_H

#include <stdbool.h>

#include "hostlib/include/ina.h"

/*
 * Are partial results float32, and rounded only at the end? Those of sums and products of bfloat16
 * and float16 are: they are *wide*.
 */
bool ina_type_widens(enum ina_type type, enum ina_op op);

/* Elements to combine: of the type, or, of one that widens, wide. */
struct ina_operand {
	const void *elements;
	bool wide;
};

/*
 * result[i] = a[i] op b[i] for i < count, by the rules of docs/protocol.md, Elements: what a node
 * of the aggregator's tree makes of two operands, with bfloat16 and float16 rounded at once; and
 * for types and operations that only hosts have, by those of The ring's connection. op is not
 * INA_AVG, which is a sum of other elements (average.h). Memory of any alignment. result may be b;
 * a overlaps neither. Returns whether an int32 sum overflowed (the result is then its two's
 * complement); false for all else.
 */
bool ina_combine(void *result, const void *a, const void *b, size_t count, enum ina_type type,
                 enum ina_op op);

/*
 * The same of operands that may be wide, if the type widens, to a result that may be; else it is
 * rounded. result may be b where both are wide or neither is.
 */
bool ina_combine_wide(void *result, bool result_is_wide, struct ina_operand a, struct ina_operand b,
                      size_t count, enum ina_type type, enum ina_op op);

/* Of a type that widens: wide ones of elements, and elements of wide ones. They do not overlap. */
void ina_widen(void *wide, const void *elements, size_t count, enum ina_type type);
void ina_round(void *elements, const void *wide, size_t count, enum ina_type type);

#endif
