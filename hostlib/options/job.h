/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which job this rank is of, as its ranks prove it to each other (bootstrap/README.md).
 *
 * A job's cookie is an option, or INA_COOKIE, or what the launcher says of it; without either it
 * has none, and is one with all others that have none. A secret, INA_SECRET, is known to its ranks
 * alone.
 */
#ifndef INA_OPTIONS_JOB_H
#define INA_OPTIONS_JOB_H

#include <stdbool.h>

#include "error.h"
#include "siphash.h"

/* Ports from INA_DEFAULT_PORT on, in blocks of which each job with a cookie has one. */
#define INA_JOB_PORTS       8
#define INA_JOB_PORT_BLOCKS 128

struct ina_job {
	bool has_cookie;
	uint64_t tag;               /* of the cookie, said openly */
	struct ina_siphash_key key; /* of cookie and secret, never said */
};

/*
 * given: the cookie by the options, NULL: none; launched: by the launcher, "": none.
 * INA_OK, or INA_ERR_ARGUMENT.
 */
enum ina_status ina_job_make(struct ina_job *job, const char *given, const char *launched,
                             struct ina_failure *failure);

/* Where rank 0 waits if nothing says a port: the first of *count that it may choose from. */
int ina_job_port(const struct ina_job *job, int *count);

#endif
