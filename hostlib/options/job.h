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

/* From INA_DEFAULT_PORT on, ports are grouped in blocks. A job with a cookie uses one block. */
#define INA_JOB_PORTS       8
#define INA_JOB_PORT_BLOCKS 128

struct ina_job {
	bool has_cookie;
	uint64_t tag;               /* hash of the cookie; sent in the clear */
	struct ina_siphash_key key; /* made from cookie and secret; never sent */
};

/* Sets up a job. "" is no cookie, or no secret. */
void ina_job_make(struct ina_job *job, const char *cookie, const char *secret);

/*
 * The first port at which rank 0 may wait if the root has no port. Sets *count to the number of
 * ports, from this one on, from which rank 0 chooses.
 */
int ina_job_port(const struct ina_job *job, int *count);

#endif
