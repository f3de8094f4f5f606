/* SPDX-License-Identifier: Apache-2.0 */
/* Fabrics by their numbers and from files, errors in them, and the routes through them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "common/topology/open.h"
#include "common/topology/routes.h"
#include "common/topology/settings.h"

static struct topology *open_good(const char *text)
{
	char error[TOPOLOGY_ERROR_BYTES] = "";
	struct topology *topology = topology_open(text, error);

	assert_string_equal(error, "");
	assert_non_null(topology);
	return topology;
}

/* Through a temporary file. */
static struct topology *open_json(const char *json, char error[TOPOLOGY_ERROR_BYTES])
{
	char path[] = "/tmp/topology-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0 && write(fd, json, strlen(json)) == (ssize_t)strlen(json));
	close(fd);
	struct topology *topology = topology_open(path, error);
	unlink(path);
	return topology;
}

static void check_refused(const char *json, const char *why)
{
	char error[TOPOLOGY_ERROR_BYTES] = "";

	assert_null(open_json(json, error));
	if (!strstr(error, why) || strchr(error, '\n'))
		fail_msg("'%s' does not say '%s'", error, why);
}

static void test_leaf_spine(void **state)
{
	struct topology *fabric = open_good("leaf-spine:3x2");

	(void)state;
	assert_int_equal(fabric->host_count, 6);
	assert_int_equal(fabric->switch_count, 4);
	assert_int_equal(fabric->cable_count, 9);
	assert_string_equal(fabric->switches[1].name, "leaf1");
	assert_string_equal(fabric->switches[3].name, "spine0");
	assert_int_equal(fabric->switches[1].level, 1);
	assert_int_equal(fabric->switches[3].level, 2);
	assert_int_equal(fabric->switches[1].ports, 3);
	assert_int_equal(fabric->switches[1].first_uplink, 2);
	assert_int_equal(fabric->switches[3].ports, 3);
	assert_int_equal(fabric->switches[3].first_uplink, 3);
	assert_int_equal(fabric->host_switch[3], 1);

	const struct topology_cable *cable =
	        &fabric->cables[topology_find_cable(fabric, "leaf2:up0")];
	assert_false(cable->has_host);
	assert_int_equal(cable->lower, 2);
	assert_int_equal(cable->lower_port, 2);
	assert_int_equal(cable->upper, 3);
	assert_int_equal(cable->upper_port, 2);
	assert_int_equal(topology_find_cable(fabric, "host4"), 4);
	assert_int_equal(topology_find_cable(fabric, "4"), 4);
	assert_int_equal(topology_find_cable(fabric, "6"), TOPOLOGY_NONE);
	assert_int_equal(topology_find_cable(fabric, "leaf2:up1"), TOPOLOGY_NONE);
	topology_close(fabric);
}

static void test_tree(void **state)
{
	struct topology *fabric = open_good("tree:2x3x4");

	(void)state;
	assert_int_equal(fabric->host_count, 24);
	assert_int_equal(fabric->switch_count, 1 + 2 + 6);
	assert_int_equal(fabric->switches[topology_find_switch(fabric, "core0")].level, 3);
	assert_int_equal(fabric->switches[topology_find_switch(fabric, "core0")].ports, 2);
	assert_int_equal(fabric->switches[topology_find_switch(fabric, "spine1")].ports, 4);
	assert_int_equal(fabric->switches[topology_find_switch(fabric, "leaf5")].ports, 5);
	/* Leaves 3 to 5 belong to spine 1. */
	assert_int_equal(fabric->cables[topology_find_cable(fabric, "leaf3:up0")].upper,
	                 topology_find_switch(fabric, "spine1"));
	assert_int_equal(fabric->host_switch[23], topology_find_switch(fabric, "leaf5"));
	topology_close(fabric);
	fabric = open_good("tree:4x8x8");
	assert_int_equal(fabric->host_count, 256);
	topology_close(fabric);
	fabric = open_good("tree:5");
	assert_int_equal(fabric->switch_count, 1);
	assert_int_equal(fabric->switches[0].ports, 5);
	topology_close(fabric);
}

/* Al-Fares and others: k^3/4 hosts, 5k^2/4 switches, of k ports each. */
static void test_fat_tree(void **state)
{
	(void)state;
	for (unsigned k = 2; k <= 10; k += 2) {
		char spec[16];

		snprintf(spec, sizeof(spec), "fat-tree:%u", k);
		struct topology *fabric = open_good(spec);

		assert_int_equal(fabric->host_count, k * k * k / 4);
		assert_int_equal(fabric->switch_count, 5 * k * k / 4);
		for (unsigned i = 0; i < fabric->switch_count; i++)
			assert_int_equal(fabric->switches[i].ports, k);
		/* The last leaf's last uplink goes to the last spine, and that one's last uplink to
		 * the last core.
		 */
		const unsigned half = k / 2, pods_part = k * half;

		assert_int_equal(fabric->switches[pods_part - 1].uplinks[half - 1],
		                 2 * pods_part - 1);
		assert_int_equal(fabric->switches[2 * pods_part - 1].uplinks[half - 1],
		                 fabric->switch_count - 1);
		topology_close(fabric);
	}
}

static void test_bad_specs(void **state)
{
	static const char *const specs[] = {
	        "leaf-spine:8",    "leaf-spine:2x2x2",
	        "leaf-spine:0x4",  "leaf-spine:2x",
	        "leaf-spine:x2",   "leaf-spine:2x2 ",
	        "leaf-spine:-1x2", "leaf-spine:2x16",
	        "leaf-spine:17x2", "leaf-spine:1x4",
	        "tree:1",          "tree:2x2x2x2",
	        "tree:16x16x16",   "clos:2x2",
	        "clos:17x2x2",     "clos:2x1x1",
	        "fat-tree:3",      "fat-tree:12",
	        "fat-tree:2x2",    "ring:4",
	        "leaf-spine",      "",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		char error[TOPOLOGY_ERROR_BYTES] = "";

		if (topology_open(specs[i], error))
			fail_msg("%s is taken", specs[i]);
		assert_true(strstr(error, specs[i]) && !strchr(error, '\n') && strlen(error) > 20);
	}
}

static const char mixed[] = "{\"switches\": ["
                            "  {\"name\": \"top\", \"hosts\": [4], \"aggregator\": \"off\"},"
                            "  {\"name\": \"a\", \"hosts\": [0, 3], \"up\": [\"top\"]},"
                            "  {\"name\": \"b\", \"hosts\": [1, 2], \"up\": [\"top\", \"top\"]}],"
                            " \"cables\": {\"b:up1\": {\"link-rate\": \"25G\", \"loss-up\": 0.5},"
                            "              \"host3\": {\"link-delay\": \"1us\"}}}";

static void test_file(void **state)
{
	char error[TOPOLOGY_ERROR_BYTES] = "";
	struct topology *fabric = open_json(mixed, error);

	(void)state;
	assert_string_equal(error, "");
	assert_int_equal(fabric->host_count, 5);
	assert_int_equal(fabric->switches[0].level, 2);
	assert_int_equal(fabric->host_switch[4], 0);
	/* Hosts first, then switches below, in their order. */
	assert_int_equal(fabric->cables[fabric->switches[0].cables[0]].lower, 4);
	assert_string_equal(fabric->cables[fabric->switches[0].cables[3]].name, "b:up1");
	assert_int_equal(fabric->setting_count, 4);
	assert_false(fabric->settings[0].is_of_cable);
	assert_int_equal(fabric->settings[0].number, 0);
	assert_int_equal(fabric->settings[0].option.name, BRIDGE_OPTION_AGGREGATOR);
	assert_int_equal(fabric->settings[0].option.whole, 2);
	assert_true(fabric->settings[1].is_of_cable);
	assert_int_equal(fabric->settings[1].number, topology_find_cable(fabric, "b:up1"));
	assert_int_equal(fabric->settings[1].option.whole, 25000000000);
	assert_true(fabric->settings[2].option.real == 0.5);
	assert_int_equal(fabric->settings[3].number, 3);
	assert_int_equal(fabric->settings[3].option.whole, 1000);
	topology_close(fabric);
}

#define TWO "{\"name\": \"a\", \"hosts\": 2}, {\"name\": \"b\", \"hosts\": 2}"

static void test_bad_files(void **state)
{
	(void)state;
	check_refused("{\n\"switches\": [}", "line 2");
	check_refused("[]", "the list \"switches\" is missing");
	check_refused("{\"switches\": [], \"links\": []}", "'links'");
	check_refused("{\"switches\": []}", "at least two hosts");
	check_refused("{\"switches\": [{}]}", "switch 0 of the list has no \"name\"");
	check_refused("{\"switches\": [{\"name\": \"a b\", \"hosts\": 2}]}", "'a b'");
	check_refused("{\"switches\": [{\"name\": \"host1\", \"hosts\": 2}]}", "'host1'");
	check_refused("{\"switches\": [" TWO ", {\"name\": \"a\"}]}",
	              "'a': the name is used twice");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": \"two\"}]}", "'a'");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": [0, 0]}]}",
	              "'a': host 0 is already connected to 'a'");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": [0, 2]}]}",
	              "host 1 is not connected to any switch");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": [256]}]}",
	              "'a': \"hosts\" names host 256, but hosts have the numbers 0 to 255");
	check_refused("{\"switches\": [{\"name\": \"a\\u001b[2J\", \"hosts\": 2}]}", "'a?[2J'");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 17}]}",
	              "'a': it has 17 ports, and the most is 16");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"up\": [\"c\"]}]}",
	              "'a': uplink 0 leads to 'c', which does not exist");
	check_refused(
	        "{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"up\": [\"c\"]}, {\"name\": "
	        "\"c\"}]}",
	        "cable 'a:up0' leads nowhere");
	check_refused("{\"switches\": [" TWO "]}",
	              "no path up and down from host 0 (at 'a') to host "
	              "2 (at 'b')");
	check_refused("{\"switches\": [" TWO ", {\"name\": \"c\"}]}", "'c': nothing is below it");
	check_refused(
	        "{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"up\": [\"b\"]}, {\"name\": "
	        "\"b\", \"hosts\": 2, \"up\": [\"a\"]}]}",
	        "a loop");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"up\": [\"a\"]}]}",
	              "a loop");
	/* A triangle. */
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"up\": [\"b\", \"c\"]}, "
	              "{\"name\": \"b\", \"hosts\": 2, \"up\": [\"c\"]}, {\"name\": \"c\"}]}",
	              "'a': a loop: its uplinks lead to 'b' and 'c'");
	/* Four switches above each other. */
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"up\": [\"b\"]},"
	              "{\"name\": \"b\", \"hosts\": 1, \"up\": [\"c\"]},"
	              "{\"name\": \"c\", \"hosts\": 1, \"up\": [\"d\"]},"
	              "{\"name\": \"d\", \"hosts\": 1}]}",
	              "'d': it is on level 4");
	/* A path that goes down to another leaf and up again does not count. */
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 1, \"up\": [\"x\"]},"
	              "{\"name\": \"b\", \"hosts\": 1, \"up\": [\"x\", \"y\"]},"
	              "{\"name\": \"c\", \"hosts\": 1, \"up\": [\"y\"]},"
	              "{\"name\": \"x\"}, {\"name\": \"y\"}]}",
	              "from host 0 (at 'a') to host 2 (at 'c')");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"colour\": 1}]}",
	              "'a': no such option: --colour");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"aggregator\": \"asic\"}]}",
	              "'a': --aggregator takes one of rtl, model, off");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"link-rate\": \"1G\"}]}",
	              "'a': 'link-rate' is not an option of a switch");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 2}], \"cables\": {\"a:up0\": "
	              "{\"delay\": 1}}}",
	              "no cable or switch 'a:up0'");
	check_refused("{\"switches\": [{\"name\": \"a\", \"hosts\": 2}], \"cables\": {\"host1\": "
	              "{\"loss-up\": 2}}}",
	              "'host1': --loss-up takes a number from 0 to 1");
}

static void test_settings(void **state)
{
	struct topology *fabric = open_good("leaf-spine:2x2");
	char error[TOPOLOGY_ERROR_BYTES] = "";

	(void)state;
	assert_true(topology_set(fabric, "leaf1:up0,loss-up=0.25,queue=1M", error));
	assert_true(topology_set(fabric, "leaf0,aggregator=model", error));
	assert_int_equal(fabric->setting_count, 3);
	assert_int_equal(fabric->settings[0].number, 5);
	assert_int_equal(fabric->settings[1].option.whole, 1000000);
	assert_int_equal(fabric->settings[2].option.whole, 1);
	assert_false(topology_set(fabric, "leaf1:up1,loss-up=0.25", error));
	assert_non_null(strstr(error, "'leaf1:up1'"));
	assert_false(topology_set(fabric, "leaf1:up0", error));
	assert_false(topology_set(fabric, "leaf1:up0,loss-up", error));
	assert_false(topology_set(fabric, "leaf1:up0,aggregator=off", error));
	assert_false(topology_set(fabric, "", error));
	topology_close(fabric);
}

/* From every switch, with any choice at each, a frame reaches the host over at most `most`
 * cables. */
static void check_ways(const struct topology_routes *routes, unsigned from, unsigned host,
                       unsigned most)
{
	const struct topology *fabric = routes->topology;
	const struct topology_route *route = topology_route(routes, from, host);

	assert_true(route->count > 0 && most > 0);
	for (unsigned i = 0; i < route->count; i++) {
		const struct topology_switch *of = &fabric->switches[from];
		const struct topology_cable *cable = &fabric->cables[of->cables[route->ports[i]]];

		if (cable->has_host)
			assert_int_equal(cable->lower, host);
		else
			check_ways(routes, cable->lower == from ? cable->upper : cable->lower, host,
			           most - 1);
	}
}

static void test_routes(void **state)
{
	static const char *const specs[] = {"leaf-spine:4x4", "tree:2x2x3", "clos:3x4x2", "tree:4"};

	(void)state;
	for (unsigned i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		struct topology *fabric = open_good(specs[i]);
		struct topology_routes routes;

		assert_int_equal(topology_routes_open(&routes, fabric), 0);
		for (unsigned from = 0; from < fabric->switch_count; from++)
			for (unsigned host = 0; host < fabric->host_count; host++) {
				const bool may_fail = fabric->switches[from].level > 1 &&
				                      !topology_route(&routes, from, host)->count;

				if (!may_fail)
					check_ways(&routes, from, host, 5);
			}
		topology_routes_close(&routes);
		topology_close(fabric);
	}
}

static void test_multipath(void **state)
{
	struct topology *fabric = open_good("clos:3x4x2");
	struct topology_routes routes;

	(void)state;
	assert_int_equal(topology_routes_open(&routes, fabric), 0);
	/* Leaf 0: host 0 is here; the paths to host 7, at leaf 3, use any of the three spines. */
	assert_int_equal(topology_route(&routes, 0, 0)->count, 1);
	assert_int_equal(topology_route(&routes, 0, 0)->ports[0], 0);
	assert_int_equal(topology_route(&routes, 0, 7)->count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(topology_route(&routes, 0, 7)->ports[i], 2 + i);
	assert_int_equal(topology_route(&routes, 4 + 2, 7)->count, 1);
	assert_int_equal(topology_route(&routes, 4 + 2, 7)->ports[0], 3);
	/* The tree for flooded frames: hosts, and each leaf's cable to the first spine. */
	for (unsigned i = 0; i < fabric->cable_count; i++)
		assert_int_equal(routes.in_tree[i],
		                 fabric->cables[i].has_host || fabric->cables[i].upper == 4);
	topology_routes_close(&routes);
	topology_close(fabric);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_leaf_spine), cmocka_unit_test(test_tree),
	        cmocka_unit_test(test_fat_tree),   cmocka_unit_test(test_bad_specs),
	        cmocka_unit_test(test_file),       cmocka_unit_test(test_bad_files),
	        cmocka_unit_test(test_settings),   cmocka_unit_test(test_routes),
	        cmocka_unit_test(test_multipath),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
