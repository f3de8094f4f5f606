/* SPDX-License-Identifier: Apache-2.0 */
/* Choices from tables of devices, among them such as no host of a lab has. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "hostlib/rdma/choice.h"

#define V1     IBV_GID_TYPE_ROCE_V1
#define V2     IBV_GID_TYPE_ROCE_V2
#define PORTS  8
#define GIDS   4
#define ACTIVE IBV_PORT_ACTIVE

struct table {
	struct ina_port list[PORTS];
	struct ina_gid gids[PORTS][GIDS];
	struct ina_ports ports;
};

static struct ina_port *add_port(struct table *table, const char *device, unsigned int number)
{
	struct ina_port *port = &table->list[table->ports.count];

	*port = (struct ina_port){.number = number,
	                          .transport = IBV_TRANSPORT_IB,
	                          .link_layer = IBV_LINK_LAYER_ETHERNET,
	                          .state = ACTIVE,
	                          .is_near = true,
	                          .gids = table->gids[table->ports.count]};
	snprintf(port->device, sizeof(port->device), "%s", device);
	table->ports.list = table->list;
	table->ports.count++;
	return port;
}

static void add_gid(struct ina_port *port, uint32_t type, const char *address)
{
	port->gids[port->gid_count] = (struct ina_gid){.address = inet_addr(address),
	                                               .mask = inet_addr("255.255.255.0"),
	                                               .index = (uint32_t)port->gid_count,
	                                               .type = type};
	port->gid_count++;
}

/* A port as cards have it: its address as RoCE v1, and then as RoCE v2. */
static struct ina_port *add_card(struct table *table, const char *device, unsigned int number,
                                 const char *address)
{
	struct ina_port *port = add_port(table, device, number);

	add_gid(port, V1, address);
	add_gid(port, V2, address);
	return port;
}

/* "DEVICE:PORT ADDRESS", or "". */
static const char *chosen(const struct table *table, struct ina_wish wish)
{
	static char text[100];
	char address[INET_ADDRSTRLEN];
	struct ina_choice choice;

	wish.list = wish.list ? wish.list : "";
	if (!ina_choose(&table->ports, &wish, &choice))
		return "";
	inet_ntop(AF_INET, &choice.gid->address, address, sizeof(address));
	snprintf(text, sizeof(text), "%s:%u %s", choice.port->device, choice.port->number, address);
	return text;
}

#define assert_chosen(table, expected, ...)                                                        \
	assert_string_equal(chosen(table, (struct ina_wish){__VA_ARGS__}), expected)

static void faults(void **state)
{
	struct table table = {0};
	struct ina_port *port;

	(void)state;
	assert_int_equal(ina_port_fault(add_card(&table, "mlx5_0", 1, "10.0.0.1")), INA_PORT_FITS);

	port = add_card(&table, "mlx5_1", 1, "10.0.1.1");
	port->state = IBV_PORT_DOWN;
	assert_int_equal(ina_port_fault(port), INA_PORT_IS_DOWN);

	/* no GID stands for an IPv4 address: InfiniBand's are made of the port's GUID */
	port = add_port(&table, "mlx5_2", 1);
	port->link_layer = IBV_LINK_LAYER_INFINIBAND;
	assert_int_equal(ina_port_fault(port), INA_PORT_IS_INFINIBAND);

	port = add_card(&table, "iwp1s0", 1, "10.0.3.1");
	port->transport = IBV_TRANSPORT_IWARP;
	assert_int_equal(ina_port_fault(port), INA_PORT_IS_IWARP);

	port = add_port(&table, "mlx4_0", 1);
	assert_int_equal(ina_port_fault(port), INA_PORT_HAS_NO_IPV4);
	add_gid(port, V2, "127.0.0.1");
	assert_int_equal(ina_port_fault(port), INA_PORT_HAS_NO_IPV4);
	add_gid(port, V1, "10.0.4.1");
	assert_int_equal(ina_port_fault(port), INA_PORT_HAS_V1);
	add_gid(port, V2, "10.0.4.2");
	assert_int_equal(ina_port_fault(port), INA_PORT_FITS);

	port = add_port(&table, "bnxt_re0", 0);
	assert_int_equal(ina_port_fault(port), INA_PORT_IS_CLOSED);
}

static void only_roce_v2(void **state)
{
	struct table table = {0};
	struct ina_port *port;

	(void)state;
	assert_chosen(&table, "", .list = "");
	port = add_card(&table, "mlx5_0", 1, "10.0.0.1");
	port->link_layer = IBV_LINK_LAYER_INFINIBAND;
	port = add_card(&table, "iwp1s0", 1, "10.0.0.2");
	port->transport = IBV_TRANSPORT_IWARP;
	port = add_port(&table, "mlx4_0", 1);
	add_gid(port, V1, "10.0.0.3");
	assert_chosen(&table, "", .list = "");
	/* not even an address that was asked for */
	assert_chosen(&table, "", .bind = inet_addr("10.0.0.1"));
	assert_chosen(&table, "", .bind = inet_addr("10.0.0.3"));
	port = add_port(&table, "mlx5_1", 2);
	add_gid(port, V1, "10.0.0.4");
	add_gid(port, V2, "10.0.0.5");
	assert_chosen(&table, "mlx5_1:2 10.0.0.5", .list = "");
	assert_chosen(&table, "", .bind = inet_addr("10.0.0.4"));
}

static void the_way_to_rank_0_comes_first(void **state)
{
	struct table table = {0};
	struct ina_port *port;

	(void)state;
	add_card(&table, "mlx5_0", 1, "10.0.0.1");
	add_card(&table, "mlx5_1", 1, "10.0.1.1");
	add_card(&table, "mlx5_1", 2, "10.0.2.1");
	port = add_card(&table, "mlx5_2", 1, "10.0.3.1");
	add_gid(port, V2, "10.0.1.7");
	assert_chosen(&table, "mlx5_1:2 10.0.2.1", .route = inet_addr("10.0.2.1"),
	              .root = inet_addr("10.0.1.9"));
	/* rank 0 is reached over an address of no device */
	assert_chosen(&table, "mlx5_1:1 10.0.1.1", .route = inet_addr("192.168.7.7"),
	              .root = inet_addr("10.0.1.9"));
	assert_chosen(&table, "mlx5_0:1 10.0.0.1", .route = inet_addr("192.168.7.7"),
	              .root = inet_addr("192.168.7.1"));
	/* the address of the port that fits best */
	assert_chosen(&table, "mlx5_2:1 10.0.1.7", .list = "mlx5_2", .root = inet_addr("10.0.1.9"));
	/* an address whose subnet is unknown is in no subnet */
	table.gids[0][1].mask = 0;
	assert_chosen(&table, "mlx5_1:1 10.0.1.1", .root = inet_addr("10.0.1.9"));
}

static void near_ports_come_first(void **state)
{
	struct table table = {0};

	(void)state;
	add_card(&table, "mlx5_0", 1, "10.0.0.1")->is_near = false;
	add_card(&table, "mlx5_1", 1, "10.0.1.1");
	add_card(&table, "mlx5_2", 1, "10.0.2.1");
	assert_chosen(&table, "mlx5_1:1 10.0.1.1", .list = "");
	/* unless another one leads to rank 0, or comes first in the list */
	assert_chosen(&table, "mlx5_0:1 10.0.0.1", .root = inet_addr("10.0.0.9"));
	assert_chosen(&table, "mlx5_0:1 10.0.0.1", .list = "mlx5_0,mlx5_1");
	assert_chosen(&table, "mlx5_1:1 10.0.1.1", .list = "^mlx5_3");
	/* The rails of a machine take different ports, wherever their processes run. */
	assert_chosen(&table, "mlx5_0:1 10.0.0.1", .list = "mlx5");
	assert_chosen(&table, "mlx5_1:1 10.0.1.1", .list = "mlx5", .strand = 1);
}

static void lists(void **state)
{
	struct table table = {0};
	char text[200];

	(void)state;
	add_card(&table, "mlx5_0", 1, "10.0.0.1");
	add_card(&table, "mlx5_1", 1, "10.0.1.1");
	add_card(&table, "mlx5_1", 2, "10.0.2.1")->state = IBV_PORT_DOWN;
	add_port(&table, "bnxt_re0", 0);
	assert_chosen(&table, "mlx5_1:1 10.0.1.1", .list = "mlx5_1",
	              .route = inet_addr("10.0.0.1"));
	assert_chosen(&table, "mlx5_1:1 10.0.1.1", .list = "^=mlx5_0");
	assert_chosen(&table, "", .list = "mlx5_1:2");
	assert_chosen(&table, "", .list = "mlx5_2");
	/* a requested address must be of a device in the list */
	assert_chosen(&table, "mlx5_1:1 10.0.1.1", .list = "mlx5", .bind = inet_addr("10.0.1.1"));
	assert_chosen(&table, "", .list = "mlx5_0", .bind = inet_addr("10.0.1.1"));
	assert_true(ina_list_matches(&table.ports, "mlx5_1:2"));
	assert_true(ina_list_matches(&table.ports, "bnxt_re0:1"));
	assert_false(ina_list_matches(&table.ports, "mlx5_2"));
	assert_false(ina_list_matches(&table.ports, "^mlx5,bnxt"));
	ina_ports_explain(&table.ports, "^mlx5_0", text, sizeof(text));
	assert_string_equal(text, "mlx5_1:1 can be used, mlx5_1:2 is down, bnxt_re0 cannot be "
	                          "opened");
	ina_ports_explain(&table.ports, "^mlx5_0", text, 20);
	assert_string_equal(text, "mlx5_1:1 can be use");
}

static void strands_take_turns(void **state)
{
	struct table table = {0};
	static const char *const expected[] = {"mlx5_2:1 10.0.2.1", "mlx5_0:1 10.0.0.1",
	                                       "mlx5_3:1 10.0.3.1"};

	(void)state;
	add_card(&table, "mlx5_0", 1, "10.0.0.1");
	add_card(&table, "mlx5_1", 1, "10.0.1.1")->state = IBV_PORT_DOWN;
	add_card(&table, "mlx5_2", 1, "10.0.2.1");
	add_card(&table, "mlx5_3", 1, "10.0.3.1");
	for (unsigned int strand = 0; strand < 7; strand++) {
		assert_chosen(&table, expected[strand % 3], .list = "mlx5_2,mlx5_1,mlx5_0,mlx5_3",
		              .strand = strand);
		/* without a list of devices to use, all use one */
		assert_chosen(&table, "mlx5_0:1 10.0.0.1", .list = "", .strand = strand);
		assert_chosen(&table, "mlx5_2:1 10.0.2.1", .list = "^mlx5_0", .strand = strand);
		assert_chosen(&table, "mlx5_3:1 10.0.3.1", .list = "mlx5", .strand = strand,
		              .bind = inet_addr("10.0.3.1"));
	}
	/* a prefix stands for several devices, the first of which leads to rank 0 */
	assert_chosen(&table, "mlx5_2:1 10.0.2.1", .list = "mlx5", .root = inet_addr("10.0.2.9"));
	assert_chosen(&table, "mlx5_0:1 10.0.0.1", .list = "mlx5", .root = inet_addr("10.0.2.9"),
	              .strand = 1);
	assert_chosen(&table, "mlx5_3:1 10.0.3.1", .list = "mlx5", .root = inet_addr("10.0.2.9"),
	              .strand = 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(faults),
	        cmocka_unit_test(only_roce_v2),
	        cmocka_unit_test(the_way_to_rank_0_comes_first),
	        cmocka_unit_test(near_ports_come_first),
	        cmocka_unit_test(lists),
	        cmocka_unit_test(strands_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
