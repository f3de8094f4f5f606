/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes RoCEv2 frames for tests, byte by byte after the standards and
 * docs/protocol.md, with nothing of the model in it.
 */
#ifndef INA_TEST_FRAMES_H
#define INA_TEST_FRAMES_H

#include <stddef.h>
#include <stdint.h>

#include "ina_wire.h"

enum { FRAME_BYTES_MAX = 9216, FRAME_HEADER_BYTES = 54 };

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
	uint8_t tos;
	const void *payload;
	size_t payload_bytes;
};

/* Ethernet, IPv4, UDP, BTH, payload, iCRC: as rdma_rxe would send it. */
void frame_make(struct frame *frame, const struct frame_spec *spec);

/* The iCRC of a frame of any length, after IBTA annex A17, by zlib. */
uint32_t frame_icrc(const struct frame *frame);

/* Puts that iCRC at its end, and a right IP checksum into its header. */
void frame_seal(struct frame *frame);

/* One's complement sum over the IPv4 header: 0xFFFF where its checksum is right. */
uint16_t frame_ip_sum(const struct frame *frame);

/* A whole message in one buffer: header, elements, padding, trailer. Returns its bytes. */
size_t message_make(uint8_t *message, const struct ina_wire_header *header, const void *elements,
                    uint32_t rank);

#endif
