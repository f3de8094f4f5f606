/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part that the algorithms between machines have in common: they make progress when work
 * requests complete. Their rows contain these functions, and their states have this struct as the
 * first member.
 */
#ifndef INA_ALGORITHMS_COMPLETING_H
#define INA_ALGORITHMS_COMPLETING_H

#include "algorithm.h"
#include "hostlib/rdma/completions.h"

struct ina_completing {
	const struct ina_completions *completions;
	/*
	 * Functions of the algorithm: awaits_message() says whether only a received message allows
	 * progress; go_on() makes progress after completions.
	 */
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
