/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes RoCEv2 frames for tests, byte by byte, following the standards and docs/protocol.md. It
 * uses nothing from the model.
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

/* The offsets of the headers and of the payload of such a frame. */
unsigned frame_ip_at(struct frame_form form);
unsigned frame_udp_at(struct frame_form form);
unsigned frame_bth_at(struct frame_form form);
unsigned frame_payload_at(struct frame_form form);

struct frame {
	size_t length;
	uint8_t bytes[FRAME_BYTES_MAX];
};

/* A SEND packet of rank `rank`, addressed to its successor among `rank_count` ranks. */
struct frame_spec {
	unsigned rank;
	unsigned rank_count;
	uint32_t destination_qpn;
	uint32_t psn;
	uint8_t opcode;
	uint8_t tos;            /* with IPv6 the traffic class */
	struct frame_form form; /* zeros: IPv4 without a VLAN tag */
	uint16_t vlan;          /* tag control information, if there is a tag */
	uint32_t flow_label;    /* IPv6 only */
	const void *payload;
	size_t payload_bytes;
};

/* Ethernet, IP, UDP, BTH, payload, iCRC, as rdma_rxe would send them. */
void frame_make(struct frame *frame, const struct frame_spec *spec);

/* The iCRC of a frame of any length, after IBTA annex A17, by zlib. */
uint32_t frame_icrc(const struct frame *frame);

/* Writes that iCRC to the frame's end and, with IPv4, the correct checksum to its IP header. */
void frame_seal(struct frame *frame);

/* Sets AckReq (BTH, byte 8, bit 7), and updates the iCRC. */
void frame_ask_for_ack(struct frame *frame);

/* The one's complement sum over the IPv4 header: 0xFFFF if its checksum is correct. */
uint16_t frame_ip_sum(const struct frame *frame);

/* A copy with ones in all bits that may change on the way (IBTA annex A17.3.3). */
struct frame frame_with_ones(const struct frame *frame);

/* The form according to the EtherTypes. */
struct frame_form frame_form_of(const struct frame *frame);

/* A whole message in one buffer: header, elements, padding, trailer. Returns its bytes. */
size_t message_make(uint8_t *message, const struct ina_wire_header *header, const void *elements,
                    uint32_t rank);

#endif
