/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one flow of one job has sent and what has not yet gone out: packets in
 * PSN order, in a ring of slots of the port's memory. A packet's ordinal counts the flow's packets,
 * its JOIN is 0.
 */
#ifndef INA_MODEL_QUEUE_H
#define INA_MODEL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "memory.h"
#include "packet.h"

struct queue_slot {
	struct packet_header header;
	uint8_t opcode;
	unsigned payload_bytes;
	union payload payload;
};

struct queue {
	struct queue_slot *slots; /* of the port: the queues of all jobs are in it */
	struct memory_block block;
	uint64_t head; /* ordinal of the oldest */
	uint64_t tail; /* ordinal of the next that comes */
};

/* Empty, for a new flow, in its job's block. */
void queue_begin(struct queue *queue, struct memory_block block);

/* Empties it. */
void queue_clear(struct queue *queue);

uint32_t queue_fill(const struct queue *queue);

/* Copies a candidate to the tail. There must be room. */
void queue_push(struct queue *queue, const struct packet *packet);

/* The packet of an ordinal from head on and before tail. It stays in place until its pop. */
const struct queue_slot *queue_at(const struct queue *queue, uint64_t ordinal);

/* The oldest packet has gone out. */
void queue_pop(struct queue *queue);

/* A message of `type` (JOIN or LEAVE): one packet, a header and a trailer. */
bool queue_slot_is_control(const struct queue_slot *slot, uint8_t type);

#endif
