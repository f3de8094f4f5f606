/* SPDX-License-Identifier: Apache-2.0 */
#include "port_options.h"

#include <string.h>

#include "common/bridge_options.h"
#include "common/parse.h"
#include "sim-bridge/realtime/socket_port.h"

int port_options_read_fd(struct argp_state *state, const char *option, const char *text,
                         const char *others)
{
	uint64_t fd = 0;

	if (strncmp(text, "fd=", 3) || !ina_parse_whole(text + 3, 0, INT32_MAX, &fd))
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "%s %s: must be fd=N, where N is the number of an open socket%s",
		             option, text, others);
	return (int)fd;
}

/* Digits alone are more likely a descriptor without "fd=" than the name of an interface. */
static bool is_name(const char *text)
{
	return text[0] && strncmp(text, "fd=", 3) && text[strspn(text, "0123456789")];
}

void port_options_take(struct argp_state *state, struct options *options, const char *text)
{
	unsigned *count = &options->port_count;
	const char *name = is_name(text) ? text : NULL;
	const int fd =
	        name ? -1
	             : port_options_read_fd(state, "--port", text,
	                                    ", the name of a network interface, or tap:NAME");

	if (*count == BRIDGE_PORTS_MAX)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "--port %s: more than %d ports",
		             text, BRIDGE_PORTS_MAX);
	for (unsigned i = 0; i < *count; i++) {
		const char *other = options->port_names[i];

		if (name ? other && !strcmp(other, name) : options->port_fds[i] == fd)
			argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "--port %s: given twice",
			             text);
	}
	options->port_names[*count] = name;
	options->port_fds[(*count)++] = fd;
}

void port_options_check(struct argp_state *state, struct options *options)
{
	const bool is_virtual = options->time.clock_fd >= 0;
	char reason[160];

	for (unsigned i = 0; i < options->port_count; i++) {
		const char *name = options->port_names[i];

		if (name && is_virtual)
			argp_failure(
			        state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
			        "--port %s: network interfaces have no virtual time: leave out "
			        "--virtual-time",
			        name);
		if (!name && !options->only_checks &&
		    !socket_port_is_usable(options->port_fds[i], is_virtual, reason,
		                           sizeof(reason)))
			argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "--port fd=%d: %s",
			             options->port_fds[i], reason);
	}
	if (is_virtual && options->control_path)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--control: not in virtual time: leave out --virtual-time");
	if (is_virtual && options->metrics_at)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--metrics: not in virtual time: leave out --virtual-time");
	if (is_virtual && options->user)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--user: not in virtual time: leave out --virtual-time");
	if (options->port_count < 2)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "a switch needs at least two ports: give --port twice");
	if (is_virtual &&
	    !socket_port_is_usable(options->time.clock_fd, true, reason, sizeof(reason)))
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "--virtual-time: %s", reason);
	options->fabric.is_virtual = is_virtual;
}
