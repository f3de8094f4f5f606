/* SPDX-License-Identifier: Apache-2.0 */
#include "engines.h"

#include "sim-bridge/aggregator/engine.h"

/* Takes what the cables say of the ports of a switch. */
static void take_cables(struct engine_config *config, const struct options *options,
                        const struct topology_switch *of)
{
	for (unsigned port = 0; port < of->ports && port < ENGINE_PORTS_MAX; port++) {
		const struct cable_config *cable = &options->fabric.cables[of->cables[port]];
		const bool leads_up =
		        port >= of->first_uplink || of->cables[port] == options->uplink;

		config->uplinks |= (uint32_t)leads_up << port;
		config->port_priority[port] = (uint8_t)cable->port_priority;
		config->trusted_ports |= (uint32_t)cable->trusts_tags << port;
	}
}

struct engine *engines_make(const struct options *options, struct bridge *bridge, char *error,
                            size_t error_bytes)
{
	const struct topology_switch *of = &options->fabric.topology->switches[bridge->number];
	struct engine_config config = {
	        .ports = of->ports,
	        .number = options->first_number + bridge->number,
	        .level = of->level,
	        .has_quiet_time = bridge->config.quiet_ns > 0,
	        .has_patience = bridge->config.patience_ns > 0,
	        .jobs = (unsigned)bridge->config.jobs,
	        .window_packets = (unsigned)bridge->config.window_packets,
	        .memory_packets = (unsigned)bridge->config.memory_packets,
	        .quota = (unsigned)bridge->config.quota,
	        .vlan_quota = (unsigned)bridge->config.vlan_quota,
	        .tell = bridge_report,
	        .clock_hz = options->fabric.is_virtual ? bridge->config.rtl_clock_hz : 0,
	};

	take_cables(&config, options, of);
	if (bridge->config.aggregator == BRIDGE_MODEL)
		return model_aggregator_open(&config, bridge_aggregated, bridge, error,
		                             error_bytes);
	if (bridge->config.aggregator == BRIDGE_RTL)
		return rtl_aggregator_open(&config, bridge_aggregated, bridge, error, error_bytes);
	return NULL;
}
