/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's side of a split virtqueue (VIRTIO 1.1, 2.6) in a guest's memory. The guest controls
 * that memory, so every address is checked before it is used.
 */
#ifndef INA_BRIDGE_VIRTQUEUE_H
#define INA_BRIDGE_VIRTQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUEST_REGIONS_MAX = 8, VIRTQUEUE_SIZE_MAX = 1024 };

/* The part of a guest's physical memory that the guest shares. */
struct guest_memory {
	struct {
		uint64_t guest; /* address in the guest */
		uint64_t bytes;
		uint8_t *at; /* the address at which it is mapped here */
		void *map;
		size_t map_bytes;
	} regions[GUEST_REGIONS_MAX];
	unsigned count;
};

void guest_memory_close(struct guest_memory *memory);

struct virtqueue {
	const struct guest_memory *memory;
	unsigned size;
	struct vring_desc *descriptors;
	struct vring_avail *available;
	struct vring_used *used;
	uint16_t next_available;
	uint16_t next_used;
};

/*
 * Returns false, and leaves no virtqueue (size 0), if an address is not in memory or not aligned,
 * or if the size is not a power of two or too large.
 */
bool virtqueue_open(struct virtqueue *queue, const struct guest_memory *memory, unsigned size,
                    uint64_t descriptors, uint64_t available, uint64_t used);

/* Tells the guest that it need not notify the device of new buffers. */
void virtqueue_silence(struct virtqueue *queue);

/* True if the guest wants to be notified of returned buffers. */
bool virtqueue_wants_call(const struct virtqueue *queue);

/* The number of the guest's buffers that are available and have not been taken. */
unsigned virtqueue_available(const struct virtqueue *queue);

/*
 * Takes the next chain of buffers, copies its content to `bytes`, and returns the chain to the
 * guest. Returns the length of the content, even if it is more than `room`, or -1 if the virtqueue
 * is invalid.
 */
long virtqueue_take(struct virtqueue *queue, void *bytes, size_t room);

/*
 * Writes the head and the `count` bytes into as many chains of buffers as they need, and returns
 * these to the guest. Writes the number of chains into the last two bytes of the head (struct
 * virtio_net_hdr_mrg_rxbuf). Returns 1, or 0 if there is no room, or -1 if the virtqueue is
 * invalid.
 */
int virtqueue_fill(struct virtqueue *queue, const void *head, size_t head_bytes, const void *bytes,
                   size_t count);

#endif
