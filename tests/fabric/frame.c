/* SPDX-License-Identifier: Apache-2.0 */
/* IPv4 frames without a VLAN tag, by tests/model/frames.c. */
#include <stdlib.h>

#include "bed.h"

enum { IP_AT = 14, BTH_AT = 42, ICRC_BYTES = 4 };

static const uint32_t first_host = 0xC0000201; /* 192.0.2.1 */

struct frame *frame_new(struct bed *bed)
{
	struct frame *frame = bed->free_frames;

	if (frame)
		bed->free_frames = frame->next_free;
	else
		frame = malloc(sizeof(*frame));
	if (!frame)
		abort();
	frame->kind = FRAME_DATA;
	frame->forged = false;
	return frame;
}

void frame_free(struct bed *bed, struct frame *frame)
{
	frame->next_free = bed->free_frames;
	bed->free_frames = frame;
}

const uint8_t *frame_payload(const struct frame *frame)
{
	return frame->bytes + FRAME_HEADER_BYTES;
}

unsigned frame_payload_bytes(const struct frame *frame)
{
	return frame->length - FRAME_HEADER_BYTES - ICRC_BYTES;
}

uint8_t frame_opcode(const struct frame *frame)
{
	return frame->bytes[BTH_AT];
}

uint32_t frame_psn(const struct frame *frame)
{
	return frame_number(frame->bytes + BTH_AT + 9, 3);
}

uint32_t frame_qpn(const struct frame *frame)
{
	return frame_number(frame->bytes + BTH_AT + 5, 3);
}

unsigned frame_from(const struct frame *frame)
{
	return frame_number(frame->bytes + IP_AT + 12, 4) - first_host;
}

unsigned frame_to(const struct frame *frame)
{
	return frame_number(frame->bytes + IP_AT + 16, 4) - first_host;
}

bool frame_asks_for_ack(const struct frame *frame)
{
	return frame->bytes[BTH_AT + 8] & 0x80;
}
