/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Returns the absolute path, since hosts start in other folders, or the given name if there is no
 * such file.
 */
static void find_part(char path[PATH_MAX], const char *variable, const char *by_default)
{
	const char *given = getenv(variable);

	if (!given || !*given)
		given = by_default;
	if (!realpath(given, path))
		snprintf(path, PATH_MAX, "%s", given);
}

struct lab_parts lab_parts_find(void)
{
	struct lab_parts parts;

	find_part(parts.kernel, "INA_KERNEL", INA_LAB_KERNEL);
	find_part(parts.guest_init, "INA_GUEST_INIT", INA_LAB_GUEST_INIT);
	return parts;
}

bool lab_parts_check(const struct lab_parts *parts)
{
	if (access(parts->kernel, X_OK))
		fprintf(stderr,
		        "ina-lab: no kernel found at %s: run `make kernel`, or set INA_KERNEL\n",
		        parts->kernel);
	else if (access(parts->guest_init, X_OK))
		fprintf(stderr,
		        "ina-lab: no executable guest-init found at %s: set INA_GUEST_INIT\n",
		        parts->guest_init);
	else
		return true;
	return false;
}
