/* SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include <stdlib.h>
#include <string.h>

#include "common/parse.h"

void topology_close(struct topology *topology)
{
	if (!topology)
		return;
	for (unsigned i = 0; i < topology->setting_count; i++)
		free(topology->settings[i].option.text);
	free(topology->settings);
	free(topology);
}

unsigned topology_find_cable(const struct topology *topology, const char *name)
{
	uint64_t host;

	if (ina_parse_whole(name, 0, topology->host_count - 1, &host))
		return (unsigned)host;
	for (unsigned i = 0; i < topology->cable_count; i++)
		if (!strcmp(topology->cables[i].name, name))
			return i;
	return TOPOLOGY_NONE;
}

unsigned topology_find_switch(const struct topology *topology, const char *name)
{
	for (unsigned i = 0; i < topology->switch_count; i++)
		if (!strcmp(topology->switches[i].name, name))
			return i;
	return TOPOLOGY_NONE;
}
