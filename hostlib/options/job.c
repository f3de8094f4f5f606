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

int ina_job_port(const struct ina_job *job, int *count)
{
	*count = job->has_cookie ? INA_JOB_PORTS : 1;
	if (!job->has_cookie)
		return INA_DEFAULT_PORT;
	return INA_DEFAULT_PORT + (int)(job->tag % INA_JOB_PORT_BLOCKS) * INA_JOB_PORTS;
}
