/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: cutting a collective into them, framing them, and checking what came. */
#ifndef INA_RDMA_MESSAGE_H
#define INA_RDMA_MESSAGE_H

#include <infiniband/verbs.h>

#include "memory.h"

#define INA_MESSAGE_FRAMING (sizeof(struct ina_wire_header) + sizeof(struct ina_wire_trailer))

/* Header, elements, padding and trailer. */
#define INA_MESSAGE_SGES 3

/* What all messages of a communicator, or of a collective, have in common. */
struct ina_message_context {
	uint64_t job_id;
	uint16_t rank_count;
	uint32_t rank;
	uint8_t type; /* enum ina_wire_type */
	uint8_t number_type;
	uint8_t operation;
	int32_t exponent;
};

/* Bytes on the wire, of payload, of a message with that many bytes of elements. */
static inline uint32_t ina_message_bytes(uint32_t element_bytes)
{
	return (uint32_t)INA_MESSAGE_FRAMING + element_bytes + ina_wire_padding(element_bytes);
}

/* Messages of at most `limit_bytes` of elements that carry total_bytes: 1 at least. */
static inline uint64_t ina_message_count(uint64_t total_bytes, uint32_t limit_bytes)
{
	return total_bytes == 0 ? 1 : (total_bytes + limit_bytes - 1) / limit_bytes;
}

/* Bytes of elements of message `index` (from 0) of such a sequence. */
static inline uint32_t ina_message_length(uint64_t total_bytes, uint32_t limit_bytes,
                                          uint64_t index)
{
	uint64_t left = total_bytes - index * limit_bytes;

	return left < limit_bytes ? (uint32_t)left : limit_bytes;
}

struct ina_wire_header ina_message_header(const struct ina_message_context *context,
                                          uint32_t number, uint32_t length_bytes,
                                          uint32_t remaining_bytes);

/* Fills a slot for sending, as one contribution. */
void ina_message_frame(struct ina_slot *slot, const struct ina_message_context *context,
                       uint32_t number, uint32_t length_bytes, uint32_t remaining_bytes,
                       uint32_t flags);

/*
 * The scatter/gather list of a message: slot framing round elements that lie elsewhere
 * (elements and key are ignored where length_bytes is 0). Returns the number of entries.
 */
int ina_message_sges(struct ibv_sge sges[INA_MESSAGE_SGES], const struct ina_slot *slot,
                     uint32_t slot_lkey, const void *elements, uint32_t elements_lkey,
                     uint32_t length_bytes);

enum ina_message_match {
	INA_MESSAGE_GOOD,
	INA_MESSAGE_FOREIGN, /* the header or the length differ from what all ranks agree on */
	INA_MESSAGE_RAW,     /* contributors or rank are not what they should be: no sum */
};

/* Compares a message that came, of byte_len bytes, with what must have come. */
enum ina_message_match ina_message_check(const struct ina_slot *slot, uint32_t byte_len,
                                         const struct ina_wire_header *expected,
                                         uint32_t contributors, uint32_t rank);

#endif
