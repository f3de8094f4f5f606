/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a job, which its ranks prove to each other (bootstrap/README.md).
 *
 * The cookie of a job is the option cookie, or INA_COOKIE, or the launcher's name for the job. All
 * jobs without a cookie count as the same job. Only the ranks of a job know its secret, INA_SECRET.
 */
#ifndef INA_OPTIONS_JOB_H
#define INA_OPTIONS_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "siphash.h"

/* A job with a cookie uses one block of ports. */
#define INA_JOB_PORTS       8
#define INA_JOB_PORT_BLOCKS 128

/* The TCP ports at which rank 0 may listen for the other ranks. */
struct ina_port_range {
	int first;
	int count;
};

struct ina_job {
	bool has_cookie;
	uint64_t tag;               /* hash of the cookie; sent in the clear */
	struct ina_siphash_key key; /* made from cookie and secret; never sent */
};

/* Sets up a job. "" is no cookie, or no secret. */
void ina_job_make(struct ina_job *job, const char *cookie, const char *secret);

/*
 * The ports from which rank 0 of this job takes the first free one, if the root has no port. `all`
 * is divided into blocks. A job without a cookie uses the first port.
 */
struct ina_port_range ina_job_ports(const struct ina_job *job, const struct ina_port_range *all);

#endif
