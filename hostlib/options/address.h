/* SPDX-License-Identifier: Apache-2.0 */
/* Parses addresses and numbers that people write. */
#ifndef INA_OPTIONS_ADDRESS_H
#define INA_OPTIONS_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

/*
 * Parses a decimal number from minimum to maximum; minimum must be 0 or more. No character may
 * follow the number. Returns 0, or -1.
 */
int ina_parse_int(const char *text, int minimum, int maximum, int *value);

/*
 * Parses "host" or "host:port". The host is an IPv4 address, or a name that the system's resolver
 * must resolve to one before the deadline. If the text has no port, sin_port does not change.
 * Returns 0, or -1; errno is ETIMEDOUT if the resolver has not answered in time.
 */
int ina_address_parse(const char *text, int64_t deadline_ms, struct sockaddr_in *address);

/* Like ina_address_parse(), but accepts no names, and so never blocks. */
int ina_address_parse_numeric(const char *text, struct sockaddr_in *address);

/* 127.0.0.0/8 */
static inline bool ina_is_loopback(struct in_addr address)
{
	return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

#endif
