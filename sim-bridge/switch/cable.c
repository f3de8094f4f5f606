/* SPDX-License-Identifier: Apache-2.0 */
/* No queue is stored: its length follows from the time at which the cable becomes free. */
#include "cable.h"

/*
 * A frame also takes time for bytes that a capture does not show: preamble 8, frame check sequence
 * 4, gap 12 (IEEE 802.3).
 */
enum { OVERHEAD_BYTES = 24, FRAME_BYTES_LEAST = 60 };

#define PS_PER_S 1000000000000u

static uint64_t duration_ps(const struct cable *cable, unsigned bytes)
{
	unsigned sent = (bytes < FRAME_BYTES_LEAST ? FRAME_BYTES_LEAST : bytes) + OVERHEAD_BYTES;

	if (cable->bits_per_second == 0)
		return 0;
	return sent * 8u * (uint64_t)PS_PER_S / cable->bits_per_second;
}

uint64_t cable_queued_bytes(const struct cable *cable, uint64_t now_ns)
{
	uint64_t now_ps = now_ns * 1000;

	if (cable->free_ps <= now_ps)
		return 0;
	return (uint64_t)((double)(cable->free_ps - now_ps) * (double)cable->bits_per_second /
	                  8e12);
}

bool cable_send(struct cable *cable, uint64_t now_ns, unsigned bytes, uint64_t *arrival_ns)
{
	uint64_t queued = cable_queued_bytes(cable, now_ns);

	if (cable->limit_bytes && queued + bytes > cable->limit_bytes)
		return false;
	if (queued + bytes > cable->most_bytes)
		cable->most_bytes = queued + bytes;
	if (cable->free_ps < now_ns * 1000)
		cable->free_ps = now_ns * 1000;
	cable->free_ps += duration_ps(cable, bytes);
	*arrival_ns = (cable->free_ps + 999) / 1000 + cable->delay_ns;
	return true;
}
