/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a fabric as text: every switch, from the top level down, and each of its ports. */
#include "topology_print.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/topology/open.h"
#include "run_options.h"
#include "topology_svg.h"

static const char usage[] = "ina-lab topology takes FABRIC [--svg FILE]\n";

/* Ends a line with the options that were set for this switch or cable alone. */
static void print_settings(const struct topology *topology, bool is_of_cable, unsigned number)
{
	for (unsigned i = 0; i < topology->setting_count; i++) {
		const struct topology_setting *setting = &topology->settings[i];

		if (setting->is_of_cable == is_of_cable && setting->number == number)
			printf(", %s %s", setting->option.dashed + 2, setting->option.text);
	}
	putchar('\n');
}

static void print_switch(const struct topology *topology, unsigned number)
{
	const struct topology_switch *of = &topology->switches[number];

	printf("%s: level %u, %u ports", of->name, of->level, of->ports);
	print_settings(topology, false, number);
	for (unsigned port = 0; port < of->ports; port++) {
		const unsigned cable = of->cables[port];
		const struct topology_cable *at = &topology->cables[cable];

		printf("  port %u: %s", port, at->name);
		if (!at->has_host)
			printf(" %s %s", port < of->first_uplink ? "down to" : "up to",
			       topology->switches[at->lower == number ? at->upper : at->lower]
			               .name);
		print_settings(topology, true, cable);
	}
}

static void print_topology(const struct topology *topology)
{
	unsigned levels = 0;

	for (unsigned i = 0; i < topology->switch_count; i++)
		if (topology->switches[i].level > levels)
			levels = topology->switches[i].level;
	printf("%u hosts, %u %s, %u levels, %u cables\n", topology->host_count,
	       topology->switch_count, topology->switch_count == 1 ? "switch" : "switches", levels,
	       topology->cable_count);
	for (unsigned level = levels; level >= 1; level--)
		for (unsigned i = 0; i < topology->switch_count; i++)
			if (topology->switches[i].level == level)
				print_switch(topology, i);
}

static bool draw(const struct topology *topology, const char *path)
{
	FILE *file = fopen(path, "w");

	if (file) {
		lab_topology_draw(topology, file);
		const bool is_written = !ferror(file);

		if (fclose(file) == 0 && is_written)
			return true;
	}
	fprintf(stderr, "ina-lab: cannot write %s: %s\n", path, strerror(errno));
	return false;
}

int lab_topology(int argc, char **argv)
{
	const bool draws = argc == 3 && !strcmp(argv[1], "--svg");
	char error[TOPOLOGY_ERROR_BYTES];

	if (argc != 1 && !draws) {
		fputs(usage, stderr);
		return LAB_EXIT_USAGE;
	}
	struct topology *topology = topology_open(argv[0], error);

	if (!topology) {
		fprintf(stderr, "ina-lab: %s\n", error);
		return LAB_EXIT_USAGE;
	}
	print_topology(topology);
	const bool good = !draws || draw(topology, argv[2]);

	topology_close(topology);
	return good ? 0 : LAB_EXIT_FAILED;
}
