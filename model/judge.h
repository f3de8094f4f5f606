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

/* A connection that enters by this port. Its index in the table is that of its job. */
struct flow {
	bool valid;
	struct packet_key key;
	unsigned rank; /* as its JOIN says */
	uint32_t next_psn;
	bool recovers;     /* after a gap no packet that asks for an ACK has been taken yet */
	unsigned suspects; /* since the flow's last packet; counts up to the number that decides */
	unsigned fresh;    /* calls of judge_patience() until the flow is silent */
	bool contested;    /* in this silence, packets at other ports broke the job */
};

struct judge {
	unsigned port;
	unsigned job_count;
	unsigned quiet;       /* remaining ticks of the quiet time after the reset */
	struct flow *flows;   /* job_count flows */
	struct queue *queues; /* job_count queues of this port */
	struct jobs *jobs;    /* shared by all ports */
	struct ina_counters *counters;
};

enum verdict {
	VERDICT_PASS,    /* the frame is sent on unchanged */
	VERDICT_DISCARD, /* the frame is dropped */
	VERDICT_TAKE,    /* the packet is in the queue, ready for the join */
	VERDICT_RESEND,  /* the packet is sent on with a sum from the history as payload */
	VERDICT_PROBE,   /* a probe is sent in its place (docs/protocol.md, PSNs) */
};

struct judgement {
	enum verdict verdict;
	int job;          /* job that may have packets to send now, or -1 */
	uint64_t ordinal; /* RESEND: number of the sum */
	bool leaves;      /* a broken job's LEAVE passes by its queue, or a flow is evicted */
	unsigned port;    /* of the flow that leaves; valid if `leaves` */
};

/*
 * `judge` must be entry `port` in the array of all ports' judges. `queues` are job_count queues,
 * whose slots are set. False: out of memory.
 */
bool judge_open(struct judge *judge, unsigned port, unsigned job_count, struct queue *queues,
                struct jobs *jobs, struct ina_counters *counters);
void judge_close(struct judge *judge);

/*
 * Decides, and updates the flow, its queue and its job. If the packet is a retransmission after a
 * loss, it is made to ask for an ACK: packet->header changes, the frame does not.
 */
struct judgement judge_packet(struct judge *judge, struct packet *packet);

/* See aggregator_tick() and aggregator_patience(). */
void judge_tick(struct judge *judge);
void judge_patience(struct judge *judge);

/* The job's flow has left: it is forgotten, with the packets in its queue. */
void judge_forget(struct judge *judge, unsigned job);

#endif
