/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory: the library's own slots and staging, made once at open, and the caller's
 * buffers, whose registrations are kept in a small cache.
 */
#ifndef INA_RDMA_MEMORY_H
#define INA_RDMA_MEMORY_H

#include <infiniband/verbs.h>

#include "hostlib/options/options.h"
#include "wire/ina_wire.h"

/*
 * The framing of one message in memory. The elements lie elsewhere. Trailers are always in the
 * same place; the padding is what is needed of the zeros before it.
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
	bool kept; /* by ina_register(): never evicted */
	unsigned int users;
	uint64_t used; /* when, by a count of uses */
};

/* Each of a window's messages may be the last of an all-reduce, with two registrations. */
#define INA_MEMORY_DEFERRED (2 * INA_WINDOW_PACKETS_MAX)

struct ina_memory {
	struct ibv_pd *pd;
	/* The library's own. */
	void *slab;
	size_t slab_bytes;
	struct ibv_mr *slab_mr;
	/* The caller's. */
	struct ina_registration *registrations;
	unsigned int registration_count; /* entries of the array */
	unsigned int cache_entries;
	uint64_t uses;
	uint64_t made; /* registrations so far */
	/* Deferred releases, in order: the device may still read the memory of the last sends. */
	struct {
		unsigned int entry;
		uint64_t until; /* so many messages of the connection are acknowledged */
	} deferred[INA_MEMORY_DEFERRED];
	unsigned int deferred_first;
	unsigned int deferred_count;
};

/* Registers a zeroed slab of slab_bytes. ina_memory_close() is safe if this fails. */
enum ina_status ina_memory_open(struct ina_memory *memory, struct ibv_pd *pd, size_t slab_bytes,
                                unsigned int cache_entries, struct ina_failure *failure);
void ina_memory_close(struct ina_memory *memory);

/*
 * Finds or makes a registration that covers the memory, and holds it until ina_memory_put().
 * bytes > 0. Returns its local key in *lkey and its entry in *entry.
 */
enum ina_status ina_memory_get(struct ina_memory *memory, const void *start, size_t bytes,
                               bool writable, unsigned int *entry, uint32_t *lkey,
                               struct ina_failure *failure);
void ina_memory_put(struct ina_memory *memory, unsigned int entry);

/* The same when so many messages are acknowledged; ina_memory_release() says how many are. */
void ina_memory_put_later(struct ina_memory *memory, unsigned int entry, uint64_t until);
void ina_memory_release(struct ina_memory *memory, uint64_t acknowledged);

/* ina_register() and ina_deregister(). */
enum ina_status ina_memory_register(struct ina_memory *memory, void *start, size_t bytes,
                                    struct ina_failure *failure);
enum ina_status ina_memory_forget(struct ina_memory *memory, const void *start, size_t bytes,
                                  struct ina_failure *failure);

#endif
