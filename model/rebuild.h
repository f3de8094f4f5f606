/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a sum: the header that came in, a payload, and an iCRC that fits both. */
#ifndef INA_MODEL_REBUILD_H
#define INA_MODEL_REBUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

/* Is congestion experienced marked in this frame header? */
bool rebuild_is_marked(const struct packet_header *header);

/* Is it not, and do its ends know ECN? What is not ECN-capable is never marked (RFC 3168, 5). */
bool rebuild_may_be_marked(const struct packet_header *header);

/*
 * Completes the frame round `payload`, which is in place: puts `header` before it
 * (PACKET_HEADER_BYTES_MAX bytes must be free there) and the iCRC behind it. `mark`
 * sets congestion experienced. The frame begins header->length_bytes before `payload`.
 * Returns its length in bytes.
 */
unsigned rebuild_frame(uint8_t *payload, const struct packet_header *header, unsigned payload_bytes,
                       bool mark);

#endif
