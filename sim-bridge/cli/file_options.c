/* SPDX-License-Identifier: Apache-2.0 */
#include "file_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PCAP_LIMIT_BYTES ((uint64_t)256 << 20) /* the default of --pcap-limit */

struct file {
	const char *option;
	const char *path; /* or NULL */
};

/* Takes NAME of --pcap-cable, or NAME=FILE. */
static void take_cable(struct argp_state *state, struct options *options, const char *text)
{
	char name[TOPOLOGY_NAME_BYTES + 16]; /* a longer text is no name */
	const size_t length = strcspn(text, "=");

	snprintf(name, sizeof(name), "%.*s", (int)length, text);
	const unsigned cable = topology_find_cable(options->fabric.topology, name);

	if (cable == TOPOLOGY_NONE)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "--pcap-cable %s: no such cable",
		             text);
	if (!text[length]) {
		if (!options->pcap_path)
			argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
			             "--pcap-cable %s: requires --pcap, or a file for this cable: "
			             "%s=FILE",
			             text, text);
		options->fabric.is_captured[cable] = true;
		return;
	}
	if (!text[length + 1])
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--pcap-cable %s: no file after the =", text);
	if (options->cable_paths[cable])
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--pcap-cable %s: this cable already has the file %s", text,
		             options->cable_paths[cable]);
	options->cable_paths[cable] = text + length + 1;
}

/* Without --pcap-cable NAME, the file of --pcap has all cables. */
static void choose_cables(struct argp_state *state, struct options *options)
{
	bool is_any_named = false;

	for (unsigned i = 0; i < options->pcap_cable_count; i++)
		is_any_named |= !strchr(options->pcap_cables[i], '=');
	for (unsigned i = 0; i < options->fabric.topology->cable_count; i++) {
		options->fabric.is_captured[i] = !is_any_named;
		options->cable_paths[i] = NULL;
	}
	for (unsigned i = 0; i < options->pcap_cable_count; i++)
		take_cable(state, options, options->pcap_cables[i]);
}

static bool is_same_file(const char *path, const char *other)
{
	struct stat of, of_other;

	if (!strcmp(path, other))
		return strcmp(path, "/dev/null") != 0;
	return !stat(path, &of) && !stat(other, &of_other) && S_ISREG(of.st_mode) &&
	       of.st_dev == of_other.st_dev && of.st_ino == of_other.st_ino;
}

/* Every file has one use, since a file that is written twice would have neither content. */
static void check_uses(struct argp_state *state, const struct options *options)
{
	struct file files[3 + OPTIONS_NAMED_MAX] = {
	        {"IN", options->replay_path},
	        {options->is_replay ? "OUT" : "--pcap", options->pcap_path},
	        {"--stats", options->stats_path},
	};
	unsigned count = 3;

	for (unsigned i = 0; i < options->pcap_cable_count; i++) {
		const char *path = strchr(options->pcap_cables[i], '=');

		if (path)
			files[count++] = (struct file){"--pcap-cable", path + 1};
	}
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < i; k++)
			if (files[i].path && files[k].path &&
			    is_same_file(files[k].path, files[i].path))
				argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
				             "%s and %s name the same file, %s", files[k].option,
				             files[i].option, files[i].path);
}

static bool has_capture(const struct options *options)
{
	for (unsigned i = 0; i < options->fabric.topology->cable_count; i++)
		if (options->cable_paths[i])
			return true;
	return options->pcap_path != NULL;
}

void file_options_check(struct argp_state *state, struct options *options)
{
	choose_cables(state, options);
	check_uses(state, options);
	if (options->pcap_limit_bytes && !has_capture(options))
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "--pcap-limit: requires --pcap");
	if (!options->pcap_limit_bytes)
		options->pcap_limit_bytes = options->is_replay ? UINT64_MAX : PCAP_LIMIT_BYTES;
}

unsigned file_options_read_mode(struct argp_state *state, const char *text)
{
	const unsigned long mode = strtoul(text, NULL, 8);

	if (!*text || text[strspn(text, "01234567")] || mode > 0777)
		argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0,
		             "--control-mode takes an octal number up to 777, not '%s'", text);
	return (unsigned)mode;
}
