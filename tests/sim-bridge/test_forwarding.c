/* SPDX-License-Identifier: Apache-2.0 */
/* The switch's table of MAC addresses has room for the largest number of hosts. Frames to a host
 * that it forgot would be flooded to all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim-bridge/switch/forwarding.h"

enum { HOSTS = 256 };

struct mac {
	uint8_t bytes[6];
};

/* The addresses that `ina-lab` gives host h: the last two bytes count. */
static struct mac counted_at_the_end(unsigned host)
{
	return (struct mac){{2, 0, 0, 0, (uint8_t)((host + 1) >> 8), (uint8_t)(host + 1)}};
}

/* Cards of one vendor with addresses that are not consecutive. */
static struct mac counted_in_steps(unsigned host)
{
	const unsigned serial = host * 0x1010;

	return (struct mac){{0x0c, 0x42, 0xa1, (uint8_t)(serial >> 16), (uint8_t)(serial >> 8),
	                     (uint8_t)serial}};
}

static struct mac counted_in_the_middle(unsigned host)
{
	return (struct mac){{2, 0, (uint8_t)host, 0, 0, 1}};
}

static void test_all_hosts(void **state)
{
	struct mac (*const numberings[])(unsigned) = {counted_at_the_end, counted_in_steps,
	                                              counted_in_the_middle};

	(void)state;
	for (unsigned n = 0; n < sizeof(numberings) / sizeof(numberings[0]); n++) {
		struct forwarding forwarding = {0};

		for (unsigned host = 0; host < HOSTS; host++)
			forwarding_learn(&forwarding, numberings[n](host).bytes, host);
		for (unsigned host = 0; host < HOSTS; host++)
			assert_int_equal(forwarding_find(&forwarding, numberings[n](host).bytes),
			                 host);
	}
}

/* A host that has moved is found at its new port, and hosts of a closed port are found nowhere. */
static void test_moves(void **state)
{
	struct forwarding forwarding = {0};

	(void)state;
	forwarding_learn(&forwarding, counted_at_the_end(0).bytes, 3);
	forwarding_learn(&forwarding, counted_at_the_end(0).bytes, 5);
	assert_int_equal(forwarding_find(&forwarding, counted_at_the_end(0).bytes), 5);
	forwarding_forget_port(&forwarding, 5);
	assert_int_equal(forwarding_find(&forwarding, counted_at_the_end(0).bytes),
	                 FORWARDING_FLOOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_all_hosts),
	        cmocka_unit_test(test_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
