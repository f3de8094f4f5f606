/* SPDX-License-Identifier: Apache-2.0 */
#include "parts.h"
#include "initramfs.h"

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
	find_part(parts.qemu, "INA_QEMU", "/usr/bin/qemu-system-x86_64");
	parts.has_kvm = false;
	return parts;
}

static bool check_qemu(const struct lab_parts *parts, const char *kernel)
{
	if (access(parts->qemu, X_OK)) {
		fprintf(stderr,
		        "ina-lab: no QEMU found at %s: run scripts/install-packages.sh qemu, or "
		        "set INA_QEMU\n",
		        parts->qemu);
		return false;
	}
	return lab_initramfs_check(kernel);
}

bool lab_parts_check(const struct lab_parts *parts, const char *kernel, bool is_qemu)
{
	if (access(parts->guest_init, X_OK)) {
		fprintf(stderr,
		        "ina-lab: no executable guest-init found at %s: set INA_GUEST_INIT\n",
		        parts->guest_init);
		return false;
	}
	if (is_qemu)
		return check_qemu(parts, kernel);
	if (!access(kernel, X_OK))
		return true;
	fprintf(stderr, "ina-lab: no kernel found at %s: run `make kernel`, or set INA_KERNEL\n",
	        kernel);
	return false;
}
