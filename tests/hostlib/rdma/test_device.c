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

/* The limits of a ConnectX-5, with one of them lowered at a time. */
static void limits_of_devices(void **state)
{
	const struct ibv_qp_cap room = {
	        .max_send_wr = 136, .max_recv_wr = 264, .max_send_sge = 3, .max_recv_sge = 3};
	static const struct {
		int max_qp_wr, max_sge, max_cqe, max_qp;
		const char *words;
	} rows[] = {
	        {32768, 30, 4194303, 262144, NULL},
	        {264, 3, 1900, 17, NULL},
	        {263, 30, 4194303, 262144,
	         "264 receives on a connection, and the device's max_qp_wr is 263"},
	        {135, 30, 4194303, 262144,
	         "136 sends on a connection, and the device's max_qp_wr is 135"},
	        {32768, 2, 4194303, 262144,
	         "3 entries of a message, and the device's max_sge is 2"},
	        {32768, 30, 1899, 262144,
	         "1900 entries of a completion queue, and the device's max_cqe is 1899"},
	        {32768, 30, 4194303, 16, "17 queue pairs, and the device's max_qp is 16"},
	};
	struct ina_failure failure;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct ibv_device_attr limits = {.max_qp_wr = rows[i].max_qp_wr,
		                                       .max_sge = rows[i].max_sge,
		                                       .max_cqe = rows[i].max_cqe,
		                                       .max_qp = rows[i].max_qp};
		enum ina_status status =
		        ina_device_check_limits("mlx5_0", &limits, &room, 1900, 17, &failure);

		assert_int_equal(status, rows[i].words ? INA_ERR_DEVICE : INA_OK);
		if (rows[i].words && !strstr(failure.text, rows[i].words))
			fail_msg("\"%s\" does not say \"%s\"", failure.text, rows[i].words);
	}
}

/* Linux' iboe_get_mtu(): 4096, 2048, 1024, 512 or 256, with 96 bytes of headers. */
static void path_mtus(void **state)
{
	(void)state;
	assert_int_equal(ina_path_mtu(65535), 4096);
	assert_int_equal(ina_path_mtu(4200), 4096);
	assert_int_equal(ina_path_mtu(4192), 4096);
	assert_int_equal(ina_path_mtu(4191), 2048);
	assert_int_equal(ina_path_mtu(1500), 1024);
	assert_int_equal(ina_path_mtu(608), 512);
	assert_int_equal(ina_path_mtu(607), 256);
	assert_int_equal(ina_path_mtu(1), 256);

	assert_int_equal(ina_device_mtu(IBV_MTU_4096, 4200), 4200);
	assert_int_equal(ina_device_mtu(IBV_MTU_1024, 1500), 1500);
	assert_int_equal(ina_device_mtu(IBV_MTU_4096, 65536), 65535);
	/* the port carries less than its interface, or the interface is unknown */
	assert_int_equal(ina_device_mtu(IBV_MTU_1024, 9000), 1120);
	assert_int_equal(ina_device_mtu(IBV_MTU_2048, 0), 2144);
	/* the interface carries less than the port, as a VLAN's may */
	assert_int_equal(ina_device_mtu(IBV_MTU_4096, 1500), 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(kinds_of_devices),
	        cmocka_unit_test(types_of_gids),
	        cmocka_unit_test(limits_of_devices),
	        cmocka_unit_test(path_mtus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
