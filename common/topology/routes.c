/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First computes the lengths of paths down, from the lowest level up, then those of all paths, from
 * the highest level down.
 */
#include "routes.h"

#include <stdlib.h>
#include <string.h>

enum { FAR = 1000 };

/* The number of cables between a switch and a host. */
struct lengths {
	unsigned down[TOPOLOGY_SWITCHES_MAX][TOPOLOGY_HOSTS_MAX]; /* on paths that only go down */
	unsigned any[TOPOLOGY_SWITCHES_MAX][TOPOLOGY_HOSTS_MAX];
};

static bool leads_up(const struct topology_switch *from, unsigned port)
{
	return port >= from->first_uplink;
}

/* The length of the path through one of a switch's ports: 1 more than from the next switch. */
static unsigned length_by(const struct topology *topology, const struct lengths *lengths,
                          unsigned from, unsigned port, unsigned host)
{
	const struct topology_switch *of = &topology->switches[from];
	const struct topology_cable *cable = &topology->cables[of->cables[port]];

	if (leads_up(of, port))
		return 1 + lengths->any[cable->upper][host];
	if (cable->has_host)
		return cable->lower == host ? 1 : FAR;
	return 1 + lengths->down[cable->lower][host];
}

/* The least length over the ports from `first` up to, but not including, `end`. */
static unsigned least_length(const struct topology *topology, const struct lengths *lengths,
                             unsigned from, unsigned first, unsigned end, unsigned host)
{
	unsigned least = FAR;

	for (unsigned port = first; port < end; port++) {
		const unsigned length = length_by(topology, lengths, from, port, host);

		if (length < least)
			least = length;
	}
	return least;
}

static void measure(const struct topology *topology, struct lengths *lengths, unsigned host)
{
	for (unsigned level = 1; level <= TOPOLOGY_LEVELS_MAX; level++)
		for (unsigned i = 0; i < topology->switch_count; i++)
			if (topology->switches[i].level == level)
				lengths->down[i][host] =
				        least_length(topology, lengths, i, 0,
				                     topology->switches[i].first_uplink, host);
	for (unsigned level = TOPOLOGY_LEVELS_MAX; level >= 1; level--)
		for (unsigned i = 0; i < topology->switch_count; i++) {
			const struct topology_switch *of = &topology->switches[i];

			if (of->level != level)
				continue;
			lengths->any[i][host] = lengths->down[i][host];
			if (lengths->down[i][host] >= FAR)
				lengths->any[i][host] = least_length(
				        topology, lengths, i, of->first_uplink, of->ports, host);
		}
}

/* Collects the ports on the shortest paths to a host: either all lead up, or all lead down. */
static void choose(const struct topology *topology, const struct lengths *lengths, unsigned from,
                   unsigned host, struct topology_route *route)
{
	const struct topology_switch *of = &topology->switches[from];
	const bool goes_up = lengths->down[from][host] >= FAR;

	for (unsigned port = 0; port < of->ports && route->count < TOPOLOGY_PORTS_MAX; port++) {
		const unsigned length = length_by(topology, lengths, from, port, host);

		if (leads_up(of, port) == goes_up && length < FAR &&
		    length == lengths->any[from][host])
			route->ports[route->count++] = (unsigned short)port;
	}
}

/* Selects the cables by which a search from the highest level reaches each switch first. */
static void span(struct topology_routes *routes)
{
	const struct topology *topology = routes->topology;
	unsigned queue[TOPOLOGY_SWITCHES_MAX], count = 0;
	bool is_met[TOPOLOGY_SWITCHES_MAX] = {false};
	unsigned top = 0;

	for (unsigned i = 0; i < topology->switch_count; i++)
		if (topology->switches[i].level > topology->switches[top].level)
			top = i;
	queue[count++] = top;
	is_met[top] = true;
	for (unsigned at = 0; at < count; at++) {
		const struct topology_switch *of = &topology->switches[queue[at]];

		for (unsigned port = 0; port < of->ports; port++) {
			const struct topology_cable *cable = &topology->cables[of->cables[port]];
			const unsigned other = leads_up(of, port) ? cable->upper : cable->lower;

			routes->in_tree[of->cables[port]] |= cable->has_host || !is_met[other];
			if (cable->has_host || is_met[other])
				continue;
			is_met[other] = true;
			queue[count++] = other;
		}
	}
}

/* Removes the last cable of each switch that has only one in the tree, as no host is below it. */
static void prune(struct topology_routes *routes)
{
	const struct topology *topology = routes->topology;

	for (unsigned again = 0; again < topology->switch_count; again++)
		for (unsigned i = 0; i < topology->switch_count; i++) {
			const struct topology_switch *of = &topology->switches[i];
			unsigned count = 0, last = 0;

			for (unsigned port = 0; port < of->ports; port++)
				if (routes->in_tree[of->cables[port]]) {
					count++;
					last = of->cables[port];
				}
			if (count == 1)
				routes->in_tree[last] = false;
		}
}

int topology_routes_open(struct topology_routes *routes, const struct topology *topology)
{
	struct lengths *lengths = calloc(1, sizeof(*lengths));

	*routes = (struct topology_routes){.topology = topology};
	routes->routes = calloc((size_t)topology->switch_count * topology->host_count,
	                        sizeof(*routes->routes));
	if (!lengths || !routes->routes) {
		free(lengths);
		topology_routes_close(routes);
		return -1;
	}
	for (unsigned host = 0; host < topology->host_count; host++) {
		measure(topology, lengths, host);
		for (unsigned from = 0; from < topology->switch_count; from++)
			choose(topology, lengths, from, host,
			       &routes->routes[from * topology->host_count + host]);
	}
	free(lengths);
	span(routes);
	prune(routes);
	return 0;
}

void topology_routes_close(struct topology_routes *routes)
{
	free(routes->routes);
	routes->routes = NULL;
}

const struct topology_route *topology_route(const struct topology_routes *routes, unsigned from,
                                            unsigned host)
{
	return &routes->routes[from * routes->topology->host_count + host];
}
