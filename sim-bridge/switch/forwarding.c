/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of fixed size: if all places for an address are taken, the first one is reused. */
#include "forwarding.h"

#include <string.h>

/*
 * Reads the address in two loads and joins them in registers. Copying it into a variable in memory
 * would be slower: the processor would wait until the whole frame, which has just been copied, has
 * left its store buffer.
 */
static uint64_t number_of(const uint8_t *mac)
{
	uint32_t low;
	uint16_t high;

	memcpy(&low, mac, sizeof(low));
	memcpy(&high, mac + sizeof(low), sizeof(high));
	return low | (uint64_t)high << 32;
}

static unsigned place_of(uint64_t number, unsigned probe)
{
	/* Fibonacci hashing: the top bits of a product with 2^64 / phi. */
	return (unsigned)((number * 0x9E3779B97F4A7C15u >> (64 - FORWARDING_BITS)) + probe) %
	       FORWARDING_SLOTS;
}

static int is_group(const uint8_t *mac)
{
	return mac[0] & 1;
}

int forwarding_learn(struct forwarding *forwarding, const uint8_t *mac, unsigned port)
{
	uint64_t number = number_of(mac);
	unsigned place = place_of(number, 0);
	int before = FORWARDING_FLOOD;

	if (is_group(mac) || number == 0)
		return FORWARDING_FLOOD;
	for (unsigned probe = FORWARDING_PROBES; probe > 0; probe--) {
		unsigned candidate = place_of(number, probe - 1);

		if (forwarding->slots[candidate].mac == number) {
			place = candidate;
			before = forwarding->slots[candidate].port;
			break;
		}
		if (forwarding->slots[candidate].mac == 0)
			place = candidate;
	}
	forwarding->slots[place].mac = number;
	forwarding->slots[place].port = (int)port;
	return before;
}

int forwarding_find(const struct forwarding *forwarding, const uint8_t *mac)
{
	uint64_t number = number_of(mac);

	if (is_group(mac) || number == 0)
		return FORWARDING_FLOOD;
	for (unsigned probe = 0; probe < FORWARDING_PROBES; probe++) {
		unsigned place = place_of(number, probe);

		if (forwarding->slots[place].mac == number)
			return forwarding->slots[place].port;
	}
	return FORWARDING_FLOOD;
}

void forwarding_forget_port(struct forwarding *forwarding, unsigned port)
{
	for (unsigned i = 0; i < FORWARDING_SLOTS; i++)
		if (forwarding->slots[i].mac && forwarding->slots[i].port == (int)port)
			forwarding->slots[i].mac = 0;
}
