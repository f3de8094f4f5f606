/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a sum: the header that came in, a payload, and an iCRC that fits both. */
#ifndef INA_MODEL_REBUILD_H
#define INA_MODEL_REBUILD_H

#include <stdbool.h>
#include <stdint.h>

/* Is congestion experienced marked in this frame header (54 bytes)? */
bool rebuild_is_marked(const uint8_t *header);

/*
 * Completes `frame`, whose payload is in place (PACKET_HEADER_BYTES in): puts
 * `header` before it and the iCRC behind it. `mark` sets congestion experienced.
 * Returns the frame's length in bytes.
 */
unsigned rebuild_frame(uint8_t *frame, const uint8_t *header, unsigned payload_bytes, bool mark);

#endif
