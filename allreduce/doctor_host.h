/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks this host with libibverbs, and with libina's functions that choose a device, so that it
 * works even if libina cannot open.
 */
#ifndef INA_DOCTOR_HOST_H
#define INA_DOCTOR_HOST_H

#include <stdbool.h>

/* Prints a line for device, port, GID, MTU and locked memory. Returns false if a check failed. */
bool doctor_host(void);

#endif
