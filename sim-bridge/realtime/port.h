/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host's socket, with one frame in each datagram. Frames to the host wait in a bounded queue. If
 * the queue is full, the port drops and counts the frame, so a host that does not read never blocks
 * the bridge.
 */
#ifndef INA_BRIDGE_PORT_H
#define INA_BRIDGE_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim-bridge/switch/frame_pool.h"
#include "sim-bridge/switch/port_counts.h"

enum {
	PORT_QUEUE_FRAMES = 1024, /* a power of two */
	PORT_BATCH_FRAMES = 64,   /* frames read or sent with one system call */
};

struct port {
	int fd;
	bool is_open;
	bool is_blocked; /* the socket is full; the port waits until it is writable */
	struct port_counts counts;
	uint32_t head; /* head and tail count up without wrapping at the queue's end */
	uint32_t tail;
	struct frame *queue[PORT_QUEUE_FRAMES];
};

/*
 * True if `fd` is a Unix socket that can be a port: of type SOCK_SEQPACKET or SOCK_DGRAM in real
 * time, a listening SOCK_STREAM in virtual time. If not, writes one line to `error`.
 */
bool port_is_usable(int fd, bool is_virtual, char *error, size_t error_bytes);

/* Takes ownership of the descriptor. */
void port_open(struct port *port, int fd);

/* Closes the descriptor, and drops the queued frames. */
void port_close(struct port *port);

/*
 * Reads up to PORT_BATCH_FRAMES frames into `frames`; the caller owns one reference to each.
 * Returns the number of frames. If the host has closed its end, closes the port.
 */
unsigned port_read(struct port *port, struct frame_pool *pool,
                   struct frame *frames[PORT_BATCH_FRAMES]);

/* Queues a frame and takes its reference. Returns false if it dropped the frame. */
bool port_send(struct port *port, struct frame *frame);

/* Sends as many queued frames as the socket takes. */
void port_flush(struct port *port);

#endif
