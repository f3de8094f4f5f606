/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the program on a host that computes without end. */
#ifndef INA_LAB_SPINNER_H
#define INA_LAB_SPINNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Writes the path, as it was executed, of the program that a host's processor is executing. Returns
 * false if the processor is not in a program, or if the path cannot be found.
 */
bool lab_spinner_find(pid_t kernel_pid, char *name, size_t size);

#endif
