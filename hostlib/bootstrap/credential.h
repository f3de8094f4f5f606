/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials: the two ends of a new connection prove to each other that they belong to the same
 * job. Each end chooses a nonce, and hashes its frame and the other's nonce with the job's key.
 * Without cookie and secret nobody can make such a hash, and a hash from another connection is
 * useless here.
 */
#ifndef INA_BOOTSTRAP_CREDENTIAL_H
#define INA_BOOTSTRAP_CREDENTIAL_H

#include <stdbool.h>

#include "hostlib/control/tcp_link.h"
#include "hostlib/options/job.h"

/* A random number that nobody can guess. Returns 0, or -1 with errno. */
int ina_random_number(uint64_t *number);

/* Adds tag and proof to a frame whose nonce is set. */
void ina_credential_sign(struct ina_control_frame *frame, const struct ina_job *job,
                         uint64_t other_nonce);

/* Did a rank of this job sign the frame on this connection? */
bool ina_credential_holds(const struct ina_control_frame *frame, const struct ina_job *job,
                          uint64_t other_nonce);

#endif
