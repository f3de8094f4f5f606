/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A virtqueue in a guest's memory, at any address that the guest gives, with any contents. The
 * device may only access that memory, whose exact size the sanitizer knows.
 */
#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sim-bridge/virtual/virtqueue.h"

enum {
	LOW = 0x1000, /* where memory begins, in the guest */
	LOW_BYTES = 4096,
	HIGH_BYTES = 256, /* and where it ends: at the end of all addresses */
	FRAME_BYTES = 2048,
};

enum operation { PLACE, WRITE, TAKE, FILL, ASK, OPERATIONS };

/* Most addresses are in the low memory; those from 0xFF00 on in the high one, or beyond. */
static uint64_t next_address(struct fuzz_input *input)
{
	const unsigned word = fuzz_word(input);

	return word < 0xFF00 ? LOW + word % (LOW_BYTES + 16) : UINT64_MAX << 16 | word;
}

static void place(struct fuzz_input *input, struct virtqueue *queue,
                  const struct guest_memory *memory)
{
	const unsigned size = fuzz_byte(input);
	const uint64_t descriptors = next_address(input), available = next_address(input);
	const uint64_t used = next_address(input);

	if (virtqueue_open(queue, memory, size > 16 ? size : 1u << size, descriptors, available,
	                   used)) {
		queue->next_available = (uint16_t)fuzz_word(input);
		virtqueue_silence(queue);
	}
	FUZZ_CHECK(queue->size == 0 || queue->descriptors);
}

static void write_memory(struct fuzz_input *input, uint8_t *memory)
{
	unsigned at = fuzz_word(input) % LOW_BYTES;

	for (unsigned count = fuzz_byte(input); count > 0; count--)
		memory[at++ % LOW_BYTES] = (uint8_t)fuzz_byte(input);
}

static void take(struct fuzz_input *input, struct virtqueue *queue)
{
	const size_t room = fuzz_word(input) % FRAME_BYTES;
	uint8_t *bytes = malloc(room + 1);

	FUZZ_CHECK(bytes);
	bytes[room] = 0xA5;
	const long length = virtqueue_take(queue, bytes, room);
	FUZZ_CHECK(length == -1 || length > 0);
	FUZZ_CHECK(bytes[room] == 0xA5);
	free(bytes);
}

static void fill(struct fuzz_input *input, struct virtqueue *queue)
{
	const struct virtio_net_hdr_mrg_rxbuf head = {.num_buffers = 1};
	const size_t count = fuzz_word(input) % FRAME_BYTES;
	uint8_t *bytes = calloc(1, count + 1);
	const uint16_t before = queue->next_used;

	FUZZ_CHECK(bytes);
	const int filled = virtqueue_fill(queue, &head, sizeof(head), bytes, count);
	FUZZ_CHECK((filled == 1) == (queue->next_used != before));
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = {bytes, size};
	uint8_t *low = aligned_alloc(64, LOW_BYTES), *high = aligned_alloc(64, HIGH_BYTES);
	struct virtqueue queue = {0};

	FUZZ_CHECK(low && high);
	memset(low, 0, LOW_BYTES);
	memset(high, 0, HIGH_BYTES);
	const struct guest_memory memory = {
	        .regions = {{.guest = LOW, .bytes = LOW_BYTES, .at = low},
	                    {.guest = UINT64_MAX - HIGH_BYTES + 1,
	                     .bytes = HIGH_BYTES,
	                     .at = high}},
	        .count = 2,
	};
	while (input.left > 0) {
		const enum operation operation = fuzz_byte(&input) % OPERATIONS;

		if (operation == PLACE)
			place(&input, &queue, &memory);
		else if (operation == WRITE)
			write_memory(&input, low);
		else if (queue.size == 0)
			continue;
		else if (operation == TAKE && virtqueue_available(&queue) > 0)
			take(&input, &queue);
		else if (operation == FILL)
			fill(&input, &queue);
		else if (operation == ASK)
			virtqueue_wants_call(&queue);
	}
	free(high);
	free(low);
	return 0;
}
