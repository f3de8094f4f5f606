/* SPDX-License-Identifier: Apache-2.0 */
#include "replay_options.h"

void replay_options_take(struct argp_state *state, struct options *options, char *word)
{
	switch (state->arg_num) {
	case 0:
		return;
	case 1:
		options->replay_path = word;
		return;
	case 2:
		options->pcap_path = word;
		return;
	default:
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "replay takes two files, IN and OUT, not '%s' too", word);
	}
}

void replay_options_admit(struct argp_state *state, const struct bridge_option *option)
{
	switch (option->name) {
	case BRIDGE_OPTION_PCAP:
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--pcap: a replay has OUT for this");
		return;
	case BRIDGE_OPTION_HOST_PACKET_COST:
	case BRIDGE_OPTION_HOST_BYTE_COST:
	case BRIDGE_OPTION_KILL:
	case BRIDGE_OPTION_CUT:
	case BRIDGE_OPTION_CUT_AT:
	case BRIDGE_OPTION_MEND_AT:
	case BRIDGE_OPTION_RESET_AT:
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "%s: a replay has no hosts, and no start of their commands",
		             option->dashed);
		return;
	default:
		return;
	}
}

void replay_options_open(struct argp_state *state, struct options *options)
{
	char error[1024];

	if (!options->pcap_path)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "replay takes two files: ina-bridge replay IN OUT");
	options->recording = recording_open(options->replay_path, error, sizeof(error));
	if (!options->recording)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "%s", error);
	options->fabric.is_virtual = true;
	options->port_count = recording_ports(options->recording);
	if (options->port_count < 2)
		options->port_count = 2;
	if (!options->topology && options->port_count > BRIDGE_PORTS_MAX)
		argp_failure(
		        state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		        "'%s': it has more than the %d ports of a switch; a capture of several "
		        "switches needs their --topology",
		        options->replay_path, BRIDGE_PORTS_MAX);
}

void replay_options_check(struct argp_state *state, const struct options *options)
{
	const unsigned hosts = options->fabric.topology->host_count;
	const struct recording *recording = options->recording;

	if (!recording_is_cooked(recording) && recording_ports(recording) > hosts)
		argp_failure(
		        state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		        "'%s': it has more than %u source MAC addresses, the hosts of --topology",
		        options->replay_path, hosts);
}
