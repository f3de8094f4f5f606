/* SPDX-License-Identifier: Apache-2.0 */
/* A switch's parser: as little of the headers as its decisions need. */
#include "roce.h"

#include "ina_wire.h"

enum {
	ETHERTYPE_AT = 12,
	IP_AT = 14,
	IP_TOS_AT = 15,
	IP_PROTOCOL_AT = 23,
	UDP_DPORT_AT = 36,
	BTH_OPCODE_AT = 42,
	BTH_END = 54,
	ETHERTYPE_IPV4 = 0x0800,
	IPV4_WITHOUT_OPTIONS = 0x45,
	PROTOCOL_UDP = 17,
	ECN_BITS = 2,
	/* IBTA vol. 1, table 35: three bits of service (0: RC), then the operation. */
	SERVICE_MASK = 0xE0,
	SEND_ONLY_WITH_IMMEDIATE = 0x05,
	READ_RESPONSE_FIRST = 0x0D,
	ATOMIC_ACKNOWLEDGE = 0x12,
};

static unsigned be16(const uint8_t *bytes)
{
	return (unsigned)bytes[0] << 8 | bytes[1];
}

bool roce_is_rc(const struct frame *frame)
{
	const uint8_t *bytes = frame->bytes;

	return frame->length >= BTH_END && be16(bytes + ETHERTYPE_AT) == ETHERTYPE_IPV4 &&
	       bytes[IP_AT] == IPV4_WITHOUT_OPTIONS && bytes[IP_PROTOCOL_AT] == PROTOCOL_UDP &&
	       be16(bytes + UDP_DPORT_AT) == INA_WIRE_UDP_PORT &&
	       (bytes[BTH_OPCODE_AT] & SERVICE_MASK) == 0;
}

bool roce_is_send(const struct frame *frame)
{
	return frame->bytes[BTH_OPCODE_AT] <= SEND_ONLY_WITH_IMMEDIATE;
}

bool roce_is_answer(const struct frame *frame)
{
	uint8_t opcode = frame->bytes[BTH_OPCODE_AT];

	return opcode >= READ_RESPONSE_FIRST && opcode <= ATOMIC_ACKNOWLEDGE;
}

bool roce_is_marked(const struct frame *frame)
{
	return frame->bytes[IP_TOS_AT] >> ECN_BITS == INA_WIRE_TRAFFIC_CLASS >> ECN_BITS;
}
