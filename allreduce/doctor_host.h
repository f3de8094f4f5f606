/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor's look at this host, by libibverbs alone: libina need not be able to open for it. */
#ifndef INA_DOCTOR_HOST_H
#define INA_DOCTOR_HOST_H

#include <stdbool.h>

/* Device, port, GID, MTU and the limit on locked memory, a line each. False: something failed. */
bool doctor_host(void);

#endif
