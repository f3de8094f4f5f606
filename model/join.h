/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The join: when every rank of a job has a packet waiting, the packets become
 * one sum, and each leaves with it on the port that it came from.
 */
#ifndef INA_MODEL_JOIN_H
#define INA_MODEL_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "history.h"
#include "jobs.h"
#include "judge.h"
#include "lack.h"
#include "packet.h"
#include "tree.h"

/* An aggregator_emit. */
typedef void join_emit(void *context, unsigned port, const uint8_t *frame, size_t length);

struct join {
	unsigned port_count;
	struct aggregator_lack lacks;
	struct jobs *jobs;
	struct judge *judges;      /* port_count, with the queues */
	struct history *histories; /* one a job */
	struct tree *tree;
	struct ina_counters *counters;
	join_emit *emit;
	void *emit_context;
	uint8_t frame[PACKET_FRAME_BYTES]; /* what is being sent */
};

/* Does all that can be done for a job with what waits in its queues. */
void join_run(struct join *join, unsigned job);

/* Answers a retransmission on `port` with the sum of `head`, if that has its length. */
void join_resend(struct join *join, unsigned port, unsigned job, uint64_t head,
                 const struct packet *packet);

/* The LEAVE of `port` has passed by its queue, or its flow is put out; the last one frees the job.
 */
void join_leave(struct join *join, unsigned job, unsigned port);

/* The job has expired: what waits goes on raw, and the job is freed as if all had sent LEAVE. */
void join_expire(struct join *join, unsigned job);

/* Sends a probe on `port` in place of a packet: zeros, under a PSN out of reach. */
void join_probe(struct join *join, unsigned port, const struct packet *packet);

#endif
