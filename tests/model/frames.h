/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes RoCEv2 frames for tests, byte by byte after the standards and
 * docs/protocol.md, with nothing of the model in it.
 */
#ifndef INA_TEST_FRAMES_H
#define INA_TEST_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ina_wire.h"

/* FRAME_HEADER_BYTES: of an IPv4 frame without a VLAN tag. */
enum { FRAME_BYTES_MAX = 9216, FRAME_HEADER_BYTES = 54 };

/* One of the four forms that the aggregator knows. */
struct frame_form {
	bool ipv6;
	bool vlan;
};

extern const struct frame_form frame_forms[4];

/* Where the headers of such a frame begin, and its payload. */
unsigned frame_ip_at(struct frame_form form);
unsigned frame_udp_at(struct frame_form form);
unsigned frame_bth_at(struct frame_form form);
unsigned frame_payload_at(struct frame_form form);

struct frame {
	size_t length;
	uint8_t bytes[FRAME_BYTES_MAX];
};

/* A SEND packet of rank `rank`, whose successor of `rank_count` it is addressed to. */
struct frame_spec {
	unsigned rank;
	unsigned rank_count;
	uint32_t destination_qpn;
	uint32_t psn;
	uint8_t opcode;
	uint8_t tos;            /* or traffic class */
	struct frame_form form; /* zeros: IPv4 without a VLAN tag */
	uint16_t vlan;          /* tag control information, if there is a tag */
	uint32_t flow_label;    /* of IPv6 */
	const void *payload;
	size_t payload_bytes;
};

/* Ethernet, IP, UDP, BTH, payload, iCRC: as rdma_rxe would send it. */
void frame_make(struct frame *frame, const struct frame_spec *spec);

/* The iCRC of a frame of any length, after IBTA annex A17, by zlib. */
uint32_t frame_icrc(const struct frame *frame);

/* Puts that iCRC at its end, and a right IP checksum into its header, if that is IPv4. */
void frame_seal(struct frame *frame);

/* Sets AckReq (BTH, byte 8, bit 7), and the iCRC that is right then. */
void frame_ask_for_ack(struct frame *frame);

/* One's complement sum over the IPv4 header: 0xFFFF where its checksum is right. */
uint16_t frame_ip_sum(const struct frame *frame);

/* A copy whose bits that may change on the way are ones (IBTA annex A17.3.3). */
struct frame frame_with_ones(const struct frame *frame);

/* As its EtherTypes tell. */
struct frame_form frame_form_of(const struct frame *frame);

/* A whole message in one buffer: header, elements, padding, trailer. Returns its bytes. */
size_t message_make(uint8_t *message, const struct ina_wire_header *header, const void *elements,
                    uint32_t rank);

#endif
