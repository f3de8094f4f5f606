/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host that is a QEMU machine with a distribution's own kernel and modules. Its root is the
 * machine's file system over 9p, and its four serial ports are the kernel's log, the output of the
 * command, its errors, and the messages of guest-init.
 */
#ifndef INA_LAB_QEMU_H
#define INA_LAB_QEMU_H

#include "parts.h"
#include "reaper.h"
#include "workspace.h"

#include <stdbool.h>
#include <sys/types.h>

/* The descriptors of a host's process, to which its arguments refer by number. */
enum lab_guest_fd {
	GUEST_FD_INPUT,
	GUEST_FD_LOG,
	GUEST_FD_LOG_TOO,
	GUEST_FD_NETWORK,
	GUEST_FD_OUTPUT,
	GUEST_FD_ERRORS,
	GUEST_FD_TALK,
	GUEST_FD_COUNT,
};

/*
 * True if guests run on /dev/kvm. On some machines it opens, but a guest hangs, so this boots the
 * kernel until it looks for its root, for at most 4 s. If KVM does not work, one line on stderr
 * says why, except with -q.
 */
bool lab_qemu_kvm_works(const struct lab_parts *parts, const char *kernel,
                        struct lab_reaper *reaper, const struct lab_options *options);

/*
 * Starts a host with these descriptors. Returns its process id, or -1 with errno set; errno is 0 if
 * a line on stderr has said why.
 */
pid_t lab_qemu_start(int rank, struct lab_reaper *reaper, const struct lab_workspace *workspace,
                     const struct lab_options *options, const struct lab_parts *parts,
                     const int from[GUEST_FD_COUNT]);

#endif
