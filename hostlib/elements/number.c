/* SPDX-License-Identifier: Apache-2.0 */
/* Number types and operations. */
#include "number.h"

#include <assert.h>

static_assert((int)INA_INT32 == (int)INA_WIRE_INT32 && (int)INA_FLOAT32 == (int)INA_WIRE_FLOAT32 &&
                      (int)INA_BFLOAT16 == (int)INA_WIRE_BFLOAT16 &&
                      (int)INA_FLOAT16 == (int)INA_WIRE_FLOAT16,
              "the public numbers of types are those of the wire");
static_assert((int)INA_SUM == (int)INA_WIRE_SUM && (int)INA_MAX == (int)INA_WIRE_MAX &&
                      (int)INA_MIN == (int)INA_WIRE_MIN,
              "the public numbers of operations are those of the wire");

/*
 * sum: the wire's number type for a sum that an aggregator can make of this type. order: that for a
 * maximum or minimum. A sum of unsigned integers has the same bits as one in two's complement.
 */
static const struct {
	const char *name;
	size_t bytes;
	enum ina_wire_number_type sum;
	enum ina_wire_number_type order;
} TYPES[] = {
        [INA_INT32] = {"int32", 4, INA_WIRE_INT32, INA_WIRE_INT32},
        [INA_FLOAT32] = {"float32", 4, INA_WIRE_FLOAT32, INA_WIRE_FLOAT32},
        [INA_BFLOAT16] = {"bfloat16", 2, INA_WIRE_BFLOAT16, INA_WIRE_BFLOAT16},
        [INA_FLOAT16] = {"float16", 2, INA_WIRE_FLOAT16, INA_WIRE_FLOAT16},
        [INA_FLOAT64] = {"float64", 8, INA_WIRE_NO_NUMBERS, INA_WIRE_NO_NUMBERS},
        [INA_INT64] = {"int64", 8, INA_WIRE_NO_NUMBERS, INA_WIRE_NO_NUMBERS},
        [INA_UINT8] = {"uint8", 1, INA_WIRE_NO_NUMBERS, INA_WIRE_NO_NUMBERS},
        [INA_UINT32] = {"uint32", 4, INA_WIRE_INT32, INA_WIRE_NO_NUMBERS},
        [INA_UINT64] = {"uint64", 8, INA_WIRE_NO_NUMBERS, INA_WIRE_NO_NUMBERS},
        [INA_BYTES] = {NULL, 1, INA_WIRE_INT32, INA_WIRE_NO_NUMBERS},
};

static const char *const OPS[] = {[INA_SUM] = "sum",
                                  [INA_MAX] = "max",
                                  [INA_MIN] = "min",
                                  [INA_PROD] = "product",
                                  [INA_AVG] = "average"};

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

size_t ina_type_bytes(int type)
{
	return type >= 0 && type < COUNT_OF(TYPES) ? TYPES[type].bytes : 0;
}

const char *ina_type_name(int type)
{
	return type >= 0 && type < COUNT_OF(TYPES) ? TYPES[type].name : NULL;
}

const char *ina_op_name(int op)
{
	return op >= 0 && op < COUNT_OF(OPS) ? OPS[op] : NULL;
}

enum ina_op ina_op_under_way(enum ina_op op)
{
	return op == INA_AVG ? INA_SUM : op;
}

enum ina_wire_number_type ina_number_of_wire(enum ina_type type, enum ina_op op)
{
	switch (ina_op_under_way(op)) {
	case INA_SUM:
		return TYPES[type].sum;
	case INA_MAX:
	case INA_MIN:
		return TYPES[type].order;
	default:
		return INA_WIRE_NO_NUMBERS;
	}
}
