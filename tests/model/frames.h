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
enum { ROCE_FRAME_BYTES_MAX = 9216, FRAME_HEADER_BYTES = 54 };

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

struct roce_frame {
	size_t length;
	uint8_t bytes[ROCE_FRAME_BYTES_MAX];
};

/* A SEND packet. Host h has the addresses 02:00:00:00:00:<h + 1> and 192.0.2.<h + 1>, or with IPv6
 * 2001:db8:: and eight times the byte h + 1. */
struct frame_spec {
	unsigned source, destination; /* hosts */
	uint32_t destination_qpn;
	uint32_t psn;
	uint8_t opcode;
	bool asks_for_ack;
	uint8_t tos;            /* with IPv6 the traffic class */
	struct frame_form form; /* zeros: IPv4 without a VLAN tag */
	uint16_t vlan;          /* tag control information, if there is a tag */
	uint32_t flow_label;    /* IPv6 only */
	const void *payload;
	size_t payload_bytes;
};

/* Writes Ethernet, IP, UDP, BTH, payload and iCRC as rdma_rxe would send them, and returns their
 * bytes. */
size_t frame_write(uint8_t *bytes, const struct frame_spec *spec);
void frame_make(struct roce_frame *frame, const struct frame_spec *spec);

/* Does the frame end with the iCRC of IBTA annex A17, by zlib? */
bool frame_is_intact(const uint8_t *bytes, size_t length);

/* The one's complement sum over the IPv4 header: 0xFFFF if its checksum is right. */
uint16_t frame_ip_sum(const uint8_t *bytes);

/* Writes the right iCRC to the frame's end and, with IPv4, the right checksum to its IP header. */
void frame_seal(struct roce_frame *frame);

/* Sets AckReq (BTH, byte 8, bit 7), and updates the iCRC. */
void frame_ask_for_ack(struct roce_frame *frame);

/* A number of up to four bytes in network order. */
uint32_t frame_number(const uint8_t *at, unsigned bytes);

/* The form according to the EtherTypes. */
struct frame_form frame_form_of(const uint8_t *bytes);

/* A whole message in one buffer: header, elements, padding, trailer. Returns its bytes. */
size_t message_make(uint8_t *message, const struct ina_wire_header *header, const void *elements,
                    uint32_t rank);

#endif
