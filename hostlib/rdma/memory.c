/* SPDX-License-Identifier: Apache-2.0 */
/* Registered memory, and how long a registration may be used. */
#include "memory.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u

static_assert(sizeof(struct ina_slot) == 64, "a slot is a cache line");

const char *ina_memory_remedy(int error)
{
	switch (error) {
	case ENOMEM:
	case EAGAIN:
	case EPERM:
		return "the limit on locked memory is too low: see `ulimit -l`";
	case EFAULT:
		return "the device cannot register memory that is mapped in this way, such as from "
		       "a file";
	default:
		return "the device refuses it";
	}
}

enum ina_status ina_memory_open(struct ina_memory *memory, struct ibv_pd *pd, size_t slab_bytes,
                                struct ina_failure *failure)
{
	memset(memory, 0, sizeof(*memory));
	memory->pd = pd;
	memory->slab_bytes = (slab_bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	memory->slab = aligned_alloc(PAGE_BYTES, memory->slab_bytes);
	if (!memory->slab)
		return ina_fail(failure, INA_ERR_MEMORY, "cannot allocate %zu bytes for messages",
		                memory->slab_bytes);
	memset(memory->slab, 0, memory->slab_bytes);
	memory->slab_mr = ibv_reg_mr(pd, memory->slab, memory->slab_bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!memory->slab_mr) {
		int error = errno;

		return ina_fail(failure, INA_ERR_MEMORY,
		                "cannot register %zu bytes for messages: %s (%s)",
		                memory->slab_bytes, strerror(error), ina_memory_remedy(error));
	}
	return INA_OK;
}

/* Deregisters. Returns 0 or an errno; after an error the device and the entry keep the memory. */
static int drop(struct ina_registration *registration)
{
	int error = registration->mr ? ibv_dereg_mr(registration->mr) : 0;

	if (error == 0)
		*registration = (struct ina_registration){0};
	return error;
}

/* The same, but only if the registration is unused. */
static int drop_unused(struct ina_registration *registration)
{
	bool is_used = registration->kept || registration->users > 0 || registration->reads > 0;

	return is_used ? 0 : drop(registration);
}

void ina_memory_close(struct ina_memory *memory)
{
	for (unsigned int i = 0; i < memory->registration_count; i++)
		drop(&memory->registrations[i]);
	free(memory->registrations);
	/* Do not free memory that the device may still write to. */
	if (!memory->slab_mr || ibv_dereg_mr(memory->slab_mr) == 0)
		free(memory->slab);
	memset(memory, 0, sizeof(*memory));
}

/* Does the registration cover the memory, with a mapping that has not changed since? */
static bool serves(const struct ina_registration *r, uintptr_t start, size_t bytes, bool writable)
{
	return r->mr && (r->kept || r->users > 0) && start >= r->start && bytes <= r->bytes &&
	       start - r->start <= r->bytes - bytes && (r->writable || !writable);
}

/* A free entry; extends the array if necessary. Returns -1 if memory runs out. */
static int free_entry(struct ina_memory *memory)
{
	unsigned int count = memory->registration_count;
	struct ina_registration *longer;

	for (unsigned int i = 0; i < count; i++) {
		if (!memory->registrations[i].mr)
			return (int)i;
	}
	longer = realloc(memory->registrations, (count + 8) * sizeof(*longer));
	if (!longer)
		return -1;
	memset(longer + count, 0, 8 * sizeof(*longer));
	memory->registrations = longer;
	memory->registration_count = count + 8;
	return (int)count;
}

/* Adds a registration. Returns 0 or an errno. */
static int add(struct ina_memory *memory, const void *start, size_t bytes, bool writable,
               unsigned int *entry)
{
	int place = free_entry(memory);
	struct ina_registration *r;

	if (place < 0)
		return ENOMEM;
	r = &memory->registrations[place];
	/* A buffer that is only sent may be read-only. */
	r->mr = ibv_reg_mr(memory->pd, (void *)(uintptr_t)start, bytes,
	                   writable ? IBV_ACCESS_LOCAL_WRITE : 0);
	if (!r->mr)
		return errno;
	r->start = (uintptr_t)start;
	r->bytes = bytes;
	r->writable = writable;
	memory->made++;
	*entry = (unsigned int)place;
	return 0;
}

int ina_memory_get(struct ina_memory *memory, const void *start, size_t bytes, bool writable,
                   bool makes, unsigned int *entry, uint32_t *lkey)
{
	unsigned int found = 0;
	int error;

	while (found < memory->registration_count &&
	       !serves(&memory->registrations[found], (uintptr_t)start, bytes, writable))
		found++;
	if (found == memory->registration_count) {
		error = makes ? add(memory, start, bytes, writable, &found) : ENOENT;
		if (error != 0)
			return error;
	}
	memory->registrations[found].users++;
	*entry = found;
	*lkey = memory->registrations[found].mr->lkey;
	return 0;
}

void ina_memory_put(struct ina_memory *memory, unsigned int entry)
{
	memory->registrations[entry].users--;
	drop_unused(&memory->registrations[entry]);
}

void ina_memory_put_later(struct ina_memory *memory, unsigned int entry, uint64_t until)
{
	unsigned int place =
	        (memory->deferred_first + memory->deferred_count++) % INA_MEMORY_DEFERRED;

	assert(memory->deferred_count <= INA_MEMORY_DEFERRED);
	memory->registrations[entry].users--;
	memory->registrations[entry].reads++;
	memory->deferred[place].entry = entry;
	memory->deferred[place].until = until;
}

void ina_memory_release(struct ina_memory *memory, uint64_t acknowledged)
{
	while (memory->deferred_count > 0 &&
	       memory->deferred[memory->deferred_first].until <= acknowledged) {
		struct ina_registration *read =
		        &memory->registrations[memory->deferred[memory->deferred_first].entry];

		read->reads--;
		drop_unused(read);
		memory->deferred_first = (memory->deferred_first + 1) % INA_MEMORY_DEFERRED;
		memory->deferred_count--;
	}
}

enum ina_status ina_memory_register(struct ina_memory *memory, void *start, size_t bytes,
                                    struct ina_failure *failure)
{
	unsigned int entry;
	int error = add(memory, start, bytes, true, &entry);

	/* Read-only memory can be sent, so register it without write permission. */
	if (error == EFAULT)
		error = add(memory, start, bytes, false, &entry);
	if (error != 0)
		return ina_fail(failure, INA_ERR_MEMORY, "cannot register %zu bytes at %p: %s (%s)",
		                bytes, start, strerror(error), ina_memory_remedy(error));
	memory->registrations[entry].kept = true;
	return INA_OK;
}

enum ina_status ina_memory_forget(struct ina_memory *memory, const void *start, size_t bytes,
                                  struct ina_failure *failure)
{
	uintptr_t first = (uintptr_t)start;
	enum ina_status status = INA_OK;

	for (unsigned int i = 0; i < memory->registration_count; i++) {
		struct ina_registration *r = &memory->registrations[i];
		int error;

		if (!r->mr || first >= r->start + r->bytes || r->start >= first + bytes)
			continue;
		r->kept = false;
		error = drop_unused(r);
		if (error != 0)
			status = ina_fail(failure, INA_ERR_DEVICE,
			                  "cannot deregister %zu bytes at %p: %s", bytes, start,
			                  strerror(error));
	}
	return status;
}
