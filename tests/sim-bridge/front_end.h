/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake guest's side of a vhost-user connection (QEMU's docs/interop/vhost-user.rst), with memory
 * in which its two virtqueues have fixed places. It sends whatever the test asks for, valid or not.
 */
#ifndef INA_FRONT_END_H
#define INA_FRONT_END_H

#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim-bridge/virtual/vhost_user.h"

enum front_end_request {
	FRONT_END_GET_FEATURES = 1,
	FRONT_END_SET_FEATURES = 2,
	FRONT_END_SET_MEM_TABLE = 5,
	FRONT_END_SET_VRING_NUM = 8,
	FRONT_END_SET_VRING_ADDR = 9,
	FRONT_END_SET_VRING_ENABLE = 18,
	FRONT_END_SET_BACKEND_REQ_FD = 21,
};

enum {
	FRONT_END_MEMORY_BYTES = 0x10000,
	FRONT_END_GUEST_ADDRESS = 0x100000,
	FRONT_END_VIRTQUEUE_SIZE = 8,
	FRONT_END_BUFFERS_AT = 0x8000, /* offset in the memory */
};

struct front_end {
	struct vhost_device device; /* the other side */
	int fd;
	int memory_fd;
	uint8_t *memory;
};

void front_end_open(struct front_end *front);
void front_end_close(struct front_end *front);

/*
 * Sends the message, with `fd` unless that is -1, and lets the device receive it. Returns the
 * result of vhost_serve().
 */
bool front_end_say(struct front_end *front, uint32_t request, const void *bytes, uint32_t count,
                   int fd);

/* One region of memory. */
bool front_end_share_memory(struct front_end *front, uint64_t bytes, uint64_t offset, int fd);

/* Tells the device where virtqueue `queue` is, with each part moved by `by`. */
bool front_end_place_virtqueue(struct front_end *front, uint32_t queue, uint64_t by);
bool front_end_enable(struct front_end *front, uint32_t queue, bool on);

/* All messages that a driver sends before frames can flow. */
void front_end_start(struct front_end *front);

struct vring_desc *front_end_descriptors(struct front_end *front, unsigned queue);

/* Gives descriptor 0 of a virtqueue its own buffer, and makes it available. */
void front_end_offer(struct front_end *front, unsigned queue, uint32_t bytes, uint16_t flags);

#endif
