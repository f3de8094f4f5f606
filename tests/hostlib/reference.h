/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expected result of an all-reduce, by docs/protocol.md and by arithmetic that shares nothing
 * with the library or the aggregator: numbers are made from their fields in double, and rounded by
 * a search for the neighbours.
 */
#ifndef INA_TEST_REFERENCE_H
#define INA_TEST_REFERENCE_H

#include <stdint.h>

#include "ina.h"

/* An element's bits, in the lowest bits. */
typedef uint64_t reference_bits;

/* A number that looks random, from one that does not. Needs no reference_init(). */
uint32_t reference_hash(uint32_t x);

/* To be called once, before any other function of this file. */
void reference_init(void);

/* All types, by an index below REFERENCE_TYPES. */
#define REFERENCE_TYPES 11
enum ina_type reference_type(int index);

/* Bytes of an element. */
size_t reference_bytes(enum ina_type type);

/* For floats of at most 32 bits, and for int32. */
double reference_value(enum ina_type type, reference_bits bits);

/* The number of such a float type that is nearest to value; ties to even. */
reference_bits reference_round(enum ina_type type, double value);

/* a op b, rounded once; a product of bfloat16 is rounded to float32 first. */
reference_bits reference_combine(enum ina_type type, enum ina_op op, reference_bits a,
                                 reference_bits b);

/*
 * The results of the network, the ring and recursive doubling for element `index` of `elements`,
 * from the operands of `count` ranks; op is not an average. In the network rank r is at port r, and
 * there are 2 to 64 ranks. The ring and recursive doubling round a sum or product of 16 bits once,
 * at the end.
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
	REFERENCE_MACHINES, /* machines of two ranks each, whose sums two hosts add up */
};

/* The result of an all-reduce in this way, for any op. */
reference_bits reference_result(enum reference_way way, enum ina_type type, enum ina_op op,
                                const reference_bits *operands, int count, size_t index,
                                size_t elements);

#endif
