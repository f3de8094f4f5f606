/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of each collective, and the check of its result. */
#include "collective.h"

#include <string.h>

static const struct {
	const char *name;
	bool blocks; /* a buffer has one block of `count` elements for each rank */
	bool combines;
	bool has_root;
} COLLECTIVES[] = {
        [COLLECTIVE_ALLREDUCE] = {"all_reduce", false, true, false},
        [COLLECTIVE_REDUCE_SCATTER] = {"reduce_scatter", true, true, false},
        [COLLECTIVE_ALL_GATHER] = {"all_gather", true, false, false},
        [COLLECTIVE_BROADCAST] = {"broadcast", false, false, true},
        [COLLECTIVE_REDUCE] = {"reduce", false, true, true},
        [COLLECTIVE_BARRIER] = {"barrier", false, false, false},
};

#define COUNT (sizeof(COLLECTIVES) / sizeof(COLLECTIVES[0]))

bool collective_find(const char *name, enum collective *which)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (strcmp(name, COLLECTIVES[i].name) == 0) {
			*which = (enum collective)i;
			return true;
		}
	}
	return false;
}

const char *collective_name(enum collective which)
{
	return COLLECTIVES[which].name;
}

bool collective_combines(enum collective which)
{
	return COLLECTIVES[which].combines;
}

bool collective_has_root(enum collective which)
{
	return COLLECTIVES[which].has_root;
}

size_t collective_count(enum collective which, size_t elements, int ranks)
{
	return COLLECTIVES[which].blocks ? elements / (size_t)ranks : elements;
}

size_t collective_elements(enum collective which, size_t count, int ranks)
{
	return COLLECTIVES[which].blocks ? count * (size_t)ranks : count;
}

double collective_bus_factor(enum collective which, int ranks)
{
	if (which == COLLECTIVE_ALLREDUCE)
		return 2.0 * (ranks - 1) / ranks;
	return COLLECTIVES[which].blocks ? (double)(ranks - 1) / ranks : 1;
}

static size_t block_bytes(const struct collective_call *call, enum ina_type type)
{
	return call->count * pattern_bytes(type);
}

/* In place, this rank sends its own block of the receive buffer. */
static uint8_t *send_of(const struct collective_call *call, enum ina_type type)
{
	if (call->which == COLLECTIVE_ALL_GATHER && call->send == call->recv)
		return call->recv + (size_t)call->rank * block_bytes(call, type);
	return call->send;
}

static uint8_t *recv_of(const struct collective_call *call, enum ina_type type)
{
	if (call->which == COLLECTIVE_REDUCE_SCATTER && call->send == call->recv)
		return call->send + (size_t)call->rank * block_bytes(call, type);
	return call->recv;
}

void collective_fill(const struct collective_call *call, const struct pattern *pattern)
{
	size_t all = collective_elements(call->which, call->count, call->ranks);
	size_t sent = call->which == COLLECTIVE_ALL_GATHER ? call->count : all;

	/* With this value in the buffer, the check finds elements that were not written. */
	if (call->recv != call->send || call->which == COLLECTIVE_ALL_GATHER)
		memset(call->recv, 0xEE, all * pattern_bytes(pattern->type));
	pattern_fill(pattern, call->rank, send_of(call, pattern->type), sent);
}

enum ina_status collective_run(const struct collective_call *call, ina_comm *comm,
                               enum ina_type type, enum ina_op op)
{
	void *send = send_of(call, type);
	void *recv = recv_of(call, type);

	switch (call->which) {
	case COLLECTIVE_REDUCE_SCATTER:
		return ina_reduce_scatter(comm, send, recv, call->count, type, op);
	case COLLECTIVE_ALL_GATHER:
		return ina_all_gather(comm, send, recv, call->count, type);
	case COLLECTIVE_BROADCAST:
		return ina_broadcast(comm, send, recv, call->count, type, call->root);
	case COLLECTIVE_REDUCE:
		return ina_reduce(comm, send, recv, call->count, type, op, call->root);
	case COLLECTIVE_BARRIER:
		return ina_barrier(comm);
	case COLLECTIVE_ALLREDUCE:
		break;
	}
	return ina_allreduce(comm, send, recv, call->count, type, op);
}

/* Counts wrong elements among those that one rank has sent and no operation has changed. */
static uint64_t check_moved(const struct collective_call *call, const struct pattern *pattern,
                            int from, const uint8_t *elements, size_t *first)
{
	uint8_t expected[4096];
	size_t bytes = pattern_bytes(pattern->type);
	struct pattern part = *pattern;
	uint64_t wrong = 0;

	for (size_t done = 0; done < call->count; done += sizeof(expected) / bytes) {
		size_t count = call->count - done;

		count = count < sizeof(expected) / bytes ? count : sizeof(expected) / bytes;
		part.offset = done;
		pattern_fill(&part, from, expected, count);
		for (size_t i = 0; i < count; i++) {
			if (memcmp(expected + i * bytes, elements + (done + i) * bytes, bytes) == 0)
				continue;
			if (wrong++ == 0)
				*first = done + i;
		}
	}
	return wrong;
}

uint64_t collective_check(const struct collective_call *call, const struct pattern *pattern,
                          size_t *first, double *farthest)
{
	const uint8_t *recv = recv_of(call, pattern->type);
	struct pattern own = *pattern;
	uint64_t wrong = 0;

	switch (call->which) {
	case COLLECTIVE_ALL_GATHER:
		for (int r = 0; r < call->ranks; r++)
			wrong += check_moved(call, pattern, r,
			                     recv + (size_t)r * block_bytes(call, pattern->type),
			                     first);
		return wrong;
	case COLLECTIVE_BROADCAST:
		return check_moved(call, pattern, call->root, recv, first);
	case COLLECTIVE_REDUCE_SCATTER:
		own.offset = (size_t)call->rank * call->count;
		break;
	case COLLECTIVE_BARRIER:
		return 0;
	case COLLECTIVE_REDUCE:
		if (call->rank != call->root)
			return 0;
		break;
	case COLLECTIVE_ALLREDUCE:
		break;
	}
	return pattern_check(&own, recv, call->count, first, farthest);
}
