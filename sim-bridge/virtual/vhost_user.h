/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest's network device: what the guest's driver says over a vhost-user socket (QEMU's
 * docs/interop/vhost-user.rst), with notifications in the socket (INBAND_NOTIFICATIONS), as virtual
 * time needs them. The guest does not notify the device: whoever drives time polls the queue.
 */
#ifndef INA_BRIDGE_VHOST_USER_H
#define INA_BRIDGE_VHOST_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim-bridge/switch/frame_pool.h"
#include "virtqueue.h"

enum { VHOST_QUEUE_RX, VHOST_QUEUE_TX, VHOST_QUEUES };

struct vhost_device {
	int fd;      /* -1: not connected */
	int call_fd; /* the guest listens there; -1: not yet */
	uint8_t mac[6];
	struct guest_memory memory;
	struct {
		unsigned size;
		uint16_t base;
		bool is_enabled;
		struct virtqueue ring;
	} queues[VHOST_QUEUES];
	int patience_ms;   /* of real time, for a message that has begun */
	const char *error; /* why it was given up, or NULL */
};

/* Takes the connected socket over. */
void vhost_open(struct vhost_device *device, int fd, const uint8_t mac[6]);
void vhost_close(struct vhost_device *device);

/*
 * Reads one message, which is there or under way, and answers it. False: the guest has gone, or
 * does not end its message, which is an error.
 */
bool vhost_serve(struct vhost_device *device);

/*
 * Takes the next frame that the guest has sent. NULL: there is none, or the pool has none: then
 * *dropped is set and the frame is gone.
 */
struct frame *vhost_take(struct vhost_device *device, struct frame_pool *pool, bool *dropped);

/* Puts a frame before the guest. False: it has no room for it. */
bool vhost_put(struct vhost_device *device, const struct frame *frame);

/* Whether the guest wants to be called because of a queue. */
bool vhost_wants_call(const struct vhost_device *device, unsigned queue);

/*
 * Calls it. The guest answers on call_fd, and may talk to the calendar before it does;
 * vhost_called() then reads the answer. False: the guest has gone, or does not end its answer,
 * which is an error.
 */
bool vhost_call(struct vhost_device *device, unsigned queue);
bool vhost_called(struct vhost_device *device);

#endif
