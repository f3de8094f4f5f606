/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of devices, compared with the rules of NCCL_IB_HCA (NCCL's user guide, "Environment
 * Variables").
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "hostlib/options/device_list.h"

static void positions(void **state)
{
	static const struct {
		const char *list;
		const char *device;
		unsigned int port;
		int place;
	} cases[] = {
	        /* all devices */
	        {"", "mlx5_0", 1, 0},
	        /* prefixes */
	        {"mlx5", "mlx5_0", 1, 0},
	        {"mlx5", "mlx5_12", 2, 0},
	        {"mlx5", "rxe0", 1, -1},
	        {"mlx5_1", "mlx5_1", 1, 0},
	        {"mlx5_1", "mlx5_10", 1, 0},
	        {"mlx5_10", "mlx5_1", 1, -1},
	        /* ports */
	        {"mlx5_0:1,mlx5_1:1", "mlx5_0", 1, 0},
	        {"mlx5_0:1,mlx5_1:1", "mlx5_1", 1, 1},
	        {"mlx5_0:1,mlx5_1:1", "mlx5_1", 2, -1},
	        {"mlx5_0:1,mlx5_1", "mlx5_1", 2, 1},
	        {"mlx5_0:2", "mlx5_0", 1, -1},
	        {"mlx5_0:255", "mlx5_0", 255, 0},
	        /* a device that cannot be opened has no known port */
	        {"mlx5_0:2", "mlx5_0", 0, 0},
	        /* the first name counts */
	        {"mlx5_1,mlx5", "mlx5_1", 1, 0},
	        {"mlx5_1,mlx5", "mlx5_0", 1, 1},
	        /* exact names */
	        {"=mlx5_1", "mlx5_1", 1, 0},
	        {"=mlx5_1", "mlx5_10", 1, -1},
	        {"=mlx5_0:1,mlx5_1:2", "mlx5_1", 2, 1},
	        {"=mlx5", "mlx5_0", 1, -1},
	        /* exclusion */
	        {"^mlx5_3,mlx5_4", "mlx5_3", 1, -1},
	        {"^mlx5_3,mlx5_4", "mlx5_40", 1, -1},
	        {"^mlx5_3,mlx5_4", "mlx5_0", 1, 0},
	        {"^mlx5_0:1", "mlx5_0", 1, -1},
	        {"^mlx5_0:1", "mlx5_0", 2, 0},
	        {"^=mlx5_1,mlx5_4", "mlx5_10", 1, 0},
	        {"^=mlx5_1,mlx5_4", "mlx5_4", 1, -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_true(ina_device_list_is_valid(cases[i].list));
		if (ina_device_list_place(cases[i].list, cases[i].device, cases[i].port) !=
		    cases[i].place)
			fail_msg("%s, %s:%u", cases[i].list, cases[i].device, cases[i].port);
	}
}

static void invalid_lists(void **state)
{
	static const char *const lists[] = {
	        "^",     "=",          "^=",       ",",         "mlx5_0,",       ",mlx5_0",
	        ":1",    "mlx5_0:",    "mlx5_0:0", "mlx5_0:-1", "mlx5_0:+1",     "mlx5_0:1x",
	        "a:1:2", "mlx5_0:256", "a,,b",     "a: 1",      "a:00000000001", "a:1,b:x",
	};
	char text[INA_DEVICE_LIST_SIZE + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		if (ina_device_list_is_valid(lists[i]))
			fail_msg("\"%s\" is accepted", lists[i]);
	}
	memset(text, 'a', sizeof(text));
	text[INA_DEVICE_LIST_SIZE - 1] = '\0';
	assert_true(ina_device_list_is_valid(text));
	text[INA_DEVICE_LIST_SIZE - 1] = 'a';
	text[INA_DEVICE_LIST_SIZE] = '\0';
	assert_false(ina_device_list_is_valid(text));
}

static void inclusion(void **state)
{
	(void)state;
	assert_true(ina_device_list_includes("mlx5_0"));
	assert_true(ina_device_list_includes("=mlx5_0"));
	assert_false(ina_device_list_includes(""));
	assert_false(ina_device_list_includes("^mlx5_0"));
	assert_false(ina_device_list_includes("^=mlx5_0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(positions),
	        cmocka_unit_test(invalid_lists),
	        cmocka_unit_test(inclusion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
