/* SPDX-License-Identifier: Apache-2.0 */
/* A list of returned frames, and the frames that were never in use, in their order. */
#include "frame_pool.h"

#include <assert.h>
#include <stdlib.h>

int frame_pool_open(struct frame_pool *pool, unsigned count)
{
	*pool = (struct frame_pool){.count = count};
	pool->frames = calloc(count, sizeof(*pool->frames));
	return pool->frames ? 0 : -1;
}

void frame_pool_close(struct frame_pool *pool)
{
	free(pool->frames);
	*pool = (struct frame_pool){0};
}

struct frame *frame_new(struct frame_pool *pool)
{
	struct frame *frame = pool->first_free;

	if (frame)
		pool->first_free = frame->next_free;
	else if (pool->touched < pool->count)
		frame = &pool->frames[pool->touched++];
	else
		return NULL;
	frame->pool = pool;
	frame->references = 1;
	frame->length = 0;
	return frame;
}

void frame_read(struct frame *frame)
{
	frame->roce = roce_read(frame->bytes, frame->length);
}

struct frame *frame_share(struct frame *frame)
{
	frame->references++;
	return frame;
}

void frame_drop(struct frame *frame)
{
	assert(frame->references > 0);
	if (--frame->references > 0)
		return;
	frame->next_free = frame->pool->first_free;
	frame->pool->first_free = frame;
}
