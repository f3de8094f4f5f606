/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012): a keyed hash.
 * Without the key, nobody can compute or forge a hash.
 */
#ifndef INA_OPTIONS_SIPHASH_H
#define INA_OPTIONS_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct ina_siphash_key {
	uint64_t low;
	uint64_t high;
};

uint64_t ina_siphash(const struct ina_siphash_key *key, const void *data, size_t size);

#endif
