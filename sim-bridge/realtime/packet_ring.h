/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames that a packet socket has received, in memory that it shares with the kernel: a ring of
 * slots (TPACKET_V2 of Linux's Documentation/networking/packet_mmap.rst). Version 3 takes somewhat
 * more frames a second, but a single frame waits there for a timer, for 0.7 ms.
 */
#ifndef INA_BRIDGE_PACKET_RING_H
#define INA_BRIDGE_PACKET_RING_H

#include <linux/if_packet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet_ring {
	uint8_t *memory;
	size_t bytes;
	unsigned slot_bytes;
	unsigned slots_a_block;
	unsigned slots;
	unsigned next; /* the slot of the oldest frame */
};

/*
 * Gives the socket a ring with room for `slots` frames of `frame_bytes`, or somewhat more frames.
 * The socket may also receive longer ones: see TP_STATUS_COPY. Returns false with errno.
 */
bool packet_ring_open(struct packet_ring *ring, int fd, unsigned slots, unsigned frame_bytes);
void packet_ring_close(struct packet_ring *ring);

/* The oldest frame, which belongs to the caller until packet_ring_release(); NULL: no frame. */
struct tpacket2_hdr *packet_ring_first(const struct packet_ring *ring);

/* Returns the slot of the oldest frame to the kernel. */
void packet_ring_release(struct packet_ring *ring);

#endif
