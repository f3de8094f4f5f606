/* SPDX-License-Identifier: Apache-2.0 */
/* A slot belongs to whoever its status says, and slots are used in turn. */
#include "packet_ring.h"

#include <sys/mman.h>
#include <sys/socket.h>

enum {
	BLOCK_BYTES = 1 << 16, /* slots do not cross blocks */
	/* In front of a frame: the slot's header, and a struct virtio_net_hdr, aligned. */
	HEADER_BYTES = TPACKET2_HDRLEN + 3 * TPACKET_ALIGNMENT,
};

bool packet_ring_open(struct packet_ring *ring, int fd, unsigned slots, unsigned frame_bytes)
{
	const int version = TPACKET_V2;
	const unsigned slot_bytes = TPACKET_ALIGN(HEADER_BYTES + frame_bytes);
	const unsigned slots_a_block = BLOCK_BYTES / slot_bytes;
	const unsigned blocks = (slots + slots_a_block - 1) / slots_a_block;
	const struct tpacket_req request = {
	        .tp_block_size = BLOCK_BYTES,
	        .tp_block_nr = blocks,
	        .tp_frame_size = slot_bytes,
	        .tp_frame_nr = blocks * slots_a_block,
	};

	*ring = (struct packet_ring){
	        .bytes = (size_t)blocks * BLOCK_BYTES,
	        .slot_bytes = slot_bytes,
	        .slots_a_block = slots_a_block,
	        .slots = blocks * slots_a_block,
	};
	if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &request, sizeof(request)) != 0)
		return false;
	void *memory = mmap(NULL, ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return false;
	ring->memory = memory;
	return true;
}

void packet_ring_close(struct packet_ring *ring)
{
	if (ring->memory)
		munmap(ring->memory, ring->bytes);
	ring->memory = NULL;
}

static struct tpacket2_hdr *next_slot(const struct packet_ring *ring)
{
	const size_t block = ring->next / ring->slots_a_block;
	const size_t slot = ring->next % ring->slots_a_block;

	return (struct tpacket2_hdr *)(ring->memory + block * BLOCK_BYTES +
	                               slot * ring->slot_bytes);
}

struct tpacket2_hdr *packet_ring_first(const struct packet_ring *ring)
{
	struct tpacket2_hdr *slot = next_slot(ring);

	return __atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER ? slot : NULL;
}

void packet_ring_release(struct packet_ring *ring)
{
	__atomic_store_n(&next_slot(ring)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	ring->next = (ring->next + 1) % ring->slots;
}
