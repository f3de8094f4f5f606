/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the frame of a sum: the header of the packet that it replaces, a payload, and a fresh
 * iCRC.
 */
#ifndef INA_MODEL_REBUILD_H
#define INA_MODEL_REBUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

/* Returns whether this frame header is marked with congestion experienced. */
bool rebuild_is_marked(const struct packet_header *header);

/*
 * Returns whether it is ECN-capable and not marked. A frame that is not ECN-capable is never
 * marked (RFC 3168, 5).
 */
bool rebuild_may_be_marked(const struct packet_header *header);

/*
 * Completes the frame around `payload`. Writes `header` before it (PACKET_HEADER_BYTES_MAX bytes
 * must be free there) and the iCRC after it. `payload_crc` is that of icrc_of_payload(). `mark`
 * sets congestion experienced. The frame begins header->length_bytes before `payload`. Returns the
 * length of the frame in bytes.
 */
unsigned rebuild_frame(uint8_t *payload, const struct packet_header *header, unsigned payload_bytes,
                       uint32_t payload_crc, bool mark);

#endif
