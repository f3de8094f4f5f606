/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials of the two ends of a connection. */
#include "credential.h"

#include <errno.h>
#include <sys/random.h>

/*
 * A host that has just booted may lack entropy for long; in that case, use the kernel's insecure
 * source.
 */
int ina_random_number(uint64_t *number)
{
	ssize_t got = getrandom(number, sizeof(*number), GRND_NONBLOCK);

	if (got < 0 && errno == EAGAIN)
		got = getrandom(number, sizeof(*number), GRND_INSECURE);
	return got == sizeof(*number) ? 0 : -1;
}

static uint64_t prove(const struct ina_control_frame *frame, const struct ina_job *job,
                      uint64_t other_nonce)
{
	struct {
		uint64_t other_nonce;
		struct ina_control_frame frame;
	} said = {.other_nonce = other_nonce, .frame = *frame};

	said.frame.credential.proof = 0;
	return ina_siphash(&job->key, &said, sizeof(said));
}

void ina_credential_sign(struct ina_control_frame *frame, const struct ina_job *job,
                         uint64_t other_nonce)
{
	frame->credential.job = job->tag;
	frame->credential.proof = prove(frame, job, other_nonce);
}

bool ina_credential_holds(const struct ina_control_frame *frame, const struct ina_job *job,
                          uint64_t other_nonce)
{
	return frame->credential.job == job->tag &&
	       frame->credential.proof == prove(frame, job, other_nonce);
}
