/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and numbers as people write them. */
#ifndef INA_OPTIONS_ADDRESS_H
#define INA_OPTIONS_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>

/* A decimal number from minimum (0 or more) on, and nothing behind it. Returns 0, or -1. */
int ina_parse_int(const char *text, int minimum, int maximum, int *value);

/*
 * "host" or "host:port", where host is an IPv4 address, or a name that the system resolves to one
 * until the deadline. Without a port, sin_port is left alone. Returns 0, or -1; errno is ETIMEDOUT
 * where the resolver has not answered in time.
 */
int ina_address_parse(const char *text, int64_t deadline_ms, struct sockaddr_in *address);

/* The same without names. */
int ina_address_parse_numeric(const char *text, struct sockaddr_in *address);

/* 127.0.0.0/8 */
static inline bool ina_is_loopback(struct in_addr address)
{
	return ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

#endif
