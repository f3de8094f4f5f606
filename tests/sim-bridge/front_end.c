/* SPDX-License-Identifier: Apache-2.0 */
/* Messages first, then the actions of a driver. */
#define _GNU_SOURCE
#include "front_end.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Offsets in each virtqueue's part of the memory. */
enum { VIRTQUEUE_BYTES = 0x4000, AVAILABLE_AT = 0x1000, USED_AT = 0x2000 };

/* Flags of a message: the protocol's version, and a reply is wanted. */
enum { FLAGS = 1 | 8 };

static void need(bool good)
{
	if (!good)
		abort();
}

void front_end_open(struct front_end *front)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	int ends[2];

	*front = (struct front_end){.memory_fd = memfd_create("guest", MFD_CLOEXEC)};
	need(front->memory_fd >= 0 && ftruncate(front->memory_fd, FRONT_END_MEMORY_BYTES) == 0);
	front->memory = mmap(NULL, FRONT_END_MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
	                     front->memory_fd, 0);
	need(front->memory != MAP_FAILED);
	need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	front->fd = ends[0];
	vhost_open(&front->device, ends[1], mac);
}

void front_end_close(struct front_end *front)
{
	vhost_close(&front->device);
	munmap(front->memory, FRONT_END_MEMORY_BYTES);
	close(front->memory_fd);
	close(front->fd);
}

bool front_end_say(struct front_end *front, uint32_t request, const void *bytes, uint32_t count,
                   int fd)
{
	const uint32_t header[] = {request, FLAGS, count};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(fd))] = {0};
	struct iovec pieces[] = {{(void *)(uintptr_t)header, sizeof(header)},
	                         {(void *)(uintptr_t)bytes, count}};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
	char replies[4096];

	if (fd >= 0) {
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *part = CMSG_FIRSTHDR(&message);
		part->cmsg_level = SOL_SOCKET;
		part->cmsg_type = SCM_RIGHTS;
		part->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(part), &fd, sizeof(fd));
	}
	need(sendmsg(front->fd, &message, 0) == (ssize_t)(sizeof(header) + count));
	const bool is_there = vhost_serve(&front->device);
	while (recv(front->fd, replies, sizeof(replies), MSG_DONTWAIT) > 0)
		; /* its contents do not matter */
	return is_there;
}

bool front_end_share_memory(struct front_end *front, uint64_t bytes, uint64_t offset, int fd)
{
	const uint64_t table[] = {1, FRONT_END_GUEST_ADDRESS, bytes, 0, offset};

	return front_end_say(front, FRONT_END_SET_MEM_TABLE, table, sizeof(table), fd);
}

bool front_end_place_virtqueue(struct front_end *front, uint32_t queue, uint64_t by)
{
	const uint32_t size[] = {queue, FRONT_END_VIRTQUEUE_SIZE};
	const uint64_t at = FRONT_END_GUEST_ADDRESS + queue * VIRTQUEUE_BYTES + by;
	const uint64_t places[] = {queue, at, at + USED_AT, at + AVAILABLE_AT, 0};

	return front_end_say(front, FRONT_END_SET_VRING_NUM, size, sizeof(size), -1) &&
	       front_end_say(front, FRONT_END_SET_VRING_ADDR, places, sizeof(places), -1);
}

bool front_end_enable(struct front_end *front, uint32_t queue, bool on)
{
	const uint32_t words[] = {queue, on};

	return front_end_say(front, FRONT_END_SET_VRING_ENABLE, words, sizeof(words), -1);
}

void front_end_start(struct front_end *front)
{
	need(front_end_share_memory(front, FRONT_END_MEMORY_BYTES, 0, front->memory_fd));
	/* Any descriptor will do for calls, because no event is sent here. */
	need(front_end_say(front, FRONT_END_SET_BACKEND_REQ_FD, NULL, 0, front->memory_fd));
	for (uint32_t queue = 0; queue < VHOST_QUEUES; queue++)
		need(front_end_place_virtqueue(front, queue, 0) &&
		     front_end_enable(front, queue, true));
}

struct vring_desc *front_end_descriptors(struct front_end *front, unsigned queue)
{
	return (struct vring_desc *)(front->memory + queue * VIRTQUEUE_BYTES);
}

void front_end_offer(struct front_end *front, unsigned queue, uint32_t bytes, uint16_t flags)
{
	struct vring_avail *available =
	        (struct vring_avail *)(front->memory + queue * VIRTQUEUE_BYTES + AVAILABLE_AT);

	*front_end_descriptors(front, queue) = (struct vring_desc){
	        .addr = FRONT_END_GUEST_ADDRESS + FRONT_END_BUFFERS_AT,
	        .len = bytes,
	        .flags = flags,
	};
	available->ring[available->idx % FRONT_END_VIRTQUEUE_SIZE] = 0;
	available->idx++;
}
