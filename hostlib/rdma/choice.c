/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a port and an address. */
#include "choice.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "hostlib/options/address.h"
#include "hostlib/options/device_list.h"

void ina_port_name(const struct ina_port *port, char name[INA_PORT_NAME_SIZE])
{
	if (port->number == 0)
		snprintf(name, INA_PORT_NAME_SIZE, "%s", port->device);
	else
		snprintf(name, INA_PORT_NAME_SIZE, "%s:%u", port->device, port->number);
}

static bool is_address(const struct ina_gid *gid)
{
	return !ina_is_loopback((struct in_addr){gid->address});
}

bool ina_gid_fits(const struct ina_gid *gid)
{
	return is_address(gid) && gid->type == IBV_GID_TYPE_ROCE_V2;
}

enum ina_port_fault ina_port_fault(const struct ina_port *port)
{
	bool has_address = false;
	bool has_v2 = false;

	for (int i = 0; i < port->gid_count; i++) {
		has_address |= is_address(&port->gids[i]);
		has_v2 |= ina_gid_fits(&port->gids[i]);
	}
	if (port->number == 0)
		return INA_PORT_IS_CLOSED;
	if (port->transport == IBV_TRANSPORT_IWARP)
		return INA_PORT_IS_IWARP;
	if (port->link_layer != IBV_LINK_LAYER_ETHERNET)
		return INA_PORT_IS_INFINIBAND;
	if (!has_address)
		return INA_PORT_HAS_NO_IPV4;
	if (!has_v2)
		return INA_PORT_HAS_V1;
	return port->state == IBV_PORT_ACTIVE ? INA_PORT_FITS : INA_PORT_IS_DOWN;
}

const char *ina_port_fault_text(enum ina_port_fault fault)
{
	switch (fault) {
	case INA_PORT_FITS:
		return "can be used";
	case INA_PORT_IS_CLOSED:
		return "cannot be opened";
	case INA_PORT_IS_IWARP:
		return "is iWARP";
	case INA_PORT_IS_INFINIBAND:
		return "is InfiniBand";
	case INA_PORT_HAS_NO_IPV4:
		return "has no IPv4 address";
	case INA_PORT_HAS_V1:
		return "has RoCE v1 only";
	case INA_PORT_IS_DOWN:
		return "is down";
	}
	return "?";
}

/* What speaks for a port, the most important first; smaller is better. */
enum { IN_LIST, BY_ADDRESS, BY_DISTANCE, IN_TABLE, RANKINGS };

struct candidate {
	struct ina_choice choice;
	int ranking[RANKINGS];
};

static bool is_better(const struct candidate *a, const struct candidate *b)
{
	for (int i = 0; i < RANKINGS; i++) {
		if (a->ranking[i] != b->ranking[i])
			return a->ranking[i] < b->ranking[i];
	}
	return false;
}

static int rank_address(const struct ina_gid *gid, const struct ina_wish *wish)
{
	bool is_in_subnet =
	        gid->mask != 0 && wish->root != 0 && ((gid->address ^ wish->root) & gid->mask) == 0;

	return gid->address == wish->route ? 0 : is_in_subnet ? 1 : 2;
}

/* Sets *candidate to the best GID of a port. Returns false if none fits. */
static bool consider(const struct ina_ports *ports, int number, const struct ina_wish *wish,
                     struct candidate *candidate)
{
	const struct ina_port *port = &ports->list[number];
	int place = ina_device_list_place(wish->list, port->device, port->number);
	bool is_far = !port->is_near && !ina_device_list_includes(wish->list);

	*candidate = (struct candidate){{NULL, NULL}, {0}};
	if (place < 0 || ina_port_fault(port) != INA_PORT_FITS)
		return false;
	for (int i = 0; i < port->gid_count; i++) {
		const struct ina_gid *gid = &port->gids[i];
		const struct candidate other = {{port, gid},
		                                {place, rank_address(gid, wish), is_far, number}};

		if (!ina_gid_fits(gid) || (wish->bind != 0 && wish->bind != gid->address))
			continue;
		if (!candidate->choice.port || is_better(&other, candidate))
			*candidate = other;
	}
	return candidate->choice.port != NULL;
}

/* The number of ports that fit, and of those that are better than this one. */
static int count(const struct ina_ports *ports, const struct ina_wish *wish,
                 const struct candidate *candidate, int *better)
{
	struct candidate other;
	int fitting = 0;

	*better = 0;
	for (int i = 0; i < ports->count; i++) {
		if (!consider(ports, i, wish, &other))
			continue;
		fitting++;
		*better += is_better(&other, candidate);
	}
	return fitting;
}

bool ina_choose(const struct ina_ports *ports, const struct ina_wish *wish,
                struct ina_choice *choice)
{
	bool takes_turns = ina_device_list_includes(wish->list) && wish->bind == 0;
	struct candidate candidate;
	int better;

	for (int i = 0; i < ports->count; i++) {
		int fitting;

		if (!consider(ports, i, wish, &candidate))
			continue;
		fitting = count(ports, wish, &candidate, &better);
		if (better == (takes_turns ? (int)(wish->strand % (unsigned int)fitting) : 0)) {
			*choice = candidate.choice;
			return true;
		}
	}
	return false;
}

bool ina_list_matches(const struct ina_ports *ports, const char *list)
{
	for (int i = 0; i < ports->count; i++) {
		const struct ina_port *port = &ports->list[i];

		if (ina_device_list_place(list, port->device, port->number) >= 0)
			return true;
	}
	return false;
}

void ina_ports_explain(const struct ina_ports *ports, const char *list, char *text, size_t size)
{
	char name[INA_PORT_NAME_SIZE];
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < ports->count && used < size; i++) {
		const struct ina_port *port = &ports->list[i];

		if (ina_device_list_place(list, port->device, port->number) < 0)
			continue;
		ina_port_name(port, name);
		used += (size_t)snprintf(text + used, size - used, "%s%s %s", used > 0 ? ", " : "",
		                         name, ina_port_fault_text(ina_port_fault(port)));
	}
}
