/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4, with the names of the paper. */
#include "siphash.h"

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void sip_rounds(uint64_t v[4], int count)
{
	for (int i = 0; i < count; i++) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

/* Combines up to 8 bytes; the first one is the lowest. */
static uint64_t word_of(const uint8_t *bytes, size_t count)
{
	uint64_t word = 0;

	for (size_t i = 0; i < count; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

static void compress(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

uint64_t ina_siphash(const struct ina_siphash_key *key, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	size_t whole = size / 8 * 8;
	uint64_t v[4] = {
	        key->low ^ 0x736F6D6570736575u,
	        key->high ^ 0x646F72616E646F6Du,
	        key->low ^ 0x6C7967656E657261u,
	        key->high ^ 0x7465646279746573u,
	};

	for (size_t i = 0; i < whole; i += 8)
		compress(v, word_of(bytes + i, 8));
	compress(v, word_of(bytes + whole, size - whole) | (uint64_t)size << 56);
	v[2] ^= 0xFF;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
