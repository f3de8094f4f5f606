/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets of one flow that the aggregator took and that have not left: in PSN order, in a
 * ring buffer of slots in the port's memory. The ordinal of a packet counts the packets of its
 * flow; its JOIN is 0.
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
	struct queue_slot *slots; /* of the port: they hold the queues of all jobs */
	struct memory_block block;
	uint64_t head; /* ordinal of the oldest packet */
	uint64_t tail; /* ordinal of the next packet to come */
};

/* Starts empty, for a new flow, in its job's block. */
void queue_begin(struct queue *queue, struct memory_block block);

/* Removes all packets. */
void queue_clear(struct queue *queue);

uint32_t queue_fill(const struct queue *queue);

/* Copies a candidate to the tail. The queue must have room. */
void queue_push(struct queue *queue, const struct packet *packet);

/* Returns the packet of an ordinal from head to tail - 1. It is valid until it is popped. */
const struct queue_slot *queue_at(const struct queue *queue, uint64_t ordinal);

/* Removes the oldest packet, which has left. */
void queue_pop(struct queue *queue);

/* Returns whether the packet is a message of `type` (JOIN or LEAVE): a header and a trailer. */
bool queue_slot_is_control(const struct queue_slot *slot, uint8_t type);

#endif
