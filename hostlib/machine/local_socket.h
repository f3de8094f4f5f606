/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the ranks of one machine meet over a socket, once, and pass descriptors to each other. */
#ifndef INA_MACHINE_LOCAL_SOCKET_H
#define INA_MACHINE_LOCAL_SOCKET_H

#include "hostlib/control/control.h"

/* The descriptors of each rank: the one that wakes it, and the one that ends with it. */
#define INA_LOCAL_BRINGS 2

struct ina_local_meeting {
	uint64_t job_id;
	int index; /* this rank's; the rank with index 0 listens */
	int count;
	int leader;                  /* the rank with index 0 */
	struct ina_control *control; /* the meeting ends early if another rank has failed */
	int64_t deadline_ms;
	/* used by the leader, from ina_local_gather() to ina_local_hand_out() */
	int links[INA_MAX_RANKS];
};

/*
 * For the leader: receives the descriptors of all other ranks, and stores them in wake[i] and
 * alive[i].
 */
enum ina_status ina_local_gather(struct ina_local_meeting *meeting, int *wake, int *alive,
                                 struct ina_failure *failure);

/*
 * For the leader: sends all other ranks the same descriptors, and closes their connections. The
 * caller still owns the descriptors.
 */
enum ina_status ina_local_hand_out(struct ina_local_meeting *meeting, const int *fds, int count,
                                   struct ina_failure *failure);

/*
 * For the other ranks: sends this rank's descriptors, and fills in fds with `count` descriptors,
 * which the caller then owns.
 */
enum ina_status ina_local_attend(struct ina_local_meeting *meeting, const int *own, int *fds,
                                 int count, struct ina_failure *failure);

#endif
