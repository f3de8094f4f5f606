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

/* An element's bits, the lowest ones. */
typedef uint64_t reference_bits;

/* To be called once, before anything else here. */
void reference_init(void);

/* Bytes of an element. */
size_t reference_bytes(enum ina_type type);

/* Of floats of at most 32 bits, and of int32. */
double reference_value(enum ina_type type, reference_bits bits);

/* The number of such a type of floats that is nearest to value; ties to the even one. */
reference_bits reference_round(enum ina_type type, double value);

/* a op b, rounded once; a product of bfloat16 to float32 first. The average's is the sum. */
reference_bits reference_combine(enum ina_type type, enum ina_op op, reference_bits a,
                                 reference_bits b);

/* What an average is of the sum of all ranks. */
reference_bits reference_average(enum ina_type type, reference_bits sum, int ranks);

/* What an aggregator whose port r has rank r makes of the operands of `count` ranks, 2 to 64. */
reference_bits reference_network(enum ina_type type, enum ina_op op, const reference_bits *operands,
                                 int count);

/* What the ring makes of element `index` of `elements`. */
reference_bits reference_ring(enum ina_type type, enum ina_op op, const reference_bits *operands,
                              int count, size_t index, size_t elements);

/* What recursive doubling makes of the operands. */
reference_bits reference_doubling(enum ina_type type, enum ina_op op,
                                  const reference_bits *operands, int count);

/* What the hosts make of them by themselves: the one or the other, by the length. */
reference_bits reference_hosts(enum ina_type type, enum ina_op op, const reference_bits *operands,
                               int count, size_t index, size_t elements);

#endif
