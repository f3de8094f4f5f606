/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

const char *view_address(enum ip_version ip, const uint8_t *bytes, char *text)
{
	if (ip == IP_NONE ||
	    !inet_ntop(ip == IP_V6 ? AF_INET6 : AF_INET, bytes, text, VIEW_ADDRESS_BYTES))
		strcpy(text, "?");
	return text;
}

const char *view_port_name(const struct view *view, unsigned host, char *text)
{
	const char *name = view->ports[host].name;

	snprintf(text, VIEW_NAME_BYTES, name[0] ? " (%s)" : "", name);
	return text;
}

int view_host(const struct view *view, unsigned number, unsigned port)
{
	const struct topology *topology = view->fabric->topology;
	const struct topology_switch *of = &topology->switches[number];

	if (port >= of->ports || !topology->cables[of->cables[port]].has_host)
		return -1;
	return (int)topology->cables[of->cables[port]].lower;
}

bool view_has_waiting(const struct report_job *job)
{
	for (unsigned port = 0; port < REPORT_PORTS_MAX; port++)
		if (job->members[port].waiting_packets && !job->members[port].is_down)
			return true;
	return false;
}
