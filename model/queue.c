/* SPDX-License-Identifier: Apache-2.0 */
/* A ring buffer whose indices never wrap: the fill is their difference. */
#include "queue.h"

#include <assert.h>
#include <string.h>

#include "wire/ina_wire.h"

void queue_begin(struct queue *queue, struct memory_block block)
{
	queue->block = block;
	queue_clear(queue);
}

void queue_clear(struct queue *queue)
{
	queue->head = 0;
	queue->tail = 0;
}

uint32_t queue_fill(const struct queue *queue)
{
	return (uint32_t)(queue->tail - queue->head);
}

void queue_push(struct queue *queue, const struct packet *packet)
{
	assert(queue_fill(queue) < queue->block.packets);
	struct queue_slot *slot = &queue->slots[memory_slot(queue->block, queue->tail)];

	slot->header = packet->header;
	slot->opcode = packet->opcode;
	slot->payload_bytes = packet->payload_bytes;
	memcpy(slot->payload.bytes, packet->payload, packet->payload_bytes);
	queue->tail++;
}

const struct queue_slot *queue_at(const struct queue *queue, uint64_t ordinal)
{
	assert(ordinal >= queue->head && ordinal < queue->tail);
	return &queue->slots[memory_slot(queue->block, ordinal)];
}

void queue_pop(struct queue *queue)
{
	assert(queue_fill(queue) > 0);
	queue->head++;
}

bool queue_slot_is_control(const struct queue_slot *slot, uint8_t type)
{
	struct ina_wire_header header;

	if (slot->opcode != PACKET_SEND_ONLY ||
	    slot->payload_bytes != sizeof(struct ina_wire_header) + sizeof(struct ina_wire_trailer))
		return false;
	memcpy(&header, slot->payload.bytes, sizeof(header));
	return header.magic == INA_WIRE_MAGIC && header.version == INA_WIRE_VERSION &&
	       header.type == type;
}
