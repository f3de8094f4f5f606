/* SPDX-License-Identifier: Apache-2.0 */
/* A device whose guest sends invalid input: it reports that, and accesses only the guest's
 * memory. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <pthread.h>
#include <linux/virtio_net.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "front_end.h"

enum { PAGE_BYTES = 4096, HEAD_BYTES = sizeof(struct virtio_net_hdr_mrg_rxbuf) };

struct rig {
	struct front_end front;
	struct frame_pool pool;
};

static int set_up(void **state)
{
	static struct rig rig;

	front_end_open(&rig.front);
	*state = &rig;
	return frame_pool_open(&rig.pool, 4);
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	front_end_close(&rig->front);
	frame_pool_close(&rig->pool);
	return 0;
}

/* A frame of 60 bytes can be sent each way. */
static void check_works(struct rig *rig)
{
	struct front_end *front = &rig->front;
	bool dropped;

	front_end_offer(front, VHOST_QUEUE_TX, HEAD_BYTES + 60, 0);
	struct frame *frame = vhost_take(&front->device, &rig->pool, &dropped);
	assert_null(front->device.error);
	assert_non_null(frame);
	assert_int_equal(frame->length, 60);
	assert_false(vhost_put(&front->device, frame)); /* no buffer */
	front_end_offer(front, VHOST_QUEUE_RX, 2048, VRING_DESC_F_WRITE);
	assert_true(vhost_put(&front->device, frame));
	frame_drop(frame);
	assert_null(vhost_take(&front->device, &rig->pool, &dropped));
	assert_null(front->device.error);
}

/* The contents of its virtqueues have no effect. */
static void check_is_off(struct rig *rig)
{
	struct frame *frame = frame_new(&rig->pool);
	bool dropped;

	front_end_offer(&rig->front, VHOST_QUEUE_TX, HEAD_BYTES + 60, 0);
	assert_null(vhost_take(&rig->front.device, &rig->pool, &dropped));
	assert_false(dropped);
	frame->length = 60;
	assert_false(vhost_put(&rig->front.device, frame));
	assert_false(vhost_wants_call(&rig->front.device, VHOST_QUEUE_RX));
	frame_drop(frame);
}

static void check_refuses(struct rig *rig)
{
	assert_non_null(rig->front.device.error);
	check_is_off(rig);
}

static void test_good_guest(void **state)
{
	struct rig *rig = *state;

	front_end_start(&rig->front);
	for (int turn = 0; turn < 20; turn++)
		check_works(rig);
}

static void test_virtqueue_without_address(void **state)
{
	struct rig *rig = *state;
	struct front_end *front = &rig->front;

	front_end_share_memory(front, FRONT_END_MEMORY_BYTES, 0, front->memory_fd);
	front_end_say(front, FRONT_END_SET_BACKEND_REQ_FD, NULL, 0, front->memory_fd);
	for (uint32_t queue = 0; queue < VHOST_QUEUES; queue++)
		assert_true(front_end_enable(front, queue, true));
	check_refuses(rig);
}

static void test_virtqueue_that_is_off(void **state)
{
	struct rig *rig = *state;

	front_end_start(&rig->front);
	assert_true(front_end_enable(&rig->front, VHOST_QUEUE_TX, false));
	assert_null(rig->front.device.error);
	check_is_off(rig);
}

static void test_wrong_address_after_a_right_one(void **state)
{
	struct rig *rig = *state;

	front_end_start(&rig->front);
	front_end_place_virtqueue(&rig->front, VHOST_QUEUE_TX, FRONT_END_MEMORY_BYTES);
	check_refuses(rig);
}

static void test_address_that_is_not_aligned(void **state)
{
	struct rig *rig = *state;

	front_end_start(&rig->front);
	front_end_place_virtqueue(&rig->front, VHOST_QUEUE_TX, 1);
	check_refuses(rig);
}

/* Sizes that a sum of 64 bits cannot hold, and ranges that the file does not have. */
static void test_memory_beyond_its_file(void **state)
{
	static const struct {
		uint64_t bytes;
		uint64_t offset;
	} regions[] = {
	        {UINT64_MAX - PAGE_BYTES + 1, 2 * PAGE_BYTES},
	        {2 * PAGE_BYTES, UINT64_MAX - PAGE_BYTES + 1},
	        {UINT64_MAX, 1},
	        {FRONT_END_MEMORY_BYTES + 1, 0},
	        {FRONT_END_MEMORY_BYTES, PAGE_BYTES},
	        {PAGE_BYTES, FRONT_END_MEMORY_BYTES},
	        {0, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(regions) / sizeof(*regions); i++) {
		struct front_end front;

		front_end_open(&front);
		front_end_share_memory(&front, regions[i].bytes, regions[i].offset,
		                       front.memory_fd);
		assert_non_null(front.device.error);
		assert_int_equal(front.device.memory.count, 0);
		front_end_close(&front);
	}
}

/*
 * Virtqueues were in the memory that was there before; the guest places them again in the new one.
 */
static void test_second_memory_table(void **state)
{
	struct rig *rig = *state;
	struct front_end *front = &rig->front;

	front_end_start(front);
	check_works(rig);
	assert_true(front_end_share_memory(front, FRONT_END_MEMORY_BYTES, 0, front->memory_fd));
	assert_null(front->device.error);
	check_is_off(rig);
	memset(front->memory, 0, FRONT_END_MEMORY_BYTES);
	for (uint32_t queue = 0; queue < VHOST_QUEUES; queue++)
		assert_true(front_end_place_virtqueue(front, queue, 0) &&
		            front_end_enable(front, queue, true));
	check_works(rig);
}

static void test_second_memory_table_that_is_wrong(void **state)
{
	struct rig *rig = *state;

	front_end_start(&rig->front);
	front_end_share_memory(&rig->front, UINT64_MAX, 1, rig->front.memory_fd);
	check_refuses(rig);
}

static unsigned open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* Whichever message comes with descriptors, none of them stays open. */
static void test_descriptors_are_closed(void **state)
{
	struct rig *rig = *state;
	const unsigned before = open_descriptors();
	const uint32_t zeros[16] = {0};

	for (uint32_t request = 0; request < 40; request++)
		if (request != FRONT_END_SET_BACKEND_REQ_FD)
			front_end_say(&rig->front, request, zeros, sizeof(zeros),
			              rig->front.memory_fd);
	assert_int_equal(open_descriptors(), before);
}

/* The header of a message of eight bytes, and the bytes after it. */
static const uint32_t features[] = {FRONT_END_SET_FEATURES, 1, 8, 0, 0};

/*
 * However much of a message comes: if no more bytes come, the device gives the guest up, and says
 * why.
 */
static void test_half_a_message(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes < sizeof(features); bytes++) {
		struct front_end front;

		front_end_open(&front);
		front.device.patience_ms = 5;
		assert_int_equal(send(front.fd, features, bytes, 0), bytes);
		assert_false(vhost_serve(&front.device));
		assert_non_null(front.device.error);
		front_end_close(&front);
	}
}

static void test_half_an_answer_to_a_call(void **state)
{
	static const uint8_t answer[19];
	struct front_end *front = &((struct rig *)*state)->front;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	front_end_say(front, FRONT_END_SET_BACKEND_REQ_FD, NULL, 0, ends[0]);
	close(ends[0]);
	front->device.patience_ms = 5;
	assert_int_equal(send(ends[1], answer, sizeof(answer), 0), sizeof(answer));
	assert_false(vhost_called(&front->device));
	assert_non_null(front->device.error);
	close(ends[1]);
}

/* A guest that ends in the middle of a message has done nothing wrong. */
static void test_gone_in_a_message(void **state)
{
	struct front_end *front = &((struct rig *)*state)->front;

	assert_int_equal(send(front->fd, features, 7, 0), 7);
	assert_int_equal(shutdown(front->fd, SHUT_WR), 0);
	assert_false(vhost_serve(&front->device));
	assert_null(front->device.error);
}

static void *send_slowly(void *fd)
{
	for (size_t at = 0; at < sizeof(features); at++) {
		if (send(*(int *)fd, (const uint8_t *)features + at, 1, 0) != 1)
			return fd;
		usleep(1000);
	}
	return NULL;
}

static void test_message_in_pieces(void **state)
{
	struct front_end *front = &((struct rig *)*state)->front;
	pthread_t sender;
	void *failed;

	assert_int_equal(pthread_create(&sender, NULL, send_slowly, &front->fd), 0);
	assert_true(vhost_serve(&front->device));
	assert_null(front->device.error);
	assert_int_equal(pthread_join(sender, &failed), 0);
	assert_null(failed);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(test_good_guest),
	        TEST(test_virtqueue_without_address),
	        TEST(test_virtqueue_that_is_off),
	        TEST(test_wrong_address_after_a_right_one),
	        TEST(test_address_that_is_not_aligned),
	        TEST(test_memory_beyond_its_file),
	        TEST(test_second_memory_table),
	        TEST(test_second_memory_table_that_is_wrong),
	        TEST(test_descriptors_are_closed),
	        TEST(test_half_a_message),
	        TEST(test_half_an_answer_to_a_call),
	        TEST(test_gone_in_a_message),
	        TEST(test_message_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
