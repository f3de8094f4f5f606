/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in the format of docs/protocol.md. */
#include "message.h"

#include <string.h>

struct ina_wire_header ina_message_header(const struct ina_message_context *context,
                                          uint32_t number, uint32_t length_bytes,
                                          uint32_t remaining_bytes)
{
	return (struct ina_wire_header){
	        .magic = INA_WIRE_MAGIC,
	        .version = INA_WIRE_VERSION,
	        .type = context->type,
	        .number_type = context->number_type,
	        .operation = context->operation,
	        .rank_count = context->rank_count,
	        .job_id = context->job_id,
	        .message_number = number,
	        .length_bytes = length_bytes,
	        .remaining_bytes = remaining_bytes,
	        .exponent = context->exponent,
	};
}

void ina_message_frame(struct ina_slot *slot, const struct ina_message_context *context,
                       uint32_t number, uint32_t length_bytes, uint32_t remaining_bytes,
                       uint32_t flags)
{
	slot->header = ina_message_header(context, number, length_bytes, remaining_bytes);
	slot->trailer = (struct ina_wire_trailer){
	        .contributors = 1,
	        .flags = flags,
	        .message_number = number,
	        .rank = context->rank,
	};
}

int ina_message_sges(struct ibv_sge sges[INA_MESSAGE_SGES], const struct ina_slot *slot,
                     uint32_t slot_lkey, const void *elements, uint32_t elements_lkey,
                     uint32_t length_bytes)
{
	uint32_t padding = ina_wire_padding(length_bytes);
	int count = 0;

	sges[count++] = (struct ibv_sge){.addr = (uintptr_t)&slot->header,
	                                 .length = sizeof(slot->header),
	                                 .lkey = slot_lkey};
	if (length_bytes > 0)
		sges[count++] = (struct ibv_sge){
		        .addr = (uintptr_t)elements, .length = length_bytes, .lkey = elements_lkey};
	sges[count++] = (struct ibv_sge){.addr = (uintptr_t)&slot->trailer - padding,
	                                 .length = padding + (uint32_t)sizeof(slot->trailer),
	                                 .lkey = slot_lkey};
	return count;
}

enum ina_message_match ina_message_check(const struct ina_slot *slot, uint32_t byte_len,
                                         const struct ina_wire_header *expected,
                                         uint32_t contributors, uint32_t rank)
{
	if (byte_len != ina_message_bytes(expected->length_bytes) ||
	    memcmp(&slot->header, expected, sizeof(*expected)) != 0)
		return INA_MESSAGE_FOREIGN;
	if (slot->trailer.contributors != contributors || slot->trailer.rank != rank ||
	    slot->trailer.message_number != expected->message_number)
		return INA_MESSAGE_RAW;
	return INA_MESSAGE_GOOD;
}
