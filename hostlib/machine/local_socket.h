/* SPDX-License-Identifier: Apache-2.0 */
/* How the ranks of one machine meet, and hand each other descriptors: once, over a socket. */
#ifndef INA_MACHINE_LOCAL_SOCKET_H
#define INA_MACHINE_LOCAL_SOCKET_H

#include "hostlib/control/control.h"

/* Descriptors that each rank brings: what wakes it, and what ends with it. */
#define INA_LOCAL_BRINGS 2

struct ina_local_meeting {
	uint64_t job_id;
	int index; /* this rank's, 0: the one that listens */
	int count;
	int leader;                  /* the rank whose index is 0 */
	struct ina_control *control; /* gives up when another rank has failed */
	int64_t deadline_ms;
	int links[INA_MAX_RANKS]; /* the leader's, between the two calls */
};

/* The leader: takes what all others bring, into wake[i] and alive[i]. */
enum ina_status ina_local_gather(struct ina_local_meeting *meeting, int *wake, int *alive,
                                 struct ina_failure *failure);

/* The leader: sends all others the same descriptors, and parts from them. They stay the caller's.
 */
enum ina_status ina_local_hand_out(struct ina_local_meeting *meeting, const int *fds, int count,
                                   struct ina_failure *failure);

/* All others: brings its own descriptors, and fills fds with `count` that are the caller's now. */
enum ina_status ina_local_attend(struct ina_local_meeting *meeting, const int *own, int *fds,
                                 int count, struct ina_failure *failure);

#endif
