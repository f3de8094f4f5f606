/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame as the aggregator sees it: the fields of Ethernet, IPv4 or IPv6, UDP and BTH that the
 * decisions depend on. rtl/ina_parse.sv finds the same fields.
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
	PACKET_QUAD_BYTES = 16,      /* the payload of a candidate is a multiple of this */
	PACKET_BEAT_BYTES = 64,      /* one clock of a port */
	PACKET_PAYLOAD_BYTES = 4096, /* the largest payload: RoCE MTU 4096 */
	PACKET_FRAME_BYTES = PACKET_HEADER_BYTES_MAX + PACKET_PAYLOAD_BYTES + PACKET_ICRC_BYTES,
	PACKET_LANES = PACKET_PAYLOAD_BYTES / 4,
};

#define PACKET_PSN_MASK 0xFFFFFFu
#define PACKET_BTH_ACK  0x80u /* AckReq */

/* The payload of a packet, as bytes or as lanes of 32 bits. */
union payload {
	uint8_t bytes[PACKET_PAYLOAD_BYTES];
	uint32_t words[PACKET_LANES];
	float floats[PACKET_LANES];
};

/* The headers of a frame as they came, and the positions of their parts in bytes. */
struct packet_header {
	uint8_t bytes[PACKET_HEADER_BYTES_MAX];
	bool is_ipv6;
	bool has_vlan;
	uint8_t ip_at;
	uint8_t udp_at;
	uint8_t bth_at;
	uint8_t length_bytes; /* 54, 58, 74 or 78: position of the payload */
};

/*
 * The key that identifies a flow on its port. The addresses are as in the frame; an IPv4 address
 * is in the first 4 bytes.
 */
struct packet_key {
	bool has_vlan;
	bool is_ipv6;
	uint16_t vlan_id;
	uint16_t source_port; /* UDP source port */
	uint8_t source_ip[16];
	uint8_t destination_ip[16];
	uint32_t destination_qpn;
};

struct packet {
	const uint8_t *frame; /* the caller's; valid as long as the caller keeps it */
	size_t length_bytes;
	struct packet_header header; /* of the frame; zeros after the end of a short one */
	const uint8_t *payload;      /* position in `frame`; valid for a candidate */

	/*
	 * A request of a reliable connection over RoCEv2 with the DSCP of aggregation traffic.
	 * Only such a packet can belong to a flow, and only then are the fields of the flow below
	 * valid.
	 */
	bool marked_request;
	/* Has the form of a contribution: SEND, 16 to 4096 bytes in multiples of 16, no pad. */
	bool candidate;
	/* A candidate whose frame is shorter than its headers say. */
	bool wrong_length;
	/*
	 * A candidate whose frame is longer: bytes that are not part of the packet follow the
	 * iCRC.
	 */
	bool trailed;

	uint8_t opcode;
	struct packet_key key;
	uint32_t psn;
	unsigned payload_bytes; /* as the headers say; valid for a candidate */
};

/*
 * Fills `packet` from a frame of `length_bytes`, which may hold any bytes. Keeps a pointer to it.
 */
void packet_parse(struct packet *packet, const uint8_t *frame, size_t length_bytes);

/* Returns the tag control information: priority, DEI, VLAN id. 0 without a tag. */
uint16_t packet_tag(const struct packet_header *header);

bool packet_keys_are_equal(const struct packet_key *a, const struct packet_key *b);

/* Return whether this opcode starts a message (First or Only), or ends it (Last or Only). */
bool packet_opcode_starts(uint8_t opcode);
bool packet_opcode_ends(uint8_t opcode);

/* Returns whether a candidate is at least as long as docs/protocol.md requires for its opcode. */
bool packet_is_well_formed(const struct packet *packet);

/* Returns whether a marked request is a SEND of any form. */
bool packet_is_send(const struct packet *packet);

/* Returns the packet's partition key. */
uint16_t packet_pkey(const struct packet_header *header);

/* The AckReq bit: returns whether the sender asks for an acknowledgement, or makes it ask. */
bool packet_asks_for_ack(const struct packet_header *header);
void packet_ask_for_ack(struct packet_header *header);

#endif
