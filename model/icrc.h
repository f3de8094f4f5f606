/* SPDX-License-Identifier: Apache-2.0 */
/* The invariant CRC of a RoCEv2 packet over IPv4 or IPv6. */
#ifndef INA_MODEL_ICRC_H
#define INA_MODEL_ICRC_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

/*
 * The iCRC of a packet: `header` is its frame header (Ethernet to BTH), `payload`
 * the `payload_bytes` behind the BTH.
 *
 * CRC-32 of Ethernet over eight bytes of ones in place of an InfiniBand LRH, then
 * IP, UDP, BTH and payload, with ones in place of what routers change
 * (IBTA vol. 1, annex A17.3.3). The caller stores the result little-endian.
 */
uint32_t icrc_of_packet(const struct packet_header *header, const uint8_t *payload,
                        unsigned payload_bytes);

/* Has a candidate the length that its headers say, and the iCRC that fits? */
bool icrc_is_right(const struct packet *packet);

#endif
