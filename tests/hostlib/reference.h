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

/* a op b, rounded once; a product of bfloat16 to float32 first. */
reference_bits reference_combine(enum ina_type type, enum ina_op op, reference_bits a,
                                 reference_bits b);

/*
 * What these make of the operands of `count` ranks, of element `index` of `elements`; op is not an
 * average. In the network rank r is at port r, and there are 2 to 64. The ring and recursive
 * doubling round a sum or product of 16 bits once, at the end.
 */
reference_bits reference_network(enum ina_type type, enum ina_op op, const reference_bits *operands,
                                 int count);
reference_bits reference_ring(enum ina_type type, enum ina_op op, const reference_bits *operands,
                              int count, size_t index, size_t elements);
reference_bits reference_doubling(enum ina_type type, enum ina_op op,
                                  const reference_bits *operands, int count);

enum reference_way {
	REFERENCE_NETWORK,
	REFERENCE_HOSTS,    /* the ring or recursive doubling, by the length */
	REFERENCE_MACHINES, /* of two ranks each, whose sums two hosts add up */
};

/* The result of an all-reduce that goes so, whatever op is. */
reference_bits reference_result(enum reference_way way, enum ina_type type, enum ina_op op,
                                const reference_bits *operands, int count, size_t index,
                                size_t elements);

#endif
