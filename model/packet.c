/* SPDX-License-Identifier: Apache-2.0 */
/* A packet's checks, as a sequence of short functions, each of which rules out one thing. */
#include "packet.h"

#include <string.h>

#include "ina_wire.h"

enum {
	ETHERTYPE_IPV4 = 0x0800,
	IPV4_WITHOUT_OPTIONS = 0x45,
	IP_PROTOCOL_UDP = 17,
	IP_FRAGMENT_MASK = 0x3FFF, /* more fragments, offset */
	IP_HEADER_BYTES = 20,
	/* In a UDP length: UDP header, BTH, iCRC. */
	UDP_LENGTH_BEYOND_PAYLOAD = 8 + 12 + PACKET_ICRC_BYTES,
	OPCODE_SERVICE_MASK = 0xE0, /* 0: reliable connection */
};

uint16_t packet_be16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static uint32_t be24(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
}

static bool is_whole_ipv4(const uint8_t *header)
{
	return packet_be16(header + PACKET_ETHERTYPE_AT) == ETHERTYPE_IPV4 &&
	       header[PACKET_IP_AT] == IPV4_WITHOUT_OPTIONS &&
	       (packet_be16(header + PACKET_IP_FRAGMENT_AT) & IP_FRAGMENT_MASK) == 0;
}

static bool is_roce(const uint8_t *header)
{
	return header[PACKET_IP_PROTOCOL_AT] == IP_PROTOCOL_UDP &&
	       packet_be16(header + PACKET_UDP_DPORT_AT) == INA_WIRE_UDP_PORT;
}

/* Requests have PSNs of the sender's numbering; answers repeat those of the other direction. */
static bool is_rc_request(uint8_t opcode)
{
	if (opcode & OPCODE_SERVICE_MASK)
		return false;
	return opcode < PACKET_READ_RESPONSE_FIRST || opcode > PACKET_ATOMIC_ACK;
}

static bool is_send(uint8_t opcode)
{
	return opcode == PACKET_SEND_FIRST || opcode == PACKET_SEND_MIDDLE ||
	       opcode == PACKET_SEND_LAST || opcode == PACKET_SEND_ONLY;
}

/* The payload that the headers announce, or 0 where they contradict each other or our limits. */
static unsigned announced_payload_bytes(const uint8_t *header)
{
	unsigned ip_length = packet_be16(header + PACKET_IP_LENGTH_AT);
	unsigned udp_length = packet_be16(header + PACKET_UDP_LENGTH_AT);

	if (ip_length != udp_length + IP_HEADER_BYTES || udp_length < UDP_LENGTH_BEYOND_PAYLOAD)
		return 0;
	unsigned payload = udp_length - UDP_LENGTH_BEYOND_PAYLOAD;
	if (payload > PACKET_PAYLOAD_BYTES || payload % PACKET_QUAD_BYTES)
		return 0;
	return payload;
}

void packet_parse(struct packet *packet, const uint8_t *frame, size_t length_bytes)
{
	uint8_t *header = packet->header;

	packet->frame = frame;
	packet->length_bytes = length_bytes;
	if (length_bytes < PACKET_HEADER_BYTES) {
		memset(header, 0, PACKET_HEADER_BYTES);
		memcpy(header, frame, length_bytes);
	} else {
		memcpy(header, frame, PACKET_HEADER_BYTES);
	}

	packet->opcode = header[PACKET_BTH_AT];
	memcpy(&packet->source_ip, header + PACKET_IP_SOURCE_AT, 4);
	memcpy(&packet->destination_ip, header + PACKET_IP_DESTINATION_AT, 4);
	packet->destination_qpn = be24(header + PACKET_BTH_QPN_AT);
	packet->psn = be24(header + PACKET_BTH_PSN_AT);
	packet->payload_bytes = announced_payload_bytes(header);

	packet->roce_request = length_bytes >= PACKET_HEADER_BYTES && is_whole_ipv4(header) &&
	                       is_roce(header) && is_rc_request(packet->opcode);
	/* One beat cannot hold a payload: the pipeline needs a second one to be a candidate. */
	packet->candidate = packet->roce_request && is_send(packet->opcode) &&
	                    packet->payload_bytes > 0 && length_bytes > PACKET_BEAT_BYTES;
	packet->wrong_length =
	        length_bytes != PACKET_HEADER_BYTES + packet->payload_bytes + PACKET_ICRC_BYTES;
}

bool packet_opcode_starts(uint8_t opcode)
{
	return opcode == PACKET_SEND_FIRST || opcode == PACKET_SEND_ONLY;
}

bool packet_opcode_ends(uint8_t opcode)
{
	return opcode == PACKET_SEND_LAST || opcode == PACKET_SEND_ONLY;
}

bool packet_is_well_formed(const struct packet *packet)
{
	unsigned least = sizeof(struct ina_wire_trailer);

	if (packet->opcode == PACKET_SEND_ONLY)
		least = sizeof(struct ina_wire_header) + sizeof(struct ina_wire_trailer);
	else if (packet->opcode == PACKET_SEND_FIRST)
		least = sizeof(struct ina_wire_header);
	return packet->payload_bytes >= least;
}
