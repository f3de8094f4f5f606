/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registered memory: the library's own slots and staging, made once at open, and the caller's
 * buffers.
 *
 * A registration holds pages, not addresses. When the caller unmaps a buffer and maps another one
 * at the same address, a registration of the first still leads to the first one's pages. So a
 * registration is used only while the library knows that the mapping has not changed: until the
 * request ends that it was made for, since the buffer is the library's until then, or, if it was
 * made by ina_register(), until ina_deregister(). The device may read a buffer after its request
 * has ended; the registration then stays for the device alone, and no other request uses it.
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
	bool kept;          /* from ina_register() to ina_deregister() */
	unsigned int users; /* requests that have not ended */
	unsigned int reads; /* of requests that have: the device may read it yet */
};

/* Each of a window's messages may be the last of an all-reduce, with two registrations. */
#define INA_MEMORY_DEFERRED (2 * INA_WINDOW_PACKETS_MAX)

/*
 * A buffer of up to this size is copied rather than registered for one call. To register is two
 * system calls, and work for each page.
 */
#define INA_COPIED_BYTES 65536u

struct ina_memory {
	struct ibv_pd *pd;
	/* The library's own. */
	void *slab;
	size_t slab_bytes;
	struct ibv_mr *slab_mr;
	/* The caller's. */
	struct ina_registration *registrations;
	unsigned int registration_count; /* entries of the array */
	uint64_t made;                   /* registrations so far */
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
                                struct ina_failure *failure);
void ina_memory_close(struct ina_memory *memory);

/*
 * Finds a registration that covers the memory, or makes one if `makes`, and holds it until
 * ina_memory_put(). bytes > 0. Returns its local key in *lkey and its entry in *entry. 0, or an
 * errno: the device does not take the memory; ENOENT: none was to be made.
 */
int ina_memory_get(struct ina_memory *memory, const void *start, size_t bytes, bool writable,
                   bool makes, unsigned int *entry, uint32_t *lkey);
void ina_memory_put(struct ina_memory *memory, unsigned int entry);

/*
 * The request has ended, but the device may read the memory until so many messages are
 * acknowledged. ina_memory_release() says how many are.
 */
void ina_memory_put_later(struct ina_memory *memory, unsigned int entry, uint64_t until);
void ina_memory_release(struct ina_memory *memory, uint64_t acknowledged);

/* ina_register() and ina_deregister(). A registration in use is dropped when its use ends. */
enum ina_status ina_memory_register(struct ina_memory *memory, void *start, size_t bytes,
                                    struct ina_failure *failure);
enum ina_status ina_memory_forget(struct ina_memory *memory, const void *start, size_t bytes,
                                  struct ina_failure *failure);

/* What helps where memory could not be registered for this errno: a clause, never NULL. */
const char *ina_memory_remedy(int error);

#endif
