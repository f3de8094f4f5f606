/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block floating point, for sums: the float32 elements of a block are sent as int32, with one
 * exponent for the block. docs/protocol.md, Fixed point, has the format and the error bound of a
 * sum.
 */
#ifndef INA_ELEMENTS_BLOCK_FLOAT_H
#define INA_ELEMENTS_BLOCK_FLOAT_H

#include <stddef.h>
#include <stdint.h>

/* In place of an exponent: the block has an infinity or a NaN, and is sent as float32. */
#define INA_BLOCK_FLOAT_NONE INT32_MAX

/* The exponents that finite blocks can have. */
#define INA_BLOCK_FLOAT_MIN (-126)
#define INA_BLOCK_FLOAT_MAX 128

/*
 * The smallest e, at least INA_BLOCK_FLOAT_MIN, with |x| < 2^e for all elements; or
 * INA_BLOCK_FLOAT_NONE. Memory of any alignment.
 */
int32_t ina_block_float_exponent(const void *elements, size_t count);

/*
 * Makes integers from float32 elements, rounded to nearest, ties to even. The unit of the integers
 * is 2^(exponent - 30 + log2 of the ranks, rounded up). If |x| < 2^exponent for the elements of all
 * ranks, the sum over `ranks` ranks fits an int32. Memory may have any alignment; the two arrays
 * must not overlap.
 */
void ina_block_float_quantize(void *restrict integers, const void *restrict elements, size_t count,
                              int32_t exponent, int ranks);

/* Replaces sums of such integers by the float32 numbers that they stand for. */
void ina_block_float_restore(void *sums, size_t count, int32_t exponent, int ranks);

#endif
