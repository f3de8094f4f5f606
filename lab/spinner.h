/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a host's programs computes without end. */
#ifndef INA_LAB_SPINNER_H
#define INA_LAB_SPINNER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Writes the path of the program that a host's processor is busy with, as it was executed. False
 * where it is not in a program, or where that cannot be seen.
 */
bool lab_spinner_find(pid_t kernel_pid, char *name, size_t size);

#endif
