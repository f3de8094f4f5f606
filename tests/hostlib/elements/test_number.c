/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and names of types and operations, and which of them an aggregator combines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hostlib/elements/number.h"

/* By ina.h and by the tables of docs/protocol.md. */
static const struct {
	enum ina_type type;
	const char *name;
	size_t size;
	int sum; /* the number type of a sum on the wire; 0: only hosts add */
	int max;
} TYPES[] = {
        {INA_INT32, "int32", 4, 1, 1},       {INA_FLOAT32, "float32", 4, 2, 2},
        {INA_BFLOAT16, "bfloat16", 2, 3, 3}, {INA_FLOAT16, "float16", 2, 4, 4},
        {INA_FLOAT64, "float64", 8, 0, 0},   {INA_INT64, "int64", 8, 0, 0},
        {INA_UINT8, "uint8", 1, 0, 0},       {INA_UINT32, "uint32", 4, 1, 0},
        {INA_UINT64, "uint64", 8, 0, 0},     {INA_INT8, "int8", 1, 0, 0},
        {INA_UINT16, "uint16", 2, 0, 0},
};

#define TYPE_COUNT (sizeof(TYPES) / sizeof(TYPES[0]))

static void types(void **state)
{
	(void)state;
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		assert_string_equal(ina_type_name(TYPES[i].type), TYPES[i].name);
		assert_int_equal(ina_type_size(TYPES[i].type), TYPES[i].size);
		assert_int_equal(ina_number_of_wire(TYPES[i].type, INA_SUM), TYPES[i].sum);
		assert_int_equal(ina_number_of_wire(TYPES[i].type, INA_AVG), TYPES[i].sum);
		assert_int_equal(ina_number_of_wire(TYPES[i].type, INA_MAX), TYPES[i].max);
		assert_int_equal(ina_number_of_wire(TYPES[i].type, INA_MIN), TYPES[i].max);
		assert_int_equal(ina_number_of_wire(TYPES[i].type, INA_PROD), 0);
	}
}

static void there_are_no_other_types(void **state)
{
	size_t count = 0;

	(void)state;
	for (int type = -2; type < 1000; type++) {
		bool exists = ina_type_name((enum ina_type)type) != NULL;

		assert_int_equal(ina_type_size((enum ina_type)type) > 0, exists);
		count += exists;
	}
	assert_int_equal(count, TYPE_COUNT);
	assert_null(ina_type_name((enum ina_type)UINT32_MAX));
	assert_int_equal(ina_type_size((enum ina_type)UINT32_MAX), 0);
}

/* Bytes are for the library only, and an aggregator adds them as int32. */
static void bytes_are_no_type_of_callers(void **state)
{
	(void)state;
	assert_null(ina_type_name(INA_BYTES));
	assert_int_equal(ina_type_size(INA_BYTES), 0);
	assert_int_equal(ina_type_bytes(INA_BYTES), 1);
	assert_int_equal(ina_number_of_wire(INA_BYTES, INA_SUM), INA_WIRE_INT32);
}

static void operations(void **state)
{
	(void)state;
	assert_null(ina_op_name((enum ina_op)0));
	assert_string_equal(ina_op_name(INA_SUM), "sum");
	assert_string_equal(ina_op_name(INA_MAX), "max");
	assert_string_equal(ina_op_name(INA_MIN), "min");
	assert_string_equal(ina_op_name(INA_PROD), "product");
	assert_string_equal(ina_op_name(INA_AVG), "average");
	assert_null(ina_op_name((enum ina_op)6));
	assert_null(ina_op_name((enum ina_op)UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(types),
	        cmocka_unit_test(there_are_no_other_types),
	        cmocka_unit_test(bytes_are_no_type_of_callers),
	        cmocka_unit_test(operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
