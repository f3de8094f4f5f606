/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The join: when every child of a job has a packet waiting, the packets become
 * one sum. Where all ranks are below, each leaves with it on the port that it
 * came from. Else one of them takes it up, and the others wait for what comes down.
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
	struct judge *judges;  /* port_count, with the queues */
	struct history *sums;  /* of all ranks */
	struct history *parts; /* of the ranks below */
	struct tree *tree;
	struct ina_counters *counters;
	struct output *output;
};

/* Does all that can be done for a job with what waits in its queues. */
void join_run(struct join *join, unsigned job);

/* Answers a retransmission on `port` with the sum of `ordinal`, if that has its length. */
void join_resend(struct join *join, unsigned port, unsigned job, uint64_t ordinal,
                 const struct packet *packet);

/* The LEAVE of `port` has passed by its queue, or its flow is put out; the last one frees the job.
 */
void join_leave(struct join *join, unsigned job, unsigned port);

/* The job has expired: what waits goes on raw, and the job is freed as if all had sent LEAVE. */
void join_expire(struct join *join, unsigned job);

/* A tick of the quiet time: behind a job that has been broken and left, it may be over. */
void join_tick(struct join *join, unsigned job);

#endif
