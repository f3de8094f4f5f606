/* SPDX-License-Identifier: Apache-2.0 */
/* The RoCE path MTUs that fit through network interfaces. */
#ifndef INA_BRIDGE_PATH_MTU_H
#define INA_BRIDGE_PATH_MTU_H

#include "port.h"

/*
 * Prints one line for each interface whose MTU is too small for the path MTU that is usual with it,
 * and one if interfaces carry different path MTUs.
 */
void path_mtu_report(const struct port *ports, unsigned count);

#endif
