/* SPDX-License-Identifier: Apache-2.0 */
/* Flow labels, compared with the ports that Linux makes of them: rdma_flow_label_to_udp_sport() in
 * ib_verbs.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hostlib/rdma/label.h"
#include "wire/ina_wire.h"

/* include/rdma/ib_verbs.h of Linux 6.1, copied. */
static uint16_t port_of(uint32_t fl)
{
	uint32_t fl_low = fl & 0x03fff, fl_high = fl & 0xFC000;

	fl_low ^= fl_high >> 14;
	return (uint16_t)(fl_low | 0xC000);
}

static void each_tree_has_its_port(void **state)
{
	(void)state;
	for (unsigned int tree = 0; tree < INA_WIRE_TREES; tree++) {
		uint32_t label = ina_flow_label(tree);

		assert_true(label > 0 && label < 1u << 20);
		assert_int_equal(port_of(label), INA_WIRE_TREE_PORT + tree);
	}
	/* docs/protocol.md, Trees. */
	assert_int_equal(ina_flow_label(0), 16385);
	assert_int_equal(ina_flow_label(1), 16384);
	assert_int_equal(ina_flow_label(6), 16391);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_tree_has_its_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
