/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges each packet of one port as an RC responder would, by its PSN
 * (docs/protocol.md, PSNs), and holds the flows that the port has learned.
 */
#ifndef INA_MODEL_JUDGE_H
#define INA_MODEL_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "counters.h"
#include "jobs.h"
#include "packet.h"
#include "queue.h"

/* A connection from a host behind this port; its index in the table is that of its job. */
struct flow {
	bool valid;
	struct packet_key key;
	uint32_t next_psn;
	bool recovers;     /* past a gap; nothing that asks for an ACK has been taken since */
	unsigned suspects; /* in this silence; no more than decide are counted */
	unsigned fresh;    /* ends of patience until it has been silent for so long */
	bool contested;    /* packets by other ports broke its job in this silence */
};

struct judge {
	unsigned port;
	unsigned job_count;
	unsigned quiet;       /* ticks until the quiet time after the reset is over */
	struct flow *flows;   /* job_count */
	struct queue *queues; /* job_count, of this port */
	struct jobs *jobs;    /* shared by all ports */
	struct ina_counters *counters;
};

enum verdict {
	VERDICT_PASS,    /* the frame goes on unchanged */
	VERDICT_DISCARD, /* it ends here */
	VERDICT_TAKE,    /* it is in the queue, ready for the join */
	VERDICT_RESEND,  /* it goes on with a sum of the history as payload */
	VERDICT_PROBE,   /* a probe goes on in its place (docs/protocol.md, PSNs) */
};

struct judgement {
	enum verdict verdict;
	int job;          /* the job that may be able to go on now, or -1 */
	uint64_t ordinal; /* RESEND: of the sum */
	bool leaves;      /* a broken job's LEAVE passes by its queue, or a flow is put out */
	unsigned port;    /* of the flow that leaves */
};

/*
 * `judge` is that of `port` in the array of all ports' judges. `queues`: job_count open ones.
 * False: no memory.
 */
bool judge_open(struct judge *judge, unsigned port, unsigned job_count, struct queue *queues,
                struct jobs *jobs, struct ina_counters *counters);
void judge_close(struct judge *judge);

/*
 * Decides, and does what concerns the flow, its queue and its job. What was lost and comes again is
 * made to ask for an ACK: packet->header changes, the frame does not.
 */
struct judgement judge_packet(struct judge *judge, struct packet *packet);

/* As aggregator_tick(), aggregator_patience(). */
void judge_tick(struct judge *judge);
void judge_patience(struct judge *judge);

/* The flow of a job has left. What waits in its queue is forgotten with it. */
void judge_forget(struct judge *judge, unsigned job);

#endif
