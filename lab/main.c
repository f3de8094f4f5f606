/* SPDX-License-Identifier: Apache-2.0 */
/* ina-lab: selects the subcommand. */
#include "common/streams.h"
#include "doctor.h"
#include "run_options.h"
#include "run.h"
#include "topology_print.h"

#include <stdio.h>
#include <string.h>

static const char usage[] = "usage: ina-lab run -n N [OPTION...] -- COMMAND...\n"
                            "       ina-lab run --help\n"
                            "       ina-lab topology FABRIC [--svg FILE]\n"
                            "       ina-lab doctor\n";

static int run_command(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (!strcmp(command, "run")) {
		struct lab_options options;
		argv[1] = "ina-lab run";
		lab_options_parse(&options, argc - 1, argv + 1);
		return lab_run(&options);
	}
	if (!strcmp(command, "topology"))
		return lab_topology(argc - 2, argv + 2);
	if (!strcmp(command, "doctor") && argc == 2)
		return lab_doctor();
	if (!strcmp(command, "--help") || !strcmp(command, "help")) {
		fputs(usage, stdout);
		return 0;
	}
	if (!*command)
		fputs("ina-lab: a command is missing: run, topology or doctor\n", stderr);
	else if (!strcmp(command, "doctor"))
		fputs("ina-lab: doctor takes no arguments\n", stderr);
	else
		fprintf(stderr, "ina-lab: unknown command '%s': must be run, topology or doctor\n",
		        command);
	return LAB_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	ina_streams_open();

	const int code = run_command(argc, argv);

	return ina_streams_flush("ina-lab") || code ? code : LAB_EXIT_FAILED;
}
