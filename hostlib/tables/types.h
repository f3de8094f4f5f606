/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The element types, one row each. The names, sizes and arithmetic of libina, the data of ina-perf,
 * and the types of the adapters for PyTorch and MPI are made from these rows. To add a type, add an
 * enumerator to ina.h and a row to this table.
 *
 * type: the enumerator of ina.h without INA_.
 * name: the name that ina_type_name() returns.
 * kind: SIGNED or UNSIGNED: an integer. FLOAT: a float that is computed as it is. HALF: a float of
 * 16 bits, of which sums and products are computed as float32 and rounded once.
 * bits: the size of an element.
 * sum, order: the wire's number type with which an aggregator adds the elements, and takes their
 * maximum or minimum. NO_NUMBERS: only hosts do so. A sum of unsigned integers has the same bits as
 * one in two's complement.
 * addend, addends: an average is made from sums of ONE or TWO addends of this type for each element
 * (elements/average.h).
 */
#ifndef INA_TABLES_TYPES_H
#define INA_TABLES_TYPES_H

#include "hostlib/include/ina.h"

/* clang-format off */
#define INA_TYPES(X)                                                                               \
	/* type      name      kind      bits  sum         order       addend   addends */         \
	X(INT32,     int32,    SIGNED,   32,   INT32,      INT32,      INT32,   TWO)               \
	X(FLOAT32,   float32,  FLOAT,    32,   FLOAT32,    FLOAT32,    FLOAT32, ONE)               \
	X(BFLOAT16,  bfloat16, HALF,     16,   BFLOAT16,   BFLOAT16,   FLOAT32, ONE)               \
	X(FLOAT16,   float16,  HALF,     16,   FLOAT16,    FLOAT16,    FLOAT32, ONE)               \
	X(FLOAT64,   float64,  FLOAT,    64,   NO_NUMBERS, NO_NUMBERS, FLOAT64, ONE)               \
	X(INT64,     int64,    SIGNED,   64,   NO_NUMBERS, NO_NUMBERS, INT64,   TWO)               \
	X(UINT8,     uint8,    UNSIGNED, 8,    NO_NUMBERS, NO_NUMBERS, INT32,   ONE)               \
	X(UINT32,    uint32,   UNSIGNED, 32,   INT32,      NO_NUMBERS, INT32,   TWO)               \
	X(UINT64,    uint64,   UNSIGNED, 64,   NO_NUMBERS, NO_NUMBERS, INT64,   TWO)               \
	X(INT8,      int8,     SIGNED,   8,    NO_NUMBERS, NO_NUMBERS, INT32,   ONE)               \
	X(UINT16,    uint16,   UNSIGNED, 16,   NO_NUMBERS, NO_NUMBERS, INT32,   ONE)
/* clang-format on */

#endif
