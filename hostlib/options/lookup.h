/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolves host names within a deadline: the system's resolver has no timeout that a caller can
 * set.
 */
#ifndef INA_OPTIONS_LOOKUP_H
#define INA_OPTIONS_LOOKUP_H

#include <netinet/in.h>
#include <stdint.h>

/*
 * Looks up the IPv4 address of a host. Returns 0, or -1 with errno: ENOENT if the name has no
 * address, ETIMEDOUT if the resolver has not answered before the deadline, or the error that kept
 * the thread from starting. After a timeout the resolver continues in its thread, which ends when
 * the resolver returns.
 */
int ina_lookup(const char *host, int64_t deadline_ms, struct in_addr *address);

#endif
