/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A virtqueue that changes while it is read: the guest may write to its memory at any time. Here a
 * copy of data does so, because it lands on the virtqueue itself. Values that the device has read
 * once must count, whatever the virtqueue contains now.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "sim-bridge/virtual/virtqueue.h"

enum { SIZE = 4, GUEST = 0x1000, HEAD_BYTES = sizeof(struct virtio_net_hdr_mrg_rxbuf) };

/* The whole memory of the guest. */
struct memory {
	struct vring_desc descriptors[SIZE];
	_Alignas(4) uint8_t available[sizeof(struct vring_avail) + SIZE * sizeof(uint16_t)];
	_Alignas(4) uint8_t used[sizeof(struct vring_used) + SIZE * sizeof(struct vring_used_elem)];
	uint8_t buffers[256];
};

static struct memory memory;
static const struct guest_memory guest = {
        .regions = {{.guest = GUEST, .bytes = sizeof(memory), .at = (uint8_t *)&memory}},
        .count = 1,
};

static uint64_t address_of(const void *at)
{
	return GUEST + (uint64_t)((const uint8_t *)at - (const uint8_t *)&memory);
}

static void open_virtqueue(struct virtqueue *queue)
{
	memset(&memory, 0, sizeof(memory));
	assert_true(virtqueue_open(queue, &guest, SIZE, address_of(memory.descriptors),
	                           address_of(memory.available), address_of(memory.used)));
	((struct vring_avail *)memory.available)->idx = 1;
}

static void test_length_is_read_once(void **state)
{
	struct virtqueue queue;

	(void)state;
	open_virtqueue(&queue);
	memory.descriptors[0] = (struct vring_desc){.addr = address_of(memory.buffers),
	                                            .len = sizeof(*memory.descriptors)};
	/* The data that are sent are another descriptor, which overwrites the frame's own one. */
	const struct vring_desc other = {.addr = address_of(memory.buffers), .len = 5000};
	memcpy(memory.buffers, &other, sizeof(other));
	assert_int_equal(virtqueue_take(&queue, memory.descriptors, 4096), sizeof(other));
}

static void test_end_of_chain_is_read_once(void **state)
{
	struct virtqueue queue;

	(void)state;
	open_virtqueue(&queue);
	memory.descriptors[0] = (struct vring_desc){.addr = address_of(memory.buffers),
	                                            .len = sizeof(*memory.descriptors)};
	const struct vring_desc other = {.flags = VRING_DESC_F_NEXT, .next = 1};
	memcpy(memory.buffers, &other, sizeof(other));
	assert_int_equal(virtqueue_take(&queue, memory.descriptors, 4096), sizeof(other));
}

/*
 * A guest may use its virtqueue as a receive buffer. The count of chains goes where the guest said
 * first.
 */
static void test_address_is_read_once(void **state)
{
	const struct virtio_net_hdr_mrg_rxbuf head = {.num_buffers = 1};
	const uint8_t bytes[60] = {0};
	struct virtqueue queue;

	(void)state;
	open_virtqueue(&queue);
	memory.descriptors[0] = (struct vring_desc){.addr = address_of(memory.descriptors),
	                                            .len = sizeof(memory.descriptors),
	                                            .flags = VRING_DESC_F_WRITE};
	assert_int_equal(virtqueue_fill(&queue, &head, sizeof(head), bytes, 40), 1);
	assert_memory_equal(&memory, &head, sizeof(head));
}

/* The driver cannot make more entries available than the virtqueue has. */
static void test_more_than_the_virtqueue_holds(void **state)
{
	const struct virtio_net_hdr_mrg_rxbuf head = {.num_buffers = 1};
	struct virtqueue queue;
	uint8_t bytes[64] = {0};

	(void)state;
	open_virtqueue(&queue);
	for (unsigned i = 0; i < SIZE; i++)
		memory.descriptors[i] = (struct vring_desc){.addr = address_of(memory.buffers),
		                                            .len = sizeof(memory.buffers),
		                                            .flags = VRING_DESC_F_WRITE};
	((struct vring_avail *)memory.available)->idx = SIZE + 1;
	assert_int_equal(virtqueue_take(&queue, bytes, sizeof(bytes)), -1);
	assert_int_equal(virtqueue_fill(&queue, &head, sizeof(head), bytes, 40), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_length_is_read_once),
	        cmocka_unit_test(test_end_of_chain_is_read_once),
	        cmocka_unit_test(test_address_is_read_once),
	        cmocka_unit_test(test_more_than_the_virtqueue_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
