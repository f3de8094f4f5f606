/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory: the library's slots and staging, registered once at open, and the caller's
 * buffers.
 *
 * A registration holds pages, not addresses. If the caller unmaps a buffer and maps another one at
 * the same address, a registration of the first buffer still leads to its old pages. So libina uses
 * a registration only while it knows that the mapping has not changed. For one that was made for a
 * request, that is until the request ends, because the buffer belongs to the library until then.
 * For one that ina_register() made, it is until ina_deregister(). The device may read a buffer
 * after its request has ended. The registration then stays for the device alone, and no other
 * request uses it.
 */
#ifndef INA_RDMA_MEMORY_H
#define INA_RDMA_MEMORY_H

#include <infiniband/verbs.h>

#include "hostlib/options/settings.h"
#include "wire/ina_wire.h"

/*
 * The framing of one message; its elements are elsewhere in memory. The trailer always has the same
 * place, and the message's padding is the part of the zeros before it that it needs.
 */
struct ina_slot {
	struct ina_wire_header header;
	uint8_t padding[INA_WIRE_ALIGNMENT];
	struct ina_wire_trailer trailer;
};

struct ina_registration {
	struct ibv_mr *mr; /* NULL: free entry */
	uintptr_t start;
	size_t bytes;
	bool writable;
	bool kept;          /* made by ina_register(), and not yet deregistered */
	unsigned int users; /* requests under way that use it */
	/* requests that have ended, but whose sends the device may still read from here */
	unsigned int reads;
};

/* Each message of a window may be the last of an all-reduce that has two registrations. */
#define INA_MEMORY_DEFERRED (2 * INA_WINDOW_PACKETS_MAX)

/*
 * A buffer of at most this many bytes is copied, because registering it for one call would cost two
 * system calls, and work for each page.
 */
#define INA_COPIED_BYTES 65536u

struct ina_memory {
	struct ibv_pd *pd;
	/* The library's memory. */
	void *slab;
	size_t slab_bytes;
	struct ibv_mr *slab_mr;
	/* The caller's memory. */
	struct ina_registration *registrations;
	unsigned int registration_count; /* entries of the array */
	/* number of registrations that have been made, for statistics */
	uint64_t made;
	/*
	 * Deferred releases, in order: the device may still read memory of these registrations for
	 * the last sends.
	 */
	struct {
		unsigned int entry;
		/* release when this number of messages of the connection is acknowledged */
		uint64_t until;
	} deferred[INA_MEMORY_DEFERRED];
	unsigned int deferred_first;
	unsigned int deferred_count;
};

/*
 * Allocates and registers a zeroed slab of slab_bytes, rounded up to whole pages. If it fails,
 * ina_memory_close() is still safe.
 */
enum ina_status ina_memory_open(struct ina_memory *memory, struct ibv_pd *pd, size_t slab_bytes,
                                struct ina_failure *failure);
void ina_memory_close(struct ina_memory *memory);

/*
 * Finds a registration that covers the memory, or makes one if `makes` is set, and holds it until
 * ina_memory_put(). bytes must be more than 0. Sets *lkey to its local key and *entry to its entry.
 * Returns 0, ENOENT if there is no registration and `makes` is not set, or another errno if the
 * memory cannot be registered.
 */
int ina_memory_get(struct ina_memory *memory, const void *start, size_t bytes, bool writable,
                   bool makes, unsigned int *entry, uint32_t *lkey);
void ina_memory_put(struct ina_memory *memory, unsigned int entry);

/*
 * ina_memory_put_later() is for a request that has ended while the device may still read the
 * memory: it releases the registration when `until` messages are acknowledged. The caller passes
 * the number of acknowledged messages to ina_memory_release().
 */
void ina_memory_put_later(struct ina_memory *memory, unsigned int entry, uint64_t until);
void ina_memory_release(struct ina_memory *memory, uint64_t acknowledged);

/*
 * Implement ina_register() and ina_deregister(). A registration that is in use stays until its last
 * use ends.
 */
enum ina_status ina_memory_register(struct ina_memory *memory, void *start, size_t bytes,
                                    struct ina_failure *failure);
enum ina_status ina_memory_forget(struct ina_memory *memory, const void *start, size_t bytes,
                                  struct ina_failure *failure);

/* A remedy for memory that could not be registered with this errno: a clause, never NULL. */
const char *ina_memory_remedy(int error);

#endif
