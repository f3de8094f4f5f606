/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame as the aggregator sees it: the fields of Ethernet, IPv4 or IPv6, UDP and BTH
 * that decide what becomes of it. rtl/ina_parse.sv finds the same.
 */
#ifndef INA_MODEL_PACKET_H
#define INA_MODEL_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/headers.h"

enum {
	PACKET_HEADER_BYTES_MAX = 78, /* Ethernet 14, VLAN tag 4, IPv6 40, UDP 8, BTH 12 */
	PACKET_ICRC_BYTES = 4,
	PACKET_QUAD_BYTES = 16,      /* every payload is a multiple of this */
	PACKET_BEAT_BYTES = 64,      /* one clock of a pipeline */
	PACKET_PAYLOAD_BYTES = 4096, /* the largest: RoCE MTU 4096 */
	PACKET_FRAME_BYTES = PACKET_HEADER_BYTES_MAX + PACKET_PAYLOAD_BYTES + PACKET_ICRC_BYTES,
	PACKET_LANES = PACKET_PAYLOAD_BYTES / 4,
};

#define PACKET_PSN_MASK 0xFFFFFFu
#define PACKET_BTH_ACK  0x80u /* AckReq */

/* The payload of a packet, by lanes of 32 bits. */
union payload {
	uint8_t bytes[PACKET_PAYLOAD_BYTES];
	uint32_t words[PACKET_LANES];
	float floats[PACKET_LANES];
};

/* A frame's headers as they came, and where the parts lie. */
struct packet_header {
	uint8_t bytes[PACKET_HEADER_BYTES_MAX];
	bool is_ipv6;
	bool has_vlan;
	uint8_t ip_at;
	uint8_t udp_at;
	uint8_t bth_at;
	uint8_t length_bytes; /* 54, 58, 74 or 78: the payload begins here */
};

/* What tells one flow of a port from another. Addresses as in the frame; IPv4's 4 bytes first. */
struct packet_key {
	bool has_vlan;
	bool is_ipv6;
	uint16_t vlan_id;
	uint16_t source_port; /* of UDP */
	uint8_t source_ip[16];
	uint8_t destination_ip[16];
	uint32_t destination_qpn;
};

struct packet {
	const uint8_t *frame; /* the caller's */
	size_t length_bytes;
	struct packet_header header; /* of the frame, zeros behind the end of a short one */
	const uint8_t *payload;      /* of a candidate: in the frame */

	/*
	 * A request of a reliable connection over RoCEv2 with the DSCP of aggregation traffic: only
	 * such a packet can belong to a flow, and the flow fields below mean something.
	 */
	bool marked_request;
	/* Of a form that can be joined: SEND, 16 to 4096 bytes in multiples of 16, no pad. */
	bool candidate;
	/* A candidate whose frame is shorter than its headers say. */
	bool wrong_length;
	/* ... or longer: bytes follow the iCRC, and are not the packet's. */
	bool trailed;

	uint8_t opcode;
	struct packet_key key;
	uint32_t psn;
	unsigned payload_bytes; /* of a candidate, as the headers say */
};

/* Fills `packet` from a frame of `length_bytes`; keeps a pointer to it. Any bytes will do. */
void packet_parse(struct packet *packet, const uint8_t *frame, size_t length_bytes);

/* Tag control information: priority, DEI, VLAN id. No tag is zeros. */
uint16_t packet_tag(const struct packet_header *header);

bool packet_keys_are_equal(const struct packet_key *a, const struct packet_key *b);

/* Is this opcode the start of a message (First or Only), or its end (Last or Only)? */
bool packet_opcode_starts(uint8_t opcode);
bool packet_opcode_ends(uint8_t opcode);

/* Long enough for what docs/protocol.md puts into a packet of its opcode. For candidates. */
bool packet_is_well_formed(const struct packet *packet);

/* Of a marked request: a SEND of any form. */
bool packet_is_send(const struct packet *packet);

/* Its partition. */
uint16_t packet_pkey(const struct packet_header *header);

/* Does its sender ask its receiver for an acknowledgement? Let it. */
bool packet_asks_for_ack(const struct packet_header *header);
void packet_ask_for_ack(struct packet_header *header);

#endif
