/* SPDX-License-Identifier: Apache-2.0 */
/* A port that is a TAP device, which it creates: the frames that the kernel sends on it come in. */
#ifndef INA_BRIDGE_TAP_PORT_H
#define INA_BRIDGE_TAP_PORT_H

#include "port.h"

/* Its open() needs `name` set already. The device ends with the port. */
extern const struct port_kind tap_port;

/* True if the device exists: in another network namespace, if not in this one. */
bool tap_port_exists(const struct port *port);

#endif
