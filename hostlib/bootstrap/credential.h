/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials: how the two ends of a new connection prove to each other that they are of one job.
 * Each has chosen a nonce, and hashes its frame and the other's nonce under the job's key: who does
 * not know cookie and secret cannot, and what was said on another connection is of no use.
 */
#ifndef INA_BOOTSTRAP_CREDENTIAL_H
#define INA_BOOTSTRAP_CREDENTIAL_H

#include <stdbool.h>

#include "hostlib/control/link.h"
#include "hostlib/options/job.h"

/* A number that nobody can guess. Returns 0, or -1 with errno. */
int ina_random_number(uint64_t *number);

/* Completes a frame whose own nonce is set. */
void ina_credential_sign(struct ina_control_frame *frame, const struct ina_job *job,
                         uint64_t other_nonce);

/* Was the frame signed by a rank of this job, on this connection? */
bool ina_credential_holds(const struct ina_control_frame *frame, const struct ina_job *job,
                          uint64_t other_nonce);

#endif
