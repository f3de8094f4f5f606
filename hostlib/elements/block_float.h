/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block floating point: the float32 elements of a block as int32 with one exponent for the block,
 * for sums. docs/protocol.md, Fixed point, has the format and how far a sum may be off.
 */
#ifndef INA_ELEMENTS_BLOCK_FLOAT_H
#define INA_ELEMENTS_BLOCK_FLOAT_H

#include <stddef.h>
#include <stdint.h>

/* Instead of an exponent: the block has an infinity or a NaN, and is to travel as float32. */
#define INA_BLOCK_FLOAT_NONE INT32_MAX

/* Exponents of finite blocks. */
#define INA_BLOCK_FLOAT_MIN (-126)
#define INA_BLOCK_FLOAT_MAX 128

/* The smallest e, INA_BLOCK_FLOAT_MIN at least, such that all |x| < 2^e; or INA_BLOCK_FLOAT_NONE.
 * Any alignment. */
int32_t ina_block_float_exponent(const void *elements, size_t count);

/*
 * Are these all ranks' elements, |x| < 2^exponent, the sum of as many ranks fits an int32: the unit
 * of the integers is 2^(exponent - 30 + log2 of the ranks, rounded up). Rounds to nearest, ties to
 * even. Memory of any alignment that does not overlap.
 */
void ina_block_float_quantize(void *restrict integers, const void *restrict elements, size_t count,
                              int32_t exponent, int ranks);

/* The numbers that sums of such integers stand for, in their place. */
void ina_block_float_restore(void *sums, size_t count, int32_t exponent, int ranks);

#endif
