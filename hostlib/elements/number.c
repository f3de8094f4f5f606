/* SPDX-License-Identifier: Apache-2.0 */
/* Number types and operations. */
#include "number.h"

#include <assert.h>

#include "wire/ina_wire.h"

static_assert((int)INA_INT32 == (int)INA_WIRE_INT32 && (int)INA_FLOAT32 == (int)INA_WIRE_FLOAT32 &&
                      (int)INA_BFLOAT16 == (int)INA_WIRE_BFLOAT16 &&
                      (int)INA_FLOAT16 == (int)INA_WIRE_FLOAT16,
              "the public numbers of types are those of the wire");
static_assert((int)INA_SUM == (int)INA_WIRE_SUM && (int)INA_MAX == (int)INA_WIRE_MAX &&
                      (int)INA_MIN == (int)INA_WIRE_MIN,
              "the public numbers of operations are those of the wire");

static const struct {
	const char *name;
	size_t bytes;
} TYPES[] = {
        [INA_INT32] = {"int32", 4},
        [INA_FLOAT32] = {"float32", 4},
        [INA_BFLOAT16] = {"bfloat16", 2},
        [INA_FLOAT16] = {"float16", 2},
};

static const char *const OPS[] = {[INA_SUM] = "sum", [INA_MAX] = "max", [INA_MIN] = "min"};

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
