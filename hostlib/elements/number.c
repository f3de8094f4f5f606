/* SPDX-License-Identifier: Apache-2.0 */
/* Number types and operations. */
#include "number.h"

#include <assert.h>

#include "hostlib/tables/types.h"

static_assert((int)INA_INT32 == (int)INA_WIRE_INT32 && (int)INA_FLOAT32 == (int)INA_WIRE_FLOAT32 &&
                      (int)INA_BFLOAT16 == (int)INA_WIRE_BFLOAT16 &&
                      (int)INA_FLOAT16 == (int)INA_WIRE_FLOAT16,
              "the public numbers of types are those of the wire");
static_assert((int)INA_SUM == (int)INA_WIRE_SUM && (int)INA_MAX == (int)INA_WIRE_MAX &&
                      (int)INA_MIN == (int)INA_WIRE_MIN,
              "the public numbers of operations are those of the wire");

#define ROW(type, name, kind, bits, sum, order, ...)                                               \
	[INA_##type] = {#name, bits / 8, INA_WIRE_##sum, INA_WIRE_##order},

static const struct {
	const char *name; /* NULL: not for callers of the library */
	size_t bytes;
	enum ina_wire_number_type sum;
	enum ina_wire_number_type order;
} TYPES[] = {[INA_BYTES] = {NULL, 1, INA_WIRE_INT32, INA_WIRE_NO_NUMBERS}, INA_TYPES(ROW)};

static const char *const OPS[] = {[INA_SUM] = "sum",
                                  [INA_MAX] = "max",
                                  [INA_MIN] = "min",
                                  [INA_PROD] = "product",
                                  [INA_AVG] = "average"};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

size_t ina_type_bytes(enum ina_type type)
{
	return (size_t)type < COUNT_OF(TYPES) ? TYPES[type].bytes : 0;
}

size_t ina_type_size(enum ina_type type)
{
	return ina_type_name(type) ? ina_type_bytes(type) : 0;
}

const char *ina_type_name(enum ina_type type)
{
	return (size_t)type < COUNT_OF(TYPES) ? TYPES[type].name : NULL;
}

const char *ina_op_name(enum ina_op op)
{
	return (size_t)op < COUNT_OF(OPS) ? OPS[op] : NULL;
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
