/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: cuts a collective into messages, frames them, and checks messages that arrive. */
#ifndef INA_RDMA_MESSAGE_H
#define INA_RDMA_MESSAGE_H

#include <infiniband/verbs.h>

#include "memory.h"

#define INA_MESSAGE_FRAMING (sizeof(struct ina_wire_header) + sizeof(struct ina_wire_trailer))

/* Entries for the header, the elements, and the padding with the trailer. */
#define INA_MESSAGE_SGES 3

/* The header fields that all messages of a communicator or of a collective have in common. */
struct ina_message_context {
	uint64_t job_id;
	uint16_t rank_count;
	uint32_t rank;
	uint8_t type; /* enum ina_wire_type */
	uint8_t number_type;
	uint8_t operation;
	int32_t exponent;
};

/* The payload on the wire, in bytes, of a message with element_bytes bytes of elements. */
static inline uint32_t ina_message_bytes(uint32_t element_bytes)
{
	return (uint32_t)INA_MESSAGE_FRAMING + element_bytes + ina_wire_padding(element_bytes);
}

/*
 * The number of messages that carry total_bytes if each has at most `limit_bytes` of elements; at
 * least 1.
 */
static inline uint64_t ina_message_count(uint64_t total_bytes, uint32_t limit_bytes)
{
	return total_bytes == 0 ? 1 : (total_bytes + limit_bytes - 1) / limit_bytes;
}

/* The bytes of elements in message `index` (from 0) of that sequence. */
static inline uint32_t ina_message_length(uint64_t total_bytes, uint32_t limit_bytes,
                                          uint64_t index)
{
	uint64_t left = total_bytes - index * limit_bytes;

	return left < limit_bytes ? (uint32_t)left : limit_bytes;
}

struct ina_wire_header ina_message_header(const struct ina_message_context *context,
                                          uint32_t number, uint32_t length_bytes,
                                          uint32_t remaining_bytes);

/* Fills in a slot for sending, as the contribution of one rank. */
void ina_message_frame(struct ina_slot *slot, const struct ina_message_context *context,
                       uint32_t number, uint32_t length_bytes, uint32_t remaining_bytes,
                       uint32_t flags);

/*
 * Makes the scatter/gather list of a message: the framing in the slot, and the elements in other
 * memory. If length_bytes is 0, elements and elements_lkey are ignored. Returns the number of
 * entries.
 */
int ina_message_sges(struct ibv_sge sges[INA_MESSAGE_SGES], const struct ina_slot *slot,
                     uint32_t slot_lkey, const void *elements, uint32_t elements_lkey,
                     uint32_t length_bytes);

enum ina_message_match {
	INA_MESSAGE_GOOD,
	/* the header or the length differs from the values that all ranks must agree on */
	INA_MESSAGE_FOREIGN,
	/* contributors, rank or trailer number differ from the expected ones: it is no sum */
	INA_MESSAGE_RAW,
};

/* Compares a received message of byte_len bytes with the expected header and trailer. */
enum ina_message_match ina_message_check(const struct ina_slot *slot, uint32_t byte_len,
                                         const struct ina_wire_header *expected,
                                         uint32_t contributors, uint32_t rank);

#endif
