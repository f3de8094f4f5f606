/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hosts, looked up within a time: the system's resolver has none that a caller may set. */
#ifndef INA_OPTIONS_LOOKUP_H
#define INA_OPTIONS_LOOKUP_H

#include <netinet/in.h>
#include <stdint.h>

/*
 * The IPv4 address of a host. Returns 0; or -1 with errno: ENOENT, the name has none, or ETIMEDOUT,
 * nobody has answered until the deadline; or why no thread could be started. After a time-out the
 * resolver goes on in a thread that ends when the resolver does.
 */
int ina_lookup(const char *host, int64_t deadline_ms, struct in_addr *address);

#endif
