/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing is remembered: a TRACE that comes again is written again. */
#include "trace.h"

#include <stddef.h>
#include <string.h>

#include "icrc.h"

enum {
	TRACE_BYTES = sizeof(struct ina_wire_header) +
	              INA_WIRE_LEVELS * sizeof(struct ina_wire_trace_slot) +
	              sizeof(struct ina_wire_trailer),
};

bool trace_is_one(const struct packet *packet)
{
	struct ina_wire_header header;

	if (!packet->candidate || packet->trailed || packet->opcode != PACKET_SEND_ONLY ||
	    packet->payload_bytes != TRACE_BYTES || !icrc_is_right(packet))
		return false;
	memcpy(&header, packet->payload, sizeof(header));
	return header.magic == INA_WIRE_MAGIC && header.version == INA_WIRE_VERSION &&
	       header.type == INA_WIRE_TRACE;
}

void trace_write(uint8_t *payload, const struct packet *packet, unsigned level,
                 const struct ina_wire_trace_slot *slot)
{
	memcpy(payload, packet->payload, packet->payload_bytes);
	memcpy(payload + sizeof(struct ina_wire_header) + (level - 1) * sizeof(*slot), slot,
	       sizeof(*slot));
}
