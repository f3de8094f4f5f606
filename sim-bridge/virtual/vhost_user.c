/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the messages in the order of a device's life. */
#define _GNU_SOURCE
#include "vhost_user.h"

#include <errno.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/deadline.h"

/* QEMU docs/interop/vhost-user.rst: "Front-end message types", "Back-end message types". */
enum request {
	GET_FEATURES = 1,
	SET_FEATURES = 2,
	SET_OWNER = 3,
	SET_MEM_TABLE = 5,
	SET_VRING_NUM = 8,
	SET_VRING_ADDR = 9,
	SET_VRING_BASE = 10,
	SET_VRING_KICK = 12,
	SET_VRING_CALL = 13,
	SET_VRING_ERR = 14,
	GET_PROTOCOL_FEATURES = 15,
	SET_PROTOCOL_FEATURES = 16,
	SET_VRING_ENABLE = 18,
	SET_BACKEND_REQ_FD = 21,
	GET_CONFIG = 24,
	SET_CONFIG = 25,
	VRING_KICK = 35,

	BACKEND_VRING_CALL = 4,
};

/* A guest sends each message whole, but it may be slow if its machine is busy. */
enum { MESSAGE_PATIENCE_MS = 20000 };

enum { FLAG_VERSION = 1, FLAG_REPLY = 4, FLAG_NEED_REPLY = 8, DESCRIPTORS_MAX = 8 };

#define BIT(n) (1ull << (n))

/*
 * The device's features, then the protocol's. Bit 30 is PROTOCOL_FEATURES; the protocol's bits are
 * REPLY_ACK, BACKEND_REQ, CONFIG and INBAND_NOTIFICATIONS.
 */
#define FEATURES                                                                                   \
	(BIT(30) | BIT(VIRTIO_F_VERSION_1) | BIT(VIRTIO_NET_F_MRG_RXBUF) | BIT(VIRTIO_NET_F_MAC))
#define PROTOCOL_FEATURES (BIT(3) | BIT(5) | BIT(9) | BIT(14))

struct header {
	uint32_t request;
	uint32_t flags;
	uint32_t bytes;
};

struct message {
	struct header header;
	union {
		uint64_t number;
		struct {
			uint32_t index;
			uint32_t number;
		} queue;
		struct {
			uint32_t index;
			uint32_t flags;
			uint64_t descriptors;
			uint64_t used;
			uint64_t available;
			uint64_t log;
		} addresses;
		struct {
			uint32_t count;
			uint32_t padding;
			struct {
				uint64_t guest;
				uint64_t bytes;
				uint64_t user;
				uint64_t offset;
			} regions[GUEST_REGIONS_MAX];
		} memory;
		struct {
			uint32_t offset;
			uint32_t bytes;
			uint32_t flags;
			uint8_t space[256];
		} config;
		uint8_t bytes[1024];
	};
	int fds[DESCRIPTORS_MAX];
	unsigned fd_count;
};

void vhost_open(struct vhost_device *device, int fd, const uint8_t mac[6])
{
	*device =
	        (struct vhost_device){.fd = fd, .call_fd = -1, .patience_ms = MESSAGE_PATIENCE_MS};
	memcpy(device->mac, mac, sizeof(device->mac));
}

void vhost_close(struct vhost_device *device)
{
	if (device->fd >= 0)
		close(device->fd);
	if (device->call_fd >= 0)
		close(device->call_fd);
	guest_memory_close(&device->memory);
	device->fd = device->call_fd = -1;
}

/* Returns false if nothing has arrived by the deadline, and records that as the device's error. */
static bool wait_until_readable(struct vhost_device *device, int fd, int64_t deadline_ms)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	int count;

	do
		count = poll(&readable, 1, ina_left_ms(deadline_ms, device->patience_ms));
	while (count < 0 && errno == EINTR);
	if (count == 0)
		device->error = "its network driver sent an incomplete message";
	return count > 0;
}

static bool read_all(struct vhost_device *device, int fd, void *to, size_t bytes,
                     int64_t deadline_ms)
{
	size_t done = 0;

	while (done < bytes) {
		if (!wait_until_readable(device, fd, deadline_ms))
			return false;
		ssize_t got = read(fd, (char *)to + done, bytes - done);

		if (got == 0 || (got < 0 && errno != EINTR))
			return false;
		done += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static bool send_all(int fd, const void *from, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t sent = send(fd, (const char *)from + done, bytes - done, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return false;
		done += sent > 0 ? (size_t)sent : 0;
	}
	return true;
}

static void close_descriptors(struct message *message)
{
	for (unsigned i = 0; i < message->fd_count; i++)
		close(message->fds[i]);
	message->fd_count = 0;
}

/* Reads the header, which brings the descriptors with its first byte, then the rest. */
static bool read_message(struct vhost_device *device, struct message *message)
{
	const int64_t deadline_ms = ina_now_ms() + device->patience_ms;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(message->fds))];
	struct iovec piece = {.iov_base = &message->header, .iov_len = sizeof(message->header)};
	struct msghdr header = {
	        .msg_iov = &piece,
	        .msg_iovlen = 1,
	        .msg_control = control,
	        .msg_controllen = sizeof(control),
	};

	*message = (struct message){0};
	if (!wait_until_readable(device, device->fd, deadline_ms))
		return false;
	const ssize_t got = recvmsg(device->fd, &header, MSG_CMSG_CLOEXEC);
	if (got <= 0)
		return false;
	for (struct cmsghdr *part = CMSG_FIRSTHDR(&header); part;
	     part = CMSG_NXTHDR(&header, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		message->fd_count = (unsigned)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(message->fds, CMSG_DATA(part), message->fd_count * sizeof(int));
	}
	if (!read_all(device, device->fd, (uint8_t *)&message->header + got,
	              sizeof(message->header) - (size_t)got, deadline_ms) ||
	    message->header.bytes > sizeof(message->bytes) ||
	    !read_all(device, device->fd, message->bytes, message->header.bytes, deadline_ms)) {
		close_descriptors(message);
		return false;
	}
	return true;
}

static bool reply(struct vhost_device *device, struct message *message, uint32_t bytes)
{
	message->header.flags = FLAG_VERSION | FLAG_REPLY;
	message->header.bytes = bytes;
	return send_all(device->fd, &message->header, sizeof(message->header)) &&
	       send_all(device->fd, message->bytes, bytes);
}

/* Maps a region of memory. Returns false if its file is too short for it, or mmap() fails. */
static bool map_region(struct guest_memory *memory, uint64_t guest, uint64_t bytes, uint64_t offset,
                       int fd)
{
	struct stat file;

	if (fstat(fd, &file) != 0 || bytes == 0 || offset > (uint64_t)file.st_size ||
	    bytes > (uint64_t)file.st_size - offset)
		return false;
	void *map = mmap(NULL, offset + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return false;
	memory->regions[memory->count].guest = guest;
	memory->regions[memory->count].bytes = bytes;
	memory->regions[memory->count].at = (uint8_t *)map + offset;
	memory->regions[memory->count].map = map;
	memory->regions[memory->count].map_bytes = offset + bytes;
	memory->count++;
	return true;
}

static void forget_virtqueue(struct vhost_device *device, unsigned index)
{
	device->queues[index].is_enabled = false;
	device->queues[index].virtqueue = (struct virtqueue){0};
}

/*
 * The old virtqueues lie in the old memory, so they are forgotten until the guest places them anew.
 */
static bool map_memory(struct vhost_device *device, const struct message *message)
{
	for (unsigned i = 0; i < VHOST_QUEUES; i++)
		forget_virtqueue(device, i);
	guest_memory_close(&device->memory);
	if (message->memory.count > GUEST_REGIONS_MAX || message->memory.count > message->fd_count)
		return false;
	for (unsigned i = 0; i < message->memory.count; i++)
		if (!map_region(&device->memory, message->memory.regions[i].guest,
		                message->memory.regions[i].bytes, message->memory.regions[i].offset,
		                message->fds[i]))
			return false;
	return true;
}

static bool place_virtqueue(struct vhost_device *device, const struct message *message)
{
	const unsigned index = message->addresses.index;

	if (index >= VHOST_QUEUES)
		return false;
	forget_virtqueue(device, index);
	if (!virtqueue_open(&device->queues[index].virtqueue, &device->memory,
	                    device->queues[index].size, message->addresses.descriptors,
	                    message->addresses.available, message->addresses.used))
		return false;
	device->queues[index].virtqueue.next_available = device->queues[index].base;
	device->queues[index].virtqueue.next_used = device->queues[index].base;
	device->queues[index].is_enabled = true;
	virtqueue_silence(&device->queues[index].virtqueue);
	return true;
}

/* Returns false for a virtqueue that has no place in memory yet. */
static bool enable_virtqueue(struct vhost_device *device, unsigned index, bool on)
{
	if (index >= VHOST_QUEUES || (on && device->queues[index].virtqueue.size == 0))
		return false;
	device->queues[index].is_enabled = on;
	return true;
}

/* Fills in virtio_net_config, of which only the MAC address is set. */
static void fill_config(const struct vhost_device *device, struct message *message)
{
	uint8_t space[sizeof(message->config.space)] = {0};

	memcpy(space, device->mac, sizeof(device->mac));
	if (message->config.offset <= sizeof(space) &&
	    message->config.bytes <= sizeof(space) - message->config.offset)
		memcpy(message->config.space, space + message->config.offset,
		       message->config.bytes);
}

/*
 * If the message is a request for a value, answers it. Returns false if it is not; sets *gone if
 * the guest has gone.
 */
static bool answer(struct vhost_device *device, struct message *message, bool *gone)
{
	uint32_t bytes = sizeof(message->number);

	switch (message->header.request) {
	case GET_FEATURES:
		message->number = FEATURES;
		break;
	case GET_PROTOCOL_FEATURES:
		message->number = PROTOCOL_FEATURES;
		break;
	case GET_CONFIG:
		fill_config(device, message);
		bytes = message->header.bytes;
		break;
	default:
		return false;
	}
	*gone = !reply(device, message, bytes);
	return true;
}

/* Carries out a message. Returns false if it is invalid or unsupported. */
static bool obey(struct vhost_device *device, struct message *message)
{
	const unsigned index = message->queue.index;

	switch (message->header.request) {
	case SET_MEM_TABLE:
		return map_memory(device, message);
	case SET_VRING_NUM:
		if (index < VHOST_QUEUES)
			device->queues[index].size = message->queue.number;
		return index < VHOST_QUEUES;
	case SET_VRING_BASE:
		if (index < VHOST_QUEUES)
			device->queues[index].base = (uint16_t)message->queue.number;
		return index < VHOST_QUEUES;
	case SET_VRING_ADDR:
		return place_virtqueue(device, message);
	case SET_VRING_ENABLE:
		return enable_virtqueue(device, index, message->queue.number != 0);
	case SET_BACKEND_REQ_FD:
		if (message->fd_count != 1 || device->call_fd >= 0)
			return false;
		device->call_fd = message->fds[0];
		message->fd_count = 0;
		return true;
	case SET_FEATURES:
	case SET_OWNER:
	case SET_VRING_KICK:
	case SET_VRING_CALL:
	case SET_VRING_ERR:
	case SET_PROTOCOL_FEATURES:
	case SET_CONFIG:
	case VRING_KICK: /* not needed: the bridge polls the queues */
		return true;
	default:
		return false;
	}
}

bool vhost_serve(struct vhost_device *device)
{
	struct message message;
	bool gone = false;

	if (!read_message(device, &message))
		return false;
	if (!answer(device, &message, &gone)) {
		const bool needs_reply = message.header.flags & FLAG_NEED_REPLY;
		const bool good = obey(device, &message);

		message.number = !good;
		if (!good)
			device->error = "its network driver requested a feature that the device "
			                "does not have";
		gone = needs_reply && !reply(device, &message, sizeof(message.number));
	}
	close_descriptors(&message);
	return !gone;
}

/* True if both queues are enabled. */
static bool is_up(const struct vhost_device *device)
{
	return device->fd >= 0 && device->call_fd >= 0 && !device->error &&
	       device->queues[VHOST_QUEUE_RX].is_enabled &&
	       device->queues[VHOST_QUEUE_TX].is_enabled;
}

static const char virtqueue_error[] = "its network driver's ring is invalid";

struct frame *vhost_take(struct vhost_device *device, struct frame_pool *pool, bool *dropped)
{
	uint8_t bytes[sizeof(struct virtio_net_hdr_mrg_rxbuf) + FRAME_BYTES_MAX];
	const size_t head = sizeof(struct virtio_net_hdr_mrg_rxbuf);
	struct virtqueue *queue = &device->queues[VHOST_QUEUE_TX].virtqueue;

	*dropped = false;
	if (!is_up(device) || virtqueue_available(queue) == 0)
		return NULL;
	long length = virtqueue_take(queue, bytes, sizeof(bytes));
	if (length < 0) {
		device->error = virtqueue_error;
		return NULL;
	}
	struct frame *frame = frame_new(pool);
	if (!frame || (size_t)length > sizeof(bytes) || (size_t)length < head + FRAME_BYTES_MIN) {
		if (frame)
			frame_drop(frame);
		*dropped = true;
		return NULL;
	}
	frame->length = (unsigned)((size_t)length - head);
	memcpy(frame->bytes, bytes + head, frame->length);
	return frame;
}

bool vhost_put(struct vhost_device *device, const struct frame *frame)
{
	const struct virtio_net_hdr_mrg_rxbuf head = {.num_buffers = 1};

	if (!is_up(device))
		return false;
	int put = virtqueue_fill(&device->queues[VHOST_QUEUE_RX].virtqueue, &head, sizeof(head),
	                         frame->bytes, frame->length);
	if (put < 0)
		device->error = virtqueue_error;
	return put > 0;
}

bool vhost_wants_call(const struct vhost_device *device, unsigned queue)
{
	return is_up(device) && virtqueue_wants_call(&device->queues[queue].virtqueue);
}

bool vhost_call(struct vhost_device *device, unsigned queue)
{
	const struct {
		struct header header;
		uint32_t index;
		uint32_t number;
	} call = {{BACKEND_VRING_CALL, FLAG_VERSION | FLAG_NEED_REPLY, 8}, queue, 0};

	return send_all(device->call_fd, &call, sizeof(call));
}

bool vhost_called(struct vhost_device *device)
{
	uint8_t answer[sizeof(struct header) + sizeof(uint64_t)];

	return read_all(device, device->call_fd, answer, sizeof(answer),
	                ina_now_ms() + device->patience_ms);
}
