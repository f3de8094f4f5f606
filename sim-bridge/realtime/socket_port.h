/* SPDX-License-Identifier: Apache-2.0 */
/* A port that is a Unix socket, which the bridge inherits, with one frame in each datagram. */
#ifndef INA_BRIDGE_SOCKET_PORT_H
#define INA_BRIDGE_SOCKET_PORT_H

#include "port.h"

/* Its open() needs `fd` set already, and takes ownership of it. */
extern const struct port_kind socket_port;

/*
 * True if `fd` is a Unix socket that can be a port: of type SOCK_SEQPACKET or SOCK_DGRAM in real
 * time, a listening SOCK_STREAM in virtual time. If not, writes one line to `error`.
 */
bool socket_port_is_usable(int fd, bool is_virtual, char *error, size_t error_bytes);

#endif
