/* SPDX-License-Identifier: Apache-2.0 */
/* One file descriptor for all that a communicator waits for: ina_comm_fd(). */
#ifndef INA_ENGINE_POLLSET_H
#define INA_ENGINE_POLLSET_H

#include <stdbool.h>

#include "hostlib/options/error.h"

struct ina_comm;

struct ina_pollset {
	int fd;       /* an epoll; -1: nobody has asked for it */
	int timer_fd; /* what is to be looked at now and then */
	bool has_connecting;
};

void ina_pollset_init(struct ina_pollset *set);
enum ina_status ina_pollset_open(struct ina_pollset *set, const struct ina_comm *comm,
                                 struct ina_failure *failure);
void ina_pollset_close(struct ina_pollset *set);

/* Takes what made it readable; from now on it tells of what comes. Then look once more. */
void ina_pollset_arm(struct ina_pollset *set, struct ina_comm *comm);

#endif
