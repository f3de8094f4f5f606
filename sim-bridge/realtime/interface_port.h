/* SPDX-License-Identifier: Apache-2.0 */
/* A port that is a network interface, by packet(7): all frames that it receives come in. */
#ifndef INA_BRIDGE_INTERFACE_PORT_H
#define INA_BRIDGE_INTERFACE_PORT_H

#include "port.h"

/* Its open() needs `index` and `name` set already. */
extern const struct port_kind interface_port;

#endif
