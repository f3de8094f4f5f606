/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a QEMU host starts from: the kernel file of a distribution, and an initramfs with guest-init
 * and those modules of this kernel that a host needs.
 */
#ifndef INA_LAB_INITRAMFS_H
#define INA_LAB_INITRAMFS_H

#include <stdbool.h>

/* True if the file is a Linux kernel for PCs (bzImage, as in /boot), not User Mode Linux. */
bool lab_initramfs_is_pc_kernel(const char *kernel);

/*
 * The newest kernel in /boot for which lab_initramfs_check() would succeed, or NULL. The caller
 * frees it.
 */
char *lab_initramfs_find_kernel(void);

/*
 * Looks for the modules of the kernel ROOT/boot/FILE in ROOT/lib/modules/RELEASE. Returns false,
 * with one line on stderr, if some are missing.
 */
bool lab_initramfs_check(const char *kernel);

/* Writes the initramfs for this kernel to `path`. On failure, prints one line, returns false. */
bool lab_initramfs_write(const char *path, const char *kernel, const char *guest_init);

#endif
