/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A frame as the aggregator sees it: the fields of Ethernet, IPv4, UDP and BTH
 * that decide what becomes of it. rtl/ina_parse.sv finds the same.
 */
#ifndef INA_MODEL_PACKET_H
#define INA_MODEL_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PACKET_HEADER_BYTES = 54, /* Ethernet 14, IPv4 20, UDP 8, BTH 12 */
	PACKET_ICRC_BYTES = 4,
	PACKET_QUAD_BYTES = 16,      /* every payload is a multiple of this */
	PACKET_BEAT_BYTES = 64,      /* one clock of a pipeline */
	PACKET_PAYLOAD_BYTES = 4096, /* the largest: RoCE MTU 4096 */
	PACKET_FRAME_BYTES = PACKET_HEADER_BYTES + PACKET_PAYLOAD_BYTES + PACKET_ICRC_BYTES,
	PACKET_LANES = PACKET_PAYLOAD_BYTES / 4,
};

/* Positions in the frame, in bytes. */
enum {
	PACKET_ETHERTYPE_AT = 12,
	PACKET_IP_AT = 14,
	PACKET_IP_TOS_AT = 15,
	PACKET_IP_LENGTH_AT = 16,
	PACKET_IP_FRAGMENT_AT = 20,
	PACKET_IP_TTL_AT = 22,
	PACKET_IP_PROTOCOL_AT = 23,
	PACKET_IP_CHECKSUM_AT = 24,
	PACKET_IP_SOURCE_AT = 26,
	PACKET_IP_DESTINATION_AT = 30,
	PACKET_UDP_AT = 34,
	PACKET_UDP_DPORT_AT = 36,
	PACKET_UDP_LENGTH_AT = 38,
	PACKET_UDP_CHECKSUM_AT = 40,
	PACKET_BTH_AT = 42,
	PACKET_BTH_QPN_AT = 47,
	PACKET_BTH_PSN_AT = 51,
};

/* RC opcodes (IBTA vol. 1, table 35): the four that can carry a contribution, and the answers. */
enum {
	PACKET_SEND_FIRST = 0x00,
	PACKET_SEND_MIDDLE = 0x01,
	PACKET_SEND_LAST = 0x02,
	PACKET_SEND_ONLY = 0x04,
	PACKET_READ_RESPONSE_FIRST = 0x0D,
	PACKET_ACK = 0x11,
	PACKET_ATOMIC_ACK = 0x12,
};

#define PACKET_PSN_MASK 0xFFFFFFu
/* Added to the PSN of a probe: ahead of all that a receiver may expect (docs/protocol.md, PSNs). */
#define PACKET_PROBE_PSN_OFFSET 0x400000u
#define PACKET_ECN_MASK         0x03u
#define PACKET_ECN_CE           0x03u

/* The payload of a packet, by lanes of 32 bits. */
union payload {
	uint8_t bytes[PACKET_PAYLOAD_BYTES];
	uint32_t words[PACKET_LANES];
	float floats[PACKET_LANES];
};

struct packet {
	const uint8_t *frame; /* the caller's */
	size_t length_bytes;
	uint8_t header[PACKET_HEADER_BYTES]; /* of the frame, zeros behind the end of a short one */

	/* A request of a reliable connection over RoCEv2; the flow fields below mean something. */
	bool roce_request;
	/* Of a form that can be joined: SEND, 16 to 4096 bytes in multiples of 16. */
	bool candidate;
	/* A candidate whose frame is not as long as its headers say. */
	bool wrong_length;

	uint8_t opcode;
	uint32_t source_ip;      /* as in the frame, big-endian */
	uint32_t destination_ip; /* likewise */
	uint32_t destination_qpn;
	uint32_t psn;
	unsigned payload_bytes; /* of a candidate, as the headers say */
};

/* Fills `packet` from a frame of `length_bytes`; keeps a pointer to it. Any bytes will do. */
void packet_parse(struct packet *packet, const uint8_t *frame, size_t length_bytes);

/* Is this opcode the start of a message (First or Only), or its end (Last or Only)? */
bool packet_opcode_starts(uint8_t opcode);
bool packet_opcode_ends(uint8_t opcode);

/* Long enough for what docs/protocol.md puts into a packet of its opcode. For candidates. */
bool packet_is_well_formed(const struct packet *packet);

uint16_t packet_be16(const uint8_t *bytes);

#endif
