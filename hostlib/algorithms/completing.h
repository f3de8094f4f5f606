/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the algorithms between machines have in common: they go on as messages complete. Their rows
 * have these functions, and their states this struct as the first member.
 */
#ifndef INA_ALGORITHMS_COMPLETING_H
#define INA_ALGORITHMS_COMPLETING_H

#include "algorithm.h"
#include "hostlib/rdma/completions.h"

struct ina_completing {
	const struct ina_completions *completions;
	/* Of the state: does nothing but a message help? And goes on, after completions. */
	bool (*awaits_message)(const void *self);
	enum ina_status (*go_on)(void *self, struct ina_failure *failure);
};

enum ina_status ina_completing_advance(void *self, bool before_wait, bool *moved,
                                       struct ina_failure *failure);
enum ina_status ina_completing_wait(void *self, int timeout_ms, bool *moved,
                                    struct ina_failure *failure);
int ina_completing_pollfds(const void *self, struct pollfd *fds);
void ina_completing_arm(void *self);

#endif
