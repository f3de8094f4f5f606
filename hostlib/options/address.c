/* SPDX-License-Identifier: Apache-2.0 */
/* Parses addresses and numbers that people write. */
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "common/parse.h"
#include "lookup.h"

/* The longest host name (RFC 1035, 2.3.4), with its NUL. */
#define HOST_SIZE 256

int ina_parse_int(const char *text, int minimum, int maximum, int *value)
{
	uint64_t number;

	if (!ina_parse_whole(text, (uint64_t)minimum, (uint64_t)maximum, &number))
		return -1;
	*value = (int)number;
	return 0;
}

/*
 * Splits "host" or "host:port". Sets *is_name if the host is a name; address->sin_addr is not set
 * then. Returns 0, or -1 with errno EINVAL.
 */
static int parse(const char *text, char host[HOST_SIZE], bool *is_name, struct sockaddr_in *address)
{
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	int port;

	errno = EINVAL;
	if (length >= HOST_SIZE)
		return -1;
	memcpy(host, text, length);
	host[length] = '\0';
	if (colon) {
		if (ina_parse_int(colon + 1, 1, 65535, &port) != 0)
			return -1;
		address->sin_port = htons((uint16_t)port);
	}
	address->sin_family = AF_INET;
	*is_name = inet_pton(AF_INET, host, &address->sin_addr) != 1;
	/* Digits and dots that do not form a valid address are not a host name either. */
	return *is_name && host[strspn(host, "0123456789.")] == '\0' ? -1 : 0;
}

int ina_address_parse(const char *text, int64_t deadline_ms, struct sockaddr_in *address)
{
	char host[HOST_SIZE];
	bool is_name;

	if (parse(text, host, &is_name, address) != 0)
		return -1;
	return is_name ? ina_lookup(host, deadline_ms, &address->sin_addr) : 0;
}

int ina_address_parse_numeric(const char *text, struct sockaddr_in *address)
{
	char host[HOST_SIZE];
	bool is_name;

	return parse(text, host, &is_name, address) == 0 && !is_name ? 0 : -1;
}
