/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The join: when every child of a job has a packet waiting, the packets become one sum. If all
 * ranks are below this switch, each packet leaves with the sum by the port on which it came in.
 * Otherwise the border's packet takes the part up, and the other packets wait for the sum from
 * above.
 */
#ifndef INA_MODEL_JOIN_H
#define INA_MODEL_JOIN_H

#include <stdint.h>

#include "history.h"
#include "jobs.h"
#include "judge.h"
#include "lack.h"
#include "output.h"
#include "packet.h"
#include "tree.h"

struct join {
	unsigned port_count;
	struct aggregator_lack lacks;
	struct jobs *jobs;
	struct judge *judges;  /* port_count judges, which hold the queues */
	struct history *sums;  /* sums of all ranks */
	struct history *parts; /* sums of the ranks below; unused without uplinks */
	struct tree *tree;
	struct ina_counters *counters;
	struct output *output;
};

/* Makes all sums and sends all packets that the job's queues allow. */
void join_run(struct join *join, unsigned job);

/* Answers a retransmission on `port` with the sum of `ordinal`, if both have the same length. */
void join_resend(struct join *join, unsigned port, unsigned job, uint64_t ordinal,
                 const struct packet *packet);

/*
 * The LEAVE of `port` has passed by its queue, or its flow was evicted. The last one frees the
 * job.
 */
void join_leave(struct join *join, unsigned job, unsigned port);

/* The job has expired: its waiting packets are sent raw if it is broken, and it is freed. */
void join_expire(struct join *join, unsigned job);

/* An operator evicts the job, which must be valid. */
void join_forget(struct join *join, unsigned job);

/* A tick of the quiet time. It may free a broken job that all children have left. */
void join_tick(struct join *join, unsigned job);

#endif
