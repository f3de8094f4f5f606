/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an all-reduce must give, by docs/protocol.md and by arithmetic that shares nothing with the
 * library or the aggregator: numbers are made from their fields in double, and rounded by a search
 * for the neighbours.
 */
#ifndef INA_TEST_REFERENCE_H
#define INA_TEST_REFERENCE_H

#include <stdint.h>

#include "ina.h"

/* An element's bits; those of 16 in the lower half. */
typedef uint32_t reference_bits;

/* To be called once, before anything else here. */
void reference_init(void);

double reference_value(enum ina_type type, reference_bits bits);

/* The number of the type that is nearest to value; ties to the even one. Not for int32. */
reference_bits reference_round(enum ina_type type, double value);

/* a op b, rounded once. */
reference_bits reference_combine(enum ina_type type, enum ina_op op, reference_bits a,
                                 reference_bits b);

/* What an aggregator whose port r has rank r makes of the operands of `count` ranks, 2 to 64. */
reference_bits reference_network(enum ina_type type, enum ina_op op, const reference_bits *operands,
                                 int count);

/* What the ring makes of element `index` of `elements`. */
reference_bits reference_ring(enum ina_type type, enum ina_op op, const reference_bits *operands,
                              int count, size_t index, size_t elements);

#endif
