/* SPDX-License-Identifier: Apache-2.0 */
#include "path_mtu.h"

#include <stdio.h>

#include "common/headers.h"

enum {
	/* A SEND over IPv4; a message's header and trailer (docs/protocol.md) are in the payload.
	 */
	ICRC_BYTES = 4,
	ROCE_BYTES = PACKET_IPV4_BYTES + PACKET_UDP_BYTES + PACKET_BTH_BYTES + ICRC_BYTES,
	PATH_MTU_MIN = 256, /* IBTA vol. 1, 4.1 */
	PATH_MTU_USUAL = 1024,
	PATH_MTU_MAX = 4096,
	ETHERNET_MTU = 1500,
	/* Linux chooses a path MTU at least 96 bytes below the MTU, with room for all headers. */
	JUMBO_MTU = 4200,
};

/* The largest path MTU that fits, or 0. */
static unsigned path_mtu_of(unsigned mtu)
{
	unsigned largest = 0;

	for (unsigned path = PATH_MTU_MIN; path <= PATH_MTU_MAX; path *= 2)
		if (path + ROCE_BYTES <= mtu)
			largest = path;
	return largest;
}

static void report_one(const struct port *port, unsigned number)
{
	const bool is_jumbo = port->mtu > ETHERNET_MTU;
	const unsigned wanted = is_jumbo ? PATH_MTU_MAX : PATH_MTU_USUAL;
	const unsigned path = path_mtu_of(port->mtu);
	char fits[64] = "no RoCE path MTU fits";

	if (path >= wanted)
		return;
	if (path)
		snprintf(fits, sizeof(fits), "the largest RoCE path MTU that fits is %u", path);
	fprintf(stderr, "ina-bridge: port %u (%s): MTU %u: %s; for %u: ip link set dev %s mtu %d\n",
	        number, port->name, port->mtu, fits, wanted, port->name,
	        is_jumbo ? JUMBO_MTU : ETHERNET_MTU);
}

void path_mtu_report(const struct port *ports, unsigned count)
{
	const struct port *least = NULL, *most = NULL;

	for (unsigned i = 0; i < count; i++) {
		if (!ports[i].kind->is_interface)
			continue;
		report_one(&ports[i], i);
		if (!least || path_mtu_of(ports[i].mtu) < path_mtu_of(least->mtu))
			least = &ports[i];
		if (!most || path_mtu_of(ports[i].mtu) > path_mtu_of(most->mtu))
			most = &ports[i];
	}
	if (!least || path_mtu_of(least->mtu) == path_mtu_of(most->mtu))
		return;
	fprintf(stderr,
	        "ina-bridge: port %u (%s) carries RoCE path MTUs up to %u, and port %u (%s) up to "
	        "%u: between them only the smaller one works, until: ip link set dev %s mtu %u\n",
	        (unsigned)(least - ports), least->name, path_mtu_of(least->mtu),
	        (unsigned)(most - ports), most->name, path_mtu_of(most->mtu), least->name,
	        most->mtu);
}
