/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a packet, as a sequence of short functions, each of which excludes one case. */
#include "packet.h"

#include <string.h>

#include "wire/ina_wire.h"

enum {
	IPV4_FRAGMENT_MASK = 0x3FFF, /* the flag "more fragments", and the offset */
	/* Bytes of a UDP length besides the payload: UDP header, BTH, iCRC. */
	UDP_LENGTH_BEYOND_PAYLOAD = PACKET_UDP_BYTES + PACKET_BTH_BYTES + PACKET_ICRC_BYTES,
};

static uint32_t be24(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
}

static uint16_t ethertype(const struct packet_header *header)
{
	return packet_be16(header->bytes + header->ip_at - 2);
}

/*
 * Locates the headers of one of the four forms. Any other frame is treated as IPv4 here and
 * excluded later.
 */
static void lay_out(struct packet_header *header)
{
	header->has_vlan =
	        packet_be16(header->bytes + PACKET_ETHERTYPE_AT) == PACKET_ETHERTYPE_VLAN;
	header->ip_at = PACKET_ETHERNET_BYTES + (header->has_vlan ? PACKET_VLAN_BYTES : 0);
	header->is_ipv6 = ethertype(header) == PACKET_ETHERTYPE_IPV6;
	header->udp_at = header->ip_at + (header->is_ipv6 ? PACKET_IPV6_BYTES : PACKET_IPV4_BYTES);
	header->bth_at = header->udp_at + PACKET_UDP_BYTES;
	header->length_bytes = header->bth_at + PACKET_BTH_BYTES;
}

/* Returns whether the frame is no fragment and UDP follows the IP header directly. */
static bool is_udp(const struct packet_header *header)
{
	const uint8_t *ip = header->bytes + header->ip_at;

	if (header->is_ipv6)
		return ip[0] >> 4 == 6 && ip[PACKET_IPV6_NEXT_AT] == PACKET_PROTOCOL_UDP;
	return ethertype(header) == PACKET_ETHERTYPE_IPV4 && ip[0] == PACKET_IPV4_WITHOUT_OPTIONS &&
	       (packet_be16(ip + PACKET_IPV4_FRAGMENT_AT) & IPV4_FRAGMENT_MASK) == 0 &&
	       ip[PACKET_IPV4_PROTOCOL_AT] == PACKET_PROTOCOL_UDP;
}

static bool is_roce(const struct packet_header *header)
{
	return packet_be16(header->bytes + header->udp_at + PACKET_UDP_DPORT_AT) ==
	       INA_WIRE_UDP_PORT;
}

/*
 * Requests have PSNs of the sender's own sequence; responses repeat those of the other direction.
 */
static bool is_rc_request(uint8_t opcode)
{
	if (opcode & PACKET_SERVICE_MASK)
		return false;
	return opcode < PACKET_READ_RESPONSE_FIRST || opcode > PACKET_ATOMIC_ACK;
}

/* Returns whether the frame has the DSCP of aggregation traffic. */
static bool is_marked(const struct packet_header *header)
{
	const uint8_t *ip = header->bytes + header->ip_at;
	/* IPv6's traffic class is spread over two bytes, after the version. */
	unsigned traffic_class =
	        header->is_ipv6 ? packet_be16(ip) >> 4 & 0xFF : ip[PACKET_IPV4_TOS_AT];

	return traffic_class >> PACKET_ECN_BITS == INA_WIRE_TRAFFIC_CLASS >> PACKET_ECN_BITS;
}

static bool is_padded(const struct packet_header *header)
{
	return header->bytes[header->bth_at + PACKET_BTH_PAD_AT] & PACKET_BTH_PAD_MASK;
}

static bool can_be_joined(uint8_t opcode)
{
	return opcode == PACKET_SEND_FIRST || opcode == PACKET_SEND_MIDDLE ||
	       opcode == PACKET_SEND_LAST || opcode == PACKET_SEND_ONLY;
}

/*
 * Returns the length of the payload that the headers announce, or 0 if they contradict each other
 * or exceed our limits.
 */
static unsigned announced_payload_bytes(const struct packet_header *header)
{
	const uint8_t *ip = header->bytes + header->ip_at;
	unsigned udp_length = packet_be16(header->bytes + header->udp_at + PACKET_UDP_LENGTH_AT);
	/* IPv4's length includes the IP header, IPv6's does not. */
	bool agree = header->is_ipv6 ? packet_be16(ip + PACKET_IPV6_LENGTH_AT) == udp_length
	                             : packet_be16(ip + PACKET_IPV4_LENGTH_AT) ==
	                                       udp_length + PACKET_IPV4_BYTES;

	if (!agree || udp_length < UDP_LENGTH_BEYOND_PAYLOAD)
		return 0;
	unsigned payload = udp_length - UDP_LENGTH_BEYOND_PAYLOAD;
	if (payload > PACKET_PAYLOAD_BYTES || payload % PACKET_QUAD_BYTES)
		return 0;
	return payload;
}

uint16_t packet_tag(const struct packet_header *header)
{
	return header->has_vlan ? packet_be16(header->bytes + PACKET_ETHERNET_BYTES) : 0;
}

static void read_key(struct packet_key *key, const struct packet_header *header)
{
	const uint8_t *ip = header->bytes + header->ip_at;
	unsigned source_at = header->is_ipv6 ? PACKET_IPV6_SOURCE_AT : PACKET_IPV4_SOURCE_AT;
	size_t address_bytes = header->is_ipv6 ? 16 : 4;

	memset(key, 0, sizeof(*key));
	key->is_ipv6 = header->is_ipv6;
	key->has_vlan = header->has_vlan;
	key->vlan_id = packet_tag(header) & PACKET_VLAN_ID_MASK;
	key->source_port = packet_be16(header->bytes + header->udp_at + PACKET_UDP_SPORT_AT);
	memcpy(key->source_ip, ip + source_at, address_bytes);
	memcpy(key->destination_ip, ip + source_at + address_bytes, address_bytes);
	key->destination_qpn = be24(header->bytes + header->bth_at + PACKET_BTH_QPN_AT);
}

void packet_parse(struct packet *packet, const uint8_t *frame, size_t length_bytes)
{
	struct packet_header *header = &packet->header;

	packet->frame = frame;
	packet->length_bytes = length_bytes;
	if (length_bytes < sizeof(header->bytes)) {
		memset(header->bytes, 0, sizeof(header->bytes));
		memcpy(header->bytes, frame, length_bytes);
	} else {
		memcpy(header->bytes, frame, sizeof(header->bytes));
	}
	lay_out(header);

	packet->opcode = header->bytes[header->bth_at];
	packet->psn = be24(header->bytes + header->bth_at + PACKET_BTH_PSN_AT);
	packet->payload_bytes = announced_payload_bytes(header);
	read_key(&packet->key, header);

	packet->marked_request = length_bytes >= header->length_bytes && is_udp(header) &&
	                         is_roce(header) && is_rc_request(packet->opcode) &&
	                         is_marked(header);
	/* One beat cannot hold a payload: in the RTL a candidate has at least two. */
	packet->candidate = packet->marked_request && can_be_joined(packet->opcode) &&
	                    !is_padded(header) && packet->payload_bytes > 0 &&
	                    length_bytes > PACKET_BEAT_BYTES;
	packet->payload = packet->candidate ? frame + header->length_bytes : NULL;
	size_t packet_bytes = header->length_bytes + packet->payload_bytes + PACKET_ICRC_BYTES;
	packet->wrong_length = length_bytes < packet_bytes;
	packet->trailed = length_bytes > packet_bytes;
}

bool packet_keys_are_equal(const struct packet_key *a, const struct packet_key *b)
{
	return a->has_vlan == b->has_vlan && a->is_ipv6 == b->is_ipv6 && a->vlan_id == b->vlan_id &&
	       a->source_port == b->source_port && a->destination_qpn == b->destination_qpn &&
	       memcmp(a->source_ip, b->source_ip, sizeof(a->source_ip)) == 0 &&
	       memcmp(a->destination_ip, b->destination_ip, sizeof(a->destination_ip)) == 0;
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

bool packet_is_send(const struct packet *packet)
{
	return packet->opcode <= PACKET_SEND_ONLY_IMMEDIATE;
}

uint16_t packet_pkey(const struct packet_header *header)
{
	return packet_be16(header->bytes + header->bth_at + PACKET_BTH_PKEY_AT);
}

bool packet_asks_for_ack(const struct packet_header *header)
{
	return header->bytes[header->bth_at + PACKET_BTH_ACK_AT] & PACKET_BTH_ACK;
}

void packet_ask_for_ack(struct packet_header *header)
{
	header->bytes[header->bth_at + PACKET_BTH_ACK_AT] |= PACKET_BTH_ACK;
}
