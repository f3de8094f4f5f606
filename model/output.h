/* SPDX-License-Identifier: Apache-2.0 */
/* Packets that leave with a payload that the aggregator has made. */
#ifndef INA_MODEL_OUTPUT_H
#define INA_MODEL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet.h"

/* The same type as aggregator_emit. */
typedef void output_emit(void *context, unsigned port, const uint8_t *frame, size_t length);

struct output {
	output_emit *emit;
	void *context;
	uint8_t frame[PACKET_FRAME_BYTES]; /* the frame that is being sent */
	unsigned payload_bytes;
	uint32_t payload_crc;
};

/* Returns the buffer of the next payload. The payload stays there after it has been sent. */
uint8_t *output_payload(struct output *output);

/* Call this when the payload is complete, before it is sent with any headers. */
void output_seal(struct output *output, unsigned payload_bytes);

/* Makes a copy of `payload` the next payload. */
void output_copy(struct output *output, const uint8_t *payload, unsigned payload_bytes);

/* Sends that payload after `header` on `port`. `mark` sets congestion experienced. */
void output_send(struct output *output, unsigned port, const struct packet_header *header,
                 bool mark);

/* Sends a probe in place of a packet: zeros, under a PSN that no receiver accepts. */
void output_probe(struct output *output, unsigned port, const struct packet *packet);

#endif
