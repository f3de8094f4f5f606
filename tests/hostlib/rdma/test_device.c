/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that libina refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "hostlib/rdma/device.h"

static void kinds_of_devices(void **state)
{
	struct ina_failure failure = {0};

	(void)state;
	assert_int_equal(
	        ina_device_check("mlx5_0", IBV_TRANSPORT_IB, IBV_LINK_LAYER_ETHERNET, &failure),
	        INA_OK);
	assert_int_equal(
	        ina_device_check("mlx5_0", IBV_TRANSPORT_IB, IBV_LINK_LAYER_INFINIBAND, &failure),
	        INA_ERR_DEVICE);
	assert_non_null(strstr(failure.text, "mlx5_0 is an InfiniBand port"));
	assert_int_equal(
	        ina_device_check("iwp1s0", IBV_TRANSPORT_IWARP, IBV_LINK_LAYER_ETHERNET, &failure),
	        INA_ERR_DEVICE);
	assert_non_null(strstr(failure.text, "iwp1s0 is an iWARP device"));
}

static void types_of_gids(void **state)
{
	struct ina_failure failure = {0};

	(void)state;
	assert_int_equal(ina_device_check_gid("mlx5_0", 2, IBV_GID_TYPE_ROCE_V2, &failure), INA_OK);
	assert_int_equal(ina_device_check_gid("mlx5_0", 2, IBV_GID_TYPE_ROCE_V1, &failure),
	                 INA_ERR_DEVICE);
	assert_non_null(strstr(failure.text, "`cma_roce_mode -d mlx5_0 -p 2 -m 2`"));
	assert_non_null(strstr(failure.text, "/sys/kernel/config/rdma_cm/mlx5_0"));
	assert_non_null(strstr(failure.text, "ports/2/default_roce_mode"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(kinds_of_devices),
	        cmocka_unit_test(types_of_gids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
