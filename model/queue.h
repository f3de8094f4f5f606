/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one rank of one job has sent and the join has not yet used: packets in
 * PSN order, in a ring of slots.
 */
#ifndef INA_MODEL_QUEUE_H
#define INA_MODEL_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

struct queue_slot {
	struct packet_header header;
	uint8_t opcode;
	unsigned payload_bytes;
	union payload payload;
};

struct queue {
	struct queue_slot *slots;
	unsigned slot_count;
	uint64_t head; /* counts for ever: the slot is its remainder by slot_count */
	uint64_t tail; /* likewise */
	uint32_t raw;  /* packets that have left raw, since the job broke */
	uint32_t sums; /* packets that left as sums before, and are still in the history */
};

/* Allocates the slots, one at least. False: no memory. */
bool queue_open(struct queue *queue, unsigned slot_count);
void queue_close(struct queue *queue);

/* Empties it for a new flow. */
void queue_clear(struct queue *queue);

uint32_t queue_fill(const struct queue *queue);

/* Copies a candidate to the tail. There must be room. */
void queue_push(struct queue *queue, const struct packet *packet);

/* The oldest packet; the queue must not be empty. It stays in place until the pop. */
const struct queue_slot *queue_front(const struct queue *queue);
void queue_pop(struct queue *queue, bool raw);

/* A message of `type` (JOIN or LEAVE): one packet, a header and a trailer. */
bool queue_slot_is_control(const struct queue_slot *slot, uint8_t type);

#endif
