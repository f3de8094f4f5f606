/* SPDX-License-Identifier: Apache-2.0 */
/* A port for a root that does not listen yet. */
#ifndef FREE_PORT_H
#define FREE_PORT_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A port of 127.0.0.1 at which no process listens; 0: there is no such port. The kernel never gives
 * one of these to a caller (ip_local_port_range begins with 32768). Otherwise a rank that calls a
 * root that does not listen yet would sometimes get the root's port itself. Tests that run at the
 * same time begin far apart, since nobody listens at this port for a while.
 */
static inline uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint16_t found = 0;

	for (int i = 0; i < 10000 && found == 0; i++) {
		uint16_t port = (uint16_t)(20000 + (getpid() * 251 + i) % 10000);
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		address.sin_port = htons(port);
		if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
			found = port;
		if (fd >= 0)
			close(fd);
	}
	return found;
}

#endif
