/* SPDX-License-Identifier: Apache-2.0 */
/* Takes completions, and then lets the algorithm continue. */
#include "completing.h"

static enum ina_status go_on(void *self, enum ina_status status, int count, bool *moved,
                             struct ina_failure *failure)
{
	const struct ina_completing *completing = self;

	*moved = count > 0;
	return status == INA_OK && count > 0 ? completing->go_on(self, failure) : status;
}

enum ina_status ina_completing_advance(void *self, bool before_wait, bool *moved,
                                       struct ina_failure *failure)
{
	const struct ina_completing *completing = self;
	int count;
	enum ina_status status =
	        ina_completions_take(completing->completions, before_wait,
	                             completing->awaits_message(self), &count, failure);

	return go_on(self, status, count, moved, failure);
}

enum ina_status ina_completing_wait(void *self, int timeout_ms, bool *moved,
                                    struct ina_failure *failure)
{
	const struct ina_completing *completing = self;
	int count;
	enum ina_status status =
	        ina_completions_sleep(completing->completions, completing->awaits_message(self),
	                              timeout_ms, &count, failure);

	return go_on(self, status, count, moved, failure);
}

int ina_completing_pollfds(const void *self, struct pollfd *fds)
{
	return ina_transport_pollfds(((const struct ina_completing *)self)->completions->transport,
	                             fds);
}

void ina_completing_arm(void *self)
{
	ina_completions_arm(((const struct ina_completing *)self)->completions);
}
