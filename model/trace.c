/* SPDX-License-Identifier: Apache-2.0 */
/* There is no state: a TRACE that the host retransmits is filled again. */
#include "trace.h"

#include <stddef.h>
#include <string.h>

#include "icrc.h"

enum {
	TRACE_BYTES = sizeof(struct ina_wire_header) +
	              INA_WIRE_LEVELS * sizeof(struct ina_wire_trace_slot) +
	              sizeof(struct ina_wire_trailer),
};

static size_t slot_at(unsigned level)
{
	return sizeof(struct ina_wire_header) + (level - 1) * sizeof(struct ina_wire_trace_slot);
}

bool trace_has_room(const struct packet *packet, unsigned level)
{
	static const struct ina_wire_trace_slot empty;
	struct ina_wire_header header;

	if (!packet->candidate || packet->trailed || packet->opcode != PACKET_SEND_ONLY ||
	    packet->payload_bytes != TRACE_BYTES || !icrc_is_right(packet))
		return false;
	memcpy(&header, packet->payload, sizeof(header));
	return header.magic == INA_WIRE_MAGIC && header.version == INA_WIRE_VERSION &&
	       header.type == INA_WIRE_TRACE &&
	       memcmp(packet->payload + slot_at(level), &empty, sizeof(empty)) == 0;
}

void trace_fill(uint8_t *payload, const struct packet *packet, unsigned level,
                const struct ina_wire_trace_slot *slot)
{
	memcpy(payload, packet->payload, packet->payload_bytes);
	memcpy(payload + slot_at(level), slot, sizeof(*slot));
}
