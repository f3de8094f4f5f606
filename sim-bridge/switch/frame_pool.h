/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames in memory that is allocated once. A frame may be in several places (queues, the calendar).
 * Each of them holds a reference; dropping the last one returns the frame to the pool.
 */
#ifndef INA_BRIDGE_FRAME_POOL_H
#define INA_BRIDGE_FRAME_POOL_H

#include <stdint.h>

#include "roce.h"

enum {
	FRAME_BYTES_MIN = 14, /* an Ethernet header */
	FRAME_BYTES_MAX = 9216,
};

struct frame_pool;

struct frame {
	struct frame_pool *pool;
	struct frame *next_free;
	unsigned references;
	unsigned length;
	struct roce roce; /* as frame_read() found it */
	uint8_t bytes[FRAME_BYTES_MAX];
};

struct frame_pool {
	struct frame *frames;
	unsigned count;
	unsigned touched;         /* frames[touched] and later ones were never in use */
	struct frame *first_free; /* last in, first out, since recently used frames are cached */
};

/*
 * Reserves `count` frames; the memory is touched only when a frame is first used. Returns 0, or -1
 * with errno ENOMEM.
 */
int frame_pool_open(struct frame_pool *pool, unsigned count);
void frame_pool_close(struct frame_pool *pool);

/* Returns a frame with one reference and undefined content, or NULL if all are in use. */
struct frame *frame_new(struct frame_pool *pool);

/*
 * Reads the headers again. Call this when a frame enters the fabric, and when its bytes have
 * changed in any way but by a mark of congestion.
 */
void frame_read(struct frame *frame);

/* Adds a reference to the frame, and returns the frame. */
struct frame *frame_share(struct frame *frame);
void frame_drop(struct frame *frame);

#endif
