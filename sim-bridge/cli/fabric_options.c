/* SPDX-License-Identifier: Apache-2.0 */
#include "fabric_options.h"

#include "common/bridge_options.h"
#include "common/topology/open.h"
#include "common/topology/settings.h"
#include "replay_options.h"

static void take_for_switch(struct bridge_config *of, const struct bridge_option *option)
{
	uint64_t *const whole[BRIDGE_OPTION_COUNT] = {
	        [BRIDGE_OPTION_AGGREGATOR] = &of->aggregator,
	        [BRIDGE_OPTION_STEER] = &of->steering,
	        [BRIDGE_OPTION_JOBS] = &of->jobs,
	        [BRIDGE_OPTION_MEMORY] = &of->memory_packets,
	        [BRIDGE_OPTION_WINDOW] = &of->window_packets,
	        [BRIDGE_OPTION_QUOTA] = &of->quota,
	        [BRIDGE_OPTION_VLAN_QUOTA] = &of->vlan_quota,
	        [BRIDGE_OPTION_JOB_TTL] = &of->job_ttl_ns,
	        [BRIDGE_OPTION_IDLE_TTL] = &of->idle_ttl_ns,
	        [BRIDGE_OPTION_RESET_EVERY] = &of->reset_every,
	        [BRIDGE_OPTION_OFF_AFTER] = &of->off_after,
	        [BRIDGE_OPTION_STUCK_AFTER] = &of->stuck_after,
	        [BRIDGE_OPTION_SWITCH_DELAY] = &of->forwarding_ns,
	        [BRIDGE_OPTION_RTL_CLOCK] = &of->rtl_clock_hz,
	};

	if (whole[option->name])
		*whole[option->name] = option->whole;
	if (option->name == BRIDGE_OPTION_QUIET)
		of->quiet_ns = 1000000 * option->whole;
	if (option->name == BRIDGE_OPTION_PATIENCE)
		of->patience_ns = 1000000 * option->whole;
}

static void take_for_cable(struct cable_config *of, const struct bridge_option *option)
{
	struct link_faults *up = &of->faults[LINK_UP], *down = &of->faults[LINK_DOWN];
	uint64_t *const whole[BRIDGE_OPTION_COUNT] = {
	        [BRIDGE_OPTION_LINK_RATE] = &of->bits_per_second,
	        [BRIDGE_OPTION_LINK_DELAY] = &of->delay_ns,
	        [BRIDGE_OPTION_QUEUE] = &of->queue_bytes,
	        [BRIDGE_OPTION_ECN_THRESHOLD] = &of->marking_bytes,
	        [BRIDGE_OPTION_PORT_PRIORITY] = &of->port_priority,
	        [BRIDGE_OPTION_TRUST_TAGS] = &of->trusts_tags,
	        [BRIDGE_OPTION_CUT_AT] = &of->cut_ns,
	        [BRIDGE_OPTION_MEND_AT] = &of->mend_ns,
	};

	if (whole[option->name])
		*whole[option->name] = option->whole;
	if (option->name == BRIDGE_OPTION_LOSS_UP)
		up->loss = option->real;
	if (option->name == BRIDGE_OPTION_LOSS_DOWN)
		down->loss = option->real;
	if (option->name == BRIDGE_OPTION_DUPLICATE)
		up->duplicate = down->duplicate = option->real;
	if (option->name == BRIDGE_OPTION_REORDER)
		up->reorder = down->reorder = option->real;
	if (option->name == BRIDGE_OPTION_CORRUPT)
		up->corrupt = down->corrupt = option->real;
	if (option->name == BRIDGE_OPTION_DELAY)
		up->delay_ns = down->delay_ns = 1000 * option->whole;
}

/* `number`: the switch's number, or TOPOLOGY_NONE for all switches. */
static void add_reset(struct argp_state *state, struct virtual_config *time,
                      const struct bridge_option *option, unsigned number)
{
	if (time->reset_count == VIRTUAL_RESETS_MAX)
		argp_error(state, "--reset-at %s: more than %d of them", option->text,
		           VIRTUAL_RESETS_MAX);
	time->resets[time->reset_count++] =
	        (struct virtual_reset){.at_ns = option->whole, .number = number};
}

static void add_named(struct argp_state *state, const struct bridge_option *option,
                      const char **list, unsigned *count)
{
	if (*count == OPTIONS_NAMED_MAX)
		argp_error(state, "%s %s: more than %d of them", option->dashed, option->text,
		           OPTIONS_NAMED_MAX);
	list[(*count)++] = option->text;
}

void fabric_options_take(struct argp_state *state, struct options *options,
                         const struct bridge_option *option)
{
	struct virtual_config *time = &options->time;
	struct virtual_faults *host = &time->faults[option->host];

	if (options->is_replay)
		replay_options_admit(state, option);
	take_for_switch(&options->every_switch, option);
	take_for_cable(&options->every_cable, option);
	switch (option->name) {
	case BRIDGE_OPTION_SEED:
		options->fabric.seed = option->whole;
		break;
	case BRIDGE_OPTION_PCAP:
		options->pcap_path = option->text;
		break;
	case BRIDGE_OPTION_PCAP_LIMIT:
		options->pcap_limit_bytes = option->whole << 20;
		break;
	case BRIDGE_OPTION_PCAP_CABLE:
		add_named(state, option, options->pcap_cables, &options->pcap_cable_count);
		break;
	case BRIDGE_OPTION_STATS:
		options->stats_path = option->text;
		break;
	case BRIDGE_OPTION_TOPOLOGY:
		options->topology = option->text;
		break;
	case BRIDGE_OPTION_AT:
		add_named(state, option, options->settings, &options->setting_count);
		break;
	case BRIDGE_OPTION_HOST_PACKET_COST:
		time->host_packet_ns = option->real;
		break;
	case BRIDGE_OPTION_HOST_BYTE_COST:
		time->host_byte_ns = option->real;
		break;
	case BRIDGE_OPTION_KILL:
		host->kill_ns = option->whole;
		break;
	case BRIDGE_OPTION_CUT:
		options->cuts[option->host].from_ns = option->whole;
		options->cuts[option->host].until_ns = option->until;
		break;
	case BRIDGE_OPTION_RESET_AT:
		add_reset(state, time, option, TOPOLOGY_NONE);
		break;
	default:
		break;
	}
}

/*
 * Gives every switch and cable the values for all of them. In real time the times of cables and
 * switches are 0 here, so they are modelled only for switches and cables that an option names.
 */
static void spread(struct options *options)
{
	const struct topology *topology = options->fabric.topology;
	struct bridge_config of_switch = options->every_switch;
	struct cable_config of_cable = options->every_cable;

	if (!options->fabric.is_virtual) {
		of_switch.forwarding_ns = 0;
		of_cable.bits_per_second = of_cable.delay_ns = 0;
		of_cable.queue_bytes = of_cable.marking_bytes = 0;
	}
	for (unsigned i = 0; i < topology->switch_count; i++)
		options->fabric.bridges[i] = of_switch;
	for (unsigned i = 0; i < topology->cable_count; i++) {
		options->fabric.cables[i] = of_cable;
		if (topology->cables[i].has_host && options->cuts[i].from_ns != CALENDAR_NEVER) {
			options->fabric.cables[i].cut_ns = options->cuts[i].from_ns;
			options->fabric.cables[i].mend_ns = options->cuts[i].until_ns;
		}
	}
}

/* Exits with one line on stderr and no hint to --help, which does not describe fabrics. */
static void end(struct argp_state *state, const char *option, const char *error)
{
	argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "%s: %s", option, error);
}

static struct topology *make_topology(struct argp_state *state, struct options *options)
{
	char error[TOPOLOGY_ERROR_BYTES] = "out of memory";
	struct topology *topology = options->topology ? topology_open(options->topology, error)
	                                              : topology_open_single(options->port_count);

	if (!topology)
		end(state, "--topology", error);
	if (options->is_replay)
		options->port_count = topology->host_count;
	if (topology->host_count != options->port_count)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--topology %s: it has %u hosts, but %u ports are given",
		             options->topology, topology->host_count, options->port_count);
	for (unsigned i = 0; i < options->setting_count; i++)
		if (!topology_set(topology, options->settings[i], error))
			end(state, "--at", error);
	return topology;
}

/* Raises the switches to the place of this bridge among several bridges. */
static void raise_levels(struct argp_state *state, const struct options *options,
                         struct topology *topology)
{
	for (unsigned i = 0; i < topology->switch_count; i++) {
		struct topology_switch *of = &topology->switches[i];

		of->level += options->level - 1;
		if (of->level > TOPOLOGY_LEVELS_MAX)
			argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
			             "--level %u: switch '%s' would be on level %u, and the "
			             "highest level is %d",
			             options->level, of->name, of->level, TOPOLOGY_LEVELS_MAX);
	}
}

static void check_uplink(struct argp_state *state, const struct options *options,
                         const struct topology *topology)
{
	if (options->uplink == TOPOLOGY_NONE)
		return;
	if (options->uplink >= options->port_count)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--uplink %u: no such port: the last of %u ports is %u",
		             options->uplink, options->port_count, options->port_count - 1);
	const struct topology_switch *of =
	        &topology->switches[topology->cables[options->uplink].upper];

	if (options->fabric.is_virtual && !options->is_replay)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--uplink: not in virtual time: leave out --virtual-time");
	if (of->first_uplink < of->ports)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--uplink %u: its switch '%s' has another uplink, to '%s': give a "
		             "port of the highest switch",
		             options->uplink, of->name, topology->switches[of->uplinks[0]].name);
	if (of->level == TOPOLOGY_LEVELS_MAX)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--uplink %u: its switch '%s' is on level %u, the highest: nothing "
		             "can be above it",
		             options->uplink, of->name, of->level);
}

void fabric_options_build(struct argp_state *state, struct options *options)
{
	struct topology *topology = make_topology(state, options);

	raise_levels(state, options, topology);
	check_uplink(state, options, topology);
	options->fabric.topology = topology;
	spread(options);
	for (unsigned i = 0; i < topology->setting_count; i++) {
		const struct topology_setting *setting = &topology->settings[i];

		if (options->is_replay)
			replay_options_admit(state, &setting->option);
		if (setting->is_of_cable)
			take_for_cable(&options->fabric.cables[setting->number], &setting->option);
		else if (setting->option.name == BRIDGE_OPTION_RESET_AT)
			add_reset(state, &options->time, &setting->option, setting->number);
		else
			take_for_switch(&options->fabric.bridges[setting->number],
			                &setting->option);
	}
}
