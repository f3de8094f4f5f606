/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses and numbers as people write them. */
#include "address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <string.h>

#include "common/parse.h"

/* Longest name of a host (RFC 1035, 2.3.4), and its NUL. */
#define HOST_SIZE 256

int ina_parse_int(const char *text, int minimum, int maximum, int *value)
{
	uint64_t number;

	if (!ina_parse_whole(text, (uint64_t)minimum, (uint64_t)maximum, &number))
		return -1;
	*value = (int)number;
	return 0;
}

static int resolve(const char *host, struct in_addr *address)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;

	/* What looks like an address is none, or it would not have come here. */
	if (host[strspn(host, "0123456789.")] == '\0')
		return -1;
	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return -1;
	*address = ((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr;
	freeaddrinfo(found);
	return 0;
}

static int parse(const char *text, bool names, struct sockaddr_in *address)
{
	char host[HOST_SIZE];
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	int port;

	if (length >= sizeof(host))
		return -1;
	memcpy(host, text, length);
	host[length] = '\0';
	if (colon) {
		if (ina_parse_int(colon + 1, 1, 65535, &port) != 0)
			return -1;
		address->sin_port = htons((uint16_t)port);
	}
	address->sin_family = AF_INET;
	if (inet_pton(AF_INET, host, &address->sin_addr) == 1)
		return 0;
	return names ? resolve(host, &address->sin_addr) : -1;
}

int ina_address_parse(const char *text, struct sockaddr_in *address)
{
	return parse(text, true, address);
}

int ina_address_parse_numeric(const char *text, struct sockaddr_in *address)
{
	return parse(text, false, address);
}
