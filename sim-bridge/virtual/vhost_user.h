/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest's network device. The guest's driver configures it over a vhost-user socket (QEMU's
 * docs/interop/vhost-user.rst), with notifications in the socket (INBAND_NOTIFICATIONS), as virtual
 * time requires. The guest does not notify the device: the code that drives time polls the queues.
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
	int call_fd; /* the guest listens here for interrupts; -1: not connected yet */
	uint8_t mac[6];
	struct guest_memory memory;
	struct {
		unsigned size;
		uint16_t base;
		bool is_enabled;
		struct virtqueue virtqueue;
	} queues[VHOST_QUEUES];
	int patience_ms;   /* real time within which a message that has begun must be complete */
	const char *error; /* why the device was given up, or NULL */
};

/* Takes ownership of the connected socket. */
void vhost_open(struct vhost_device *device, int fd, const uint8_t mac[6]);
void vhost_close(struct vhost_device *device);

/*
 * Reads one message, which has arrived at least in part, and answers it. Returns false if the guest
 * has gone or does not complete its message; in the latter case sets device->error.
 */
bool vhost_serve(struct vhost_device *device);

/*
 * Takes the next frame that the guest has sent. Returns NULL if there is no frame, or if the frame
 * had to be dropped; only then *dropped is true. A frame is dropped if the pool is empty or the
 * frame's length is invalid.
 */
struct frame *vhost_take(struct vhost_device *device, struct frame_pool *pool, bool *dropped);

/* Puts a frame into the guest's receive queue. Returns false if there is no room. */
bool vhost_put(struct vhost_device *device, const struct frame *frame);

/* True if the guest wants to be interrupted for a queue. */
bool vhost_wants_call(const struct vhost_device *device, unsigned queue);

/*
 * vhost_call() interrupts the guest. The guest answers on call_fd, and may exchange messages with
 * the calendar before that; vhost_called() then reads the answer. Both return false if the guest
 * has gone. vhost_called() also does so, and sets device->error, if the answer is incomplete.
 */
bool vhost_call(struct vhost_device *device, unsigned queue);
bool vhost_called(struct vhost_device *device);

#endif
