/* SPDX-License-Identifier: Apache-2.0 */
/* The regular fabrics, described by their numbers. */
#include "spec.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/parse.h"
#include "build.h"

/* The names of a tree's levels, from the lowest to the highest. */
static const char *const level_names[TOPOLOGY_LEVELS_MAX] = {"leaf", "spine", "core"};

enum { NUMBERS_MAX = TOPOLOGY_LEVELS_MAX };

struct numbers {
	unsigned values[NUMBERS_MAX];
	unsigned count;
};

/* Reads numbers with an x between them. */
static bool read_numbers(const char *text, struct numbers *numbers)
{
	uint64_t value;

	for (numbers->count = 0; numbers->count < NUMBERS_MAX;) {
		text = ina_scan_whole(text, 1, TOPOLOGY_HOSTS_MAX, &value);
		if (!text)
			return false;
		numbers->values[numbers->count++] = (unsigned)value;
		if (!*text)
			return true;
		if (*text++ != 'x')
			return false;
	}
	return false;
}

static bool add_level(struct topology *topology, unsigned level, unsigned count, char *error)
{
	for (unsigned i = 0; i < count; i++) {
		char name[TOPOLOGY_NAME_BYTES];

		snprintf(name, sizeof(name), "%s%u", level_names[level], i);
		if (!topology_add_switch(topology, name, error))
			return false;
	}
	return true;
}

static bool add_hosts(struct topology *topology, unsigned leaves, unsigned hosts, char *error)
{
	for (unsigned host = 0; host < leaves * hosts; host++)
		if (!topology_add_host(topology, host / hosts, host, error))
			return false;
	return true;
}

/* Adds the lowest level first; the children of each switch have consecutive numbers. */
static bool make_tree(struct topology *topology, const struct numbers *numbers, char *error)
{
	unsigned first = 0, width = 1;

	for (unsigned i = 0; i + 1 < numbers->count; i++)
		width *= numbers->values[i];
	const unsigned leaves = width;
	for (unsigned level = 0; level < numbers->count; level++) {
		const unsigned below = numbers->values[numbers->count - 1 - level];

		if (!add_level(topology, level, width, error))
			return false;
		/* Adds the uplinks of the level below; each switch here has `below` children. */
		for (unsigned i = 0; level > 0 && i < width * below; i++)
			if (!topology_add_uplink(topology, first - width * below + i,
			                         first + i / below, error))
				return false;
		first += width;
		if (level + 1 < numbers->count)
			width /= numbers->values[numbers->count - 2 - level];
	}
	return add_hosts(topology, leaves, numbers->values[numbers->count - 1], error);
}

static bool make_clos(struct topology *topology, const struct numbers *numbers, char *error)
{
	const unsigned spines = numbers->values[0], leaves = numbers->values[1];

	if (!add_level(topology, 0, leaves, error) || !add_level(topology, 1, spines, error))
		return false;
	for (unsigned leaf = 0; leaf < leaves; leaf++)
		for (unsigned spine = 0; spine < spines; spine++)
			if (!topology_add_uplink(topology, leaf, leaves + spine, error))
				return false;
	return add_hosts(topology, leaves, numbers->values[2], error);
}

/*
 * K pods, each of K/2 leaves with K/2 hosts and K/2 spines, and (K/2)^2 cores (Al-Fares and others,
 * SIGCOMM 2008). Every switch has K ports. Spine i of each pod leads to the i-th K/2 cores.
 */
static bool make_fat_tree(struct topology *topology, const struct numbers *numbers, char *error)
{
	const unsigned k = numbers->values[0], half = k / 2, level = k * half;

	if (k % 2) {
		snprintf(error, TOPOLOGY_ERROR_BYTES,
		         "%u is odd, but half of the K ports must lead up", k);
		return false;
	}
	if (!add_level(topology, 0, level, error) || !add_level(topology, 1, level, error) ||
	    !add_level(topology, 2, half * half, error))
		return false;
	for (unsigned i = 0; i < level; i++)
		for (unsigned up = 0; up < half; up++)
			if (!topology_add_uplink(topology, i, level + i / half * half + up,
			                         error) ||
			    !topology_add_uplink(topology, level + i,
			                         2 * level + i % half * half + up, error))
				return false;
	return add_hosts(topology, level, half, error);
}

static const struct {
	const char *prefix;
	const char *form;
	unsigned least; /* count of numbers in the form */
	unsigned most;
	bool (*make)(struct topology *topology, const struct numbers *numbers, char *error);
} kinds[] = {
        {"leaf-spine:", "leaf-spine:LEAVESxHOSTS", 2, 2, make_tree},
        {"tree:", "tree:AxB...xHOSTS, of 1 to 3 numbers", 1, NUMBERS_MAX, make_tree},
        {"clos:", "clos:SPINESxLEAVESxHOSTS", 3, 3, make_clos},
        {"fat-tree:", "fat-tree:K, of one even number", 1, 1, make_fat_tree},
};

static int kind_of(const char *text)
{
	for (int i = 0; i < (int)(sizeof(kinds) / sizeof(*kinds)); i++)
		if (!strncmp(text, kinds[i].prefix, strlen(kinds[i].prefix)))
			return i;
	return -1;
}

bool topology_is_spec(const char *text)
{
	return kind_of(text) >= 0;
}

bool topology_read_spec(struct topology *topology, const char *text, char *error)
{
	const int kind = kind_of(text);
	struct numbers numbers;

	if (!read_numbers(text + strlen(kinds[kind].prefix), &numbers) ||
	    numbers.count < kinds[kind].least || numbers.count > kinds[kind].most) {
		snprintf(error, TOPOLOGY_ERROR_BYTES,
		         "must have the form %s, each number from 1 to %d", kinds[kind].form,
		         TOPOLOGY_HOSTS_MAX);
		return false;
	}
	return kinds[kind].make(topology, &numbers, error) &&
	       topology_finish(topology, TOPOLOGY_PORTS_MAX, error);
}
