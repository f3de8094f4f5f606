/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames in memory that was allocated once. A frame may be in several places
 * (queues, the calendar): each holds a reference, the last one gives it back.
 */
#ifndef INA_BRIDGE_FRAME_POOL_H
#define INA_BRIDGE_FRAME_POOL_H

#include <stdint.h>

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
	uint8_t bytes[FRAME_BYTES_MAX];
};

struct frame_pool {
	struct frame *frames;
	unsigned count;
	unsigned touched;         /* frames[touched] and on were never in use */
	struct frame *first_free; /* last in, first out: what was used last is in the cache */
};

/* Room for `count` frames; memory is touched only as it is used. 0, or -1 with errno ENOMEM. */
int frame_pool_open(struct frame_pool *pool, unsigned count);
void frame_pool_close(struct frame_pool *pool);

/* A frame with one reference and any content; NULL if all are in use. */
struct frame *frame_new(struct frame_pool *pool);

/* Another reference to the same frame. */
struct frame *frame_share(struct frame *frame);
void frame_drop(struct frame *frame);

#endif
