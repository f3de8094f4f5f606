/* SPDX-License-Identifier: Apache-2.0 */
/* The queue is not kept: how much of it is left follows from when the wire is free again. */
#include "wire.h"

/* Beside what a capture shows: preamble 8, frame check sequence 4, gap 12 (IEEE 802.3). */
enum { OVERHEAD_BYTES = 24, FRAME_BYTES_LEAST = 60 };

#define PS_PER_S 1000000000000u

static uint64_t duration_ps(const struct wire *wire, unsigned bytes)
{
	unsigned sent = (bytes < FRAME_BYTES_LEAST ? FRAME_BYTES_LEAST : bytes) + OVERHEAD_BYTES;

	return sent * 8u * (uint64_t)PS_PER_S / wire->bits_per_second;
}

uint64_t wire_queued_bytes(const struct wire *wire, uint64_t now_ns)
{
	uint64_t now_ps = now_ns * 1000;

	if (wire->free_ps <= now_ps)
		return 0;
	return (uint64_t)((double)(wire->free_ps - now_ps) * (double)wire->bits_per_second / 8e12);
}

bool wire_send(struct wire *wire, uint64_t now_ns, unsigned bytes, uint64_t *arrival_ns)
{
	uint64_t queued = wire_queued_bytes(wire, now_ns);

	if (wire->limit_bytes && queued + bytes > wire->limit_bytes)
		return false;
	if (queued + bytes > wire->most_bytes)
		wire->most_bytes = queued + bytes;
	if (wire->free_ps < now_ns * 1000)
		wire->free_ps = now_ns * 1000;
	wire->free_ps += duration_ps(wire, bytes);
	*arrival_ns = (wire->free_ps + 999) / 1000 + wire->delay_ns;
	return true;
}
