/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A split virtqueue (VIRTIO 1.1, 2.6) in a guest's memory, seen from the device. The guest wrote
 * what stands there: every address is checked before it is used.
 */
#ifndef INA_BRIDGE_VIRTQUEUE_H
#define INA_BRIDGE_VIRTQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUEST_REGIONS_MAX = 8, VIRTQUEUE_SIZE_MAX = 1024 };

/* A guest's physical memory, as far as it shares it. */
struct guest_memory {
	struct {
		uint64_t guest; /* address in the guest */
		uint64_t bytes;
		uint8_t *at; /* here */
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
 * False, and no ring (size 0): an address is no memory or is not aligned, or the size is no power
 * of two.
 */
bool virtqueue_open(struct virtqueue *queue, const struct guest_memory *memory, unsigned size,
                    uint64_t descriptors, uint64_t available, uint64_t used);

/* The guest need not say when it has put something in. */
void virtqueue_silence(struct virtqueue *queue);

/* Whether the guest wants to hear of buffers that were given back. */
bool virtqueue_wants_call(const struct virtqueue *queue);

/* Buffers of the guest that are available and not taken. */
unsigned virtqueue_available(const struct virtqueue *queue);

/*
 * Takes the next chain of buffers, and gives it back. Copies what it holds to `bytes`; returns how
 * many there were, also where they did not all fit, or -1 where the ring makes no sense.
 */
long virtqueue_take(struct virtqueue *queue, void *bytes, size_t room);

/*
 * Fills as many chains of buffers as it takes with the `count` bytes, and gives them back; the
 * `head_bytes` before them say in their last two bytes how many chains (struct
 * virtio_net_hdr_mrg_rxbuf). Returns 1, 0 if there is no room, -1 where the ring makes no sense.
 */
int virtqueue_fill(struct virtqueue *queue, const void *head, size_t head_bytes, const void *bytes,
                   size_t count);

#endif
