/* SPDX-License-Identifier: Apache-2.0 */
/* The virtqueues, then the buffers that pass through them. */
#include "virtqueue.h"

#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* Returns the mapping of `bytes` bytes at a guest's address, or NULL if it has a gap. */
static void *memory_at(const struct guest_memory *memory, uint64_t address, uint64_t bytes)
{
	for (unsigned i = 0; i < memory->count; i++) {
		uint64_t offset = address - memory->regions[i].guest;

		if (address >= memory->regions[i].guest && offset <= memory->regions[i].bytes &&
		    bytes <= memory->regions[i].bytes - offset)
			return memory->regions[i].at + offset;
	}
	return NULL;
}

void guest_memory_close(struct guest_memory *memory)
{
	for (unsigned i = 0; i < memory->count; i++)
		munmap(memory->regions[i].map, memory->regions[i].map_bytes);
	memory->count = 0;
}

/* Returns a part of a virtqueue, or NULL. It must be aligned, so that accesses to it are atomic. */
static void *part_at(const struct guest_memory *memory, uint64_t address, uint64_t bytes,
                     unsigned alignment)
{
	void *part = memory_at(memory, address, bytes);

	return (uintptr_t)part % alignment == 0 ? part : NULL;
}

bool virtqueue_open(struct virtqueue *queue, const struct guest_memory *memory, unsigned size,
                    uint64_t descriptors, uint64_t available, uint64_t used)
{
	*queue = (struct virtqueue){0};
	if (size == 0 || size > VIRTQUEUE_SIZE_MAX || (size & (size - 1)) != 0)
		return false;
	struct virtqueue placed = {
	        .memory = memory,
	        .size = size,
	        .descriptors = part_at(memory, descriptors, size * sizeof(struct vring_desc),
	                               VRING_DESC_ALIGN_SIZE),
	        .available = part_at(memory, available,
	                             sizeof(struct vring_avail) + size * sizeof(uint16_t),
	                             VRING_AVAIL_ALIGN_SIZE),
	        .used = part_at(memory, used,
	                        sizeof(struct vring_used) + size * sizeof(struct vring_used_elem),
	                        VRING_USED_ALIGN_SIZE),
	};

	if (!placed.descriptors || !placed.available || !placed.used)
		return false;
	*queue = placed;
	return true;
}

void virtqueue_silence(struct virtqueue *queue)
{
	queue->used->flags |= VRING_USED_F_NO_NOTIFY;
}

bool virtqueue_wants_call(const struct virtqueue *queue)
{
	return !(queue->available->flags & VRING_AVAIL_F_NO_INTERRUPT);
}

unsigned virtqueue_available(const struct virtqueue *queue)
{
	uint16_t index = *(volatile uint16_t *)&queue->available->idx;

	atomic_thread_fence(memory_order_acquire);
	return (uint16_t)(index - queue->next_available);
}

/*
 * Makes a copy, since the guest may change the virtqueue between a check and a use of the values.
 */
static struct vring_desc read_descriptor(const struct virtqueue *queue, uint16_t index)
{
	return *(const volatile struct vring_desc *)&queue->descriptors[index];
}

/* Reads the first piece of a chain. Returns false if the virtqueue is invalid. */
static bool first_of_chain(const struct virtqueue *queue, uint16_t ahead, uint16_t *head,
                           struct vring_desc *piece)
{
	const uint16_t place = (uint16_t)(queue->next_available + ahead) % queue->size;

	*head = *(const volatile uint16_t *)&queue->available->ring[place];
	if (*head >= queue->size)
		return false;
	*piece = read_descriptor(queue, *head);
	return true;
}

/* Returns false if the piece was the last one. */
static bool next_of_chain(const struct virtqueue *queue, struct vring_desc *piece)
{
	if (!(piece->flags & VRING_DESC_F_NEXT) || piece->next >= queue->size)
		return false;
	*piece = read_descriptor(queue, piece->next);
	return true;
}

/* Returns a chain to the guest, which may see it once publish() has set used->idx. */
static void give_back(struct virtqueue *queue, uint16_t head, size_t bytes)
{
	queue->used->ring[queue->next_used++ % queue->size] =
	        (struct vring_used_elem){.id = head, .len = (uint32_t)bytes};
	queue->next_available++;
}

static void publish(struct virtqueue *queue)
{
	atomic_thread_fence(memory_order_release);
	*(volatile uint16_t *)&queue->used->idx = queue->next_used;
}

long virtqueue_take(struct virtqueue *queue, void *bytes, size_t room)
{
	uint16_t head;
	struct vring_desc piece;
	bool has_piece = virtqueue_available(queue) <= queue->size &&
	                 first_of_chain(queue, 0, &head, &piece);
	size_t length = 0;

	for (unsigned pieces = 0; has_piece; has_piece = next_of_chain(queue, &piece)) {
		const void *from = memory_at(queue->memory, piece.addr, piece.len);

		if (!from || ++pieces > queue->size)
			return -1;
		if (length + piece.len <= room)
			memcpy((char *)bytes + length, from, piece.len);
		length += piece.len;
	}
	if (length == 0)
		return -1;
	give_back(queue, head, 0);
	publish(queue);
	return (long)length;
}

/* The bytes still to be written: first the head, then the frame. */
struct source {
	const char *parts[2];
	size_t left[2];
};

static size_t pour(struct source *source, char *to, size_t room)
{
	size_t poured = 0;

	for (unsigned i = 0; i < 2; i++) {
		size_t count = source->left[i] < room - poured ? source->left[i] : room - poured;

		memcpy(to + poured, source->parts[i], count);
		source->parts[i] += count;
		source->left[i] -= count;
		poured += count;
	}
	return poured;
}

/* Fills one chain, whose first piece is `piece`. Returns the number of bytes it took, or -1. */
static long fill_chain(const struct virtqueue *queue, struct vring_desc piece,
                       struct source *source)
{
	unsigned pieces = 0;
	long filled = 0;

	do {
		char *to = memory_at(queue->memory, piece.addr, piece.len);

		if (!to || ++pieces > queue->size || !(piece.flags & VRING_DESC_F_WRITE))
			return -1;
		filled += (long)pour(source, to, piece.len);
	} while (next_of_chain(queue, &piece));
	return filled ? filled : -1;
}

int virtqueue_fill(struct virtqueue *queue, const void *head, size_t head_bytes, const void *bytes,
                   size_t count)
{
	struct source source = {{head, bytes}, {head_bytes, count}};
	const unsigned available = virtqueue_available(queue);
	uint16_t heads[VIRTQUEUE_SIZE_MAX];
	long lengths[VIRTQUEUE_SIZE_MAX];
	void *chain_count = NULL;
	uint16_t chains = 0;

	if (available > queue->size)
		return -1;
	while (source.left[0] + source.left[1] > 0) {
		struct vring_desc first;

		if (chains == available)
			return 0;
		if (!first_of_chain(queue, chains, &heads[chains], &first))
			return -1;
		lengths[chains] = fill_chain(queue, first, &source);
		if (lengths[chains] < 0)
			return -1;
		if (chains == 0)
			chain_count =
			        memory_at(queue->memory, first.addr + head_bytes - sizeof(chains),
			                  sizeof(chains));
		chains++;
	}
	if (!chain_count)
		return -1;
	memcpy(chain_count, &chains, sizeof(chains));
	for (unsigned i = 0; i < chains; i++)
		give_back(queue, heads[i], (size_t)lengths[i]);
	publish(queue);
	return 1;
}
