/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise sums, products, maxima and minima, computed on the host. */
#ifndef INA_ELEMENTS_REDUCE_H
#define INA_ELEMENTS_REDUCE_H

#include <stdbool.h>

#include "hostlib/include/ina.h"

/*
 * Are partial results float32, and rounded only at the end? This holds for sums and products of
 * bfloat16 and float16. Such partial results are called *wide*.
 */
bool ina_type_widens(enum ina_type type, enum ina_op op);

/* Elements to combine. If their type widens, they may be wide. */
struct ina_operand {
	const void *elements;
	bool wide;
};

/*
 * Sets result[i] = a[i] op b[i] for i < count. The rules are those of docs/protocol.md: for types
 * and operations of the aggregator, those of Elements, as in one node of its tree; bfloat16 and
 * float16 results are rounded immediately. For types and operations that only hosts have, those of
 * The ring's connection. op must not be INA_AVG, which is a sum of other elements (average.h).
 * Memory may have any alignment. result may be b; a must overlap neither. Returns whether an int32
 * sum overflowed; the result is then the sum in two's complement. Returns false for other types and
 * operations.
 */
bool ina_combine(void *result, const void *a, const void *b, size_t count, enum ina_type type,
                 enum ina_op op);

/*
 * Like ina_combine(), but if the type widens, operands and result may be wide. A result that is not
 * wide is rounded. result may be b if both are wide or neither is.
 */
bool ina_combine_wide(void *result, bool result_is_wide, struct ina_operand a, struct ina_operand b,
                      size_t count, enum ina_type type, enum ina_op op);

/*
 * Convert elements of a type that widens: ina_widen() makes wide ones from elements, and
 * ina_round() elements from wide ones. The arrays must not overlap.
 */
void ina_widen(void *wide, const void *elements, size_t count, enum ina_type type);
void ina_round(void *elements, const void *wide, size_t count, enum ina_type type);

#endif
