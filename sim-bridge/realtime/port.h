/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host's socket: one frame a datagram. Frames to the host wait in a bounded
 * queue; what finds it full is dropped and counted, so a host that does not
 * read stops nobody.
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
	PORT_BATCH_FRAMES = 64,   /* read or sent with one system call */
};

struct port {
	int fd;
	bool is_open;
	bool is_blocked; /* the socket is full; wait until it can be written */
	struct port_counts counts;
	uint32_t head; /* free-running */
	uint32_t tail;
	struct frame *queue[PORT_QUEUE_FRAMES];
};

/*
 * Is there a datagram socket of the Unix domain at `fd`, or, in virtual time, a listening one? One
 * line in `error` if not.
 */
bool port_is_usable(int fd, bool is_virtual, char *error, size_t error_bytes);

/* Takes the descriptor over. */
void port_open(struct port *port, int fd);

/* Closes the descriptor; what is queued is dropped. */
void port_close(struct port *port);

/*
 * Reads up to PORT_BATCH_FRAMES frames into `frames`, each with one reference.
 * Returns how many. Closes the port where the host has gone.
 */
unsigned port_read(struct port *port, struct frame_pool *pool,
                   struct frame *frames[PORT_BATCH_FRAMES]);

/* Queues a frame; takes the reference. False if it was dropped. */
bool port_send(struct port *port, struct frame *frame);

/* Sends what is queued, as much as the socket takes. */
void port_flush(struct port *port);

#endif
