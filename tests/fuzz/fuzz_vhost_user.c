/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A guest's network device, with any input from the guest's driver: messages of the protocol in any
 * order, with any content; virtqueues with any content; and frames in both directions in between.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "front_end.h"
#include "fuzz.h"

enum operation { SAY, SHARE, PLACE, ENABLE, OFFER, WRITE, TAKE, PUT, START, OPERATIONS };

enum { MESSAGE_BYTES_MAX = 1100, FRAMES = 4 };

/* Sizes and offsets at which a mistake would show. */
static uint64_t next_size(struct fuzz_input *input)
{
	static const uint64_t sizes[] = {
	        0,          1,
	        0x1000,     FRONT_END_MEMORY_BYTES - 1,
	        0x8000,     FRONT_END_MEMORY_BYTES,
	        UINT64_MAX, FRONT_END_MEMORY_BYTES + 1,
	        INT64_MAX,  UINT64_MAX - 0xFFF,
	};

	return sizes[fuzz_byte(input) % (sizeof(sizes) / sizeof(*sizes))];
}

static bool say(struct fuzz_input *input, struct front_end *front)
{
	uint8_t bytes[MESSAGE_BYTES_MAX] = {0};
	const unsigned request = fuzz_byte(input), count = fuzz_word(input) % sizeof(bytes);
	const int fd = request & 0x80 ? front->memory_fd : -1;

	for (unsigned i = 0; i < count && input->left > 0; i++)
		bytes[i] = (uint8_t)fuzz_byte(input);
	return front_end_say(front, request & 0x7F, bytes, count, fd);
}

static bool start(struct front_end *front)
{
	bool good = front_end_share_memory(front, FRONT_END_MEMORY_BYTES, 0, front->memory_fd) &&
	            front_end_say(front, FRONT_END_SET_BACKEND_REQ_FD, NULL, 0, front->memory_fd);

	for (uint32_t queue = 0; good && queue < VHOST_QUEUES; queue++)
		good = front_end_place_virtqueue(front, queue, 0) &&
		       front_end_enable(front, queue, true);
	return good;
}

static void write_memory(struct fuzz_input *input, struct front_end *front)
{
	unsigned at = fuzz_word(input);

	for (unsigned count = fuzz_byte(input); count > 0; count--)
		front->memory[at++ % FRONT_END_MEMORY_BYTES] = (uint8_t)fuzz_byte(input);
}

static void take(struct front_end *front, struct frame_pool *pool)
{
	const bool failed = front->device.error;
	bool dropped;
	struct frame *frame = vhost_take(&front->device, pool, &dropped);

	FUZZ_CHECK(!frame || (!failed && frame->length >= FRAME_BYTES_MIN &&
	                      frame->length <= FRAME_BYTES_MAX));
	if (frame)
		frame_drop(frame);
}

static void put(struct fuzz_input *input, struct front_end *front, struct frame_pool *pool)
{
	const bool failed = front->device.error;
	struct frame *frame = frame_new(pool);

	FUZZ_CHECK(frame);
	frame->length = FRAME_BYTES_MIN + fuzz_word(input) % (FRAME_BYTES_MAX - FRAME_BYTES_MIN);
	memset(frame->bytes, 0x5A, frame->length);
	FUZZ_CHECK(!vhost_put(&front->device, frame) || !failed);
	vhost_wants_call(&front->device, VHOST_QUEUE_RX);
	frame_drop(frame);
}

/* False: the guest has ended. */
static bool step(struct fuzz_input *input, struct front_end *front, struct frame_pool *pool)
{
	switch ((enum operation)(fuzz_byte(input) % OPERATIONS)) {
	case SAY:
		return say(input, front);
	case SHARE: {
		const uint64_t bytes = next_size(input), offset = next_size(input);

		return front_end_share_memory(front, bytes, offset, front->memory_fd);
	}
	case PLACE: {
		const unsigned queue = fuzz_byte(input);

		return front_end_place_virtqueue(front, queue, fuzz_word(input));
	}
	case ENABLE: {
		const unsigned queue = fuzz_byte(input);

		return front_end_enable(front, queue >> 1, queue & 1);
	}
	case OFFER: {
		const unsigned queue = fuzz_byte(input) % VHOST_QUEUES, flags = fuzz_byte(input);

		front_end_offer(front, queue, fuzz_word(input), (uint16_t)flags);
		return true;
	}
	case WRITE:
		write_memory(input, front);
		return true;
	case TAKE:
		take(front, pool);
		return true;
	case PUT:
		put(input, front, pool);
		return true;
	default:
		return start(front);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = {bytes, size};
	struct front_end front;
	struct frame_pool pool;

	FUZZ_CHECK(frame_pool_open(&pool, FRAMES) == 0);
	front_end_open(&front);
	while (input.left > 0 && step(&input, &front, &pool))
		;
	front_end_close(&front);
	frame_pool_close(&pool);
	return 0;
}
