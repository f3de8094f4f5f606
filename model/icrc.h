/* SPDX-License-Identifier: Apache-2.0 */
/* The invariant CRC of a RoCEv2 packet over IPv4 or IPv6. */
#ifndef INA_MODEL_ICRC_H
#define INA_MODEL_ICRC_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

/* Returns the CRC-32 of a payload alone, which the packets that carry this payload share. */
uint32_t icrc_of_payload(const uint8_t *payload, unsigned payload_bytes);

/*
 * Returns the iCRC of a packet. `header` is its frame header (Ethernet to BTH), `payload_crc` the
 * CRC of the `payload_bytes` after the BTH, a multiple of PACKET_QUAD_BYTES.
 *
 * It is Ethernet's CRC-32 over eight bytes of ones in place of InfiniBand's LRH, then IP, UDP,
 * BTH and payload, with ones in the fields that routers may change (IBTA vol. 1, annex A17.3.3).
 * The caller stores the result little-endian.
 */
uint32_t icrc_of_packet(const struct packet_header *header, uint32_t payload_crc,
                        unsigned payload_bytes);

/* Returns whether a candidate has the length that its headers say, and the right iCRC. */
bool icrc_is_right(const struct packet *packet);

#endif
