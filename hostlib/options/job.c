/* SPDX-License-Identifier: Apache-2.0 */
/* The cookie and the secret of a job. */
#include "job.h"

#include <string.h>

/* The keys may be any numbers that differ: each use of a hash has a separate key. */
static const struct ina_siphash_key TAG = {0x67617420616E69, 0};
static const struct ina_siphash_key KEY_LOW = {0x79656B20616E69, 0};
static const struct ina_siphash_key KEY_HIGH = {0x79656B20616E69, 1};

static uint64_t hash(const struct ina_siphash_key *key, const char *text)
{
	return ina_siphash(key, text, strlen(text));
}

/*
 * The key depends on cookie and secret: hashes of the secret, which are never sent, are the keys
 * under which the cookie is hashed.
 */
static struct ina_siphash_key make_key(const char *cookie, const char *secret)
{
	const struct ina_siphash_key inner = {hash(&KEY_LOW, secret), hash(&KEY_HIGH, secret)};
	const struct ina_siphash_key outer = {inner.high, inner.low};

	return (struct ina_siphash_key){hash(&inner, cookie), hash(&outer, cookie)};
}

void ina_job_make(struct ina_job *job, const char *cookie, const char *secret)
{
	job->has_cookie = *cookie != '\0';
	job->tag = hash(&TAG, cookie);
	job->key = make_key(cookie, secret);
}

struct ina_port_range ina_job_ports(const struct ina_job *job, const struct ina_port_range *all)
{
	int count = all->count < INA_JOB_PORTS ? all->count : INA_JOB_PORTS;
	int block = (int)(job->tag % (uint64_t)(all->count / count));

	if (!job->has_cookie)
		return (struct ina_port_range){all->first, 1};
	return (struct ina_port_range){all->first + block * count, count};
}
