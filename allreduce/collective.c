/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of each collective, and the check of its result. */
#include "collective.h"

#include <string.h>

bool collective_find(const char *name, enum ina_call_kind *kind)
{
	for (*kind = INA_CALL_ALLREDUCE; *kind < INA_CALL_CLOSE; (*kind)++) {
		if (strcmp(name, ina_call_row(*kind)->name) == 0)
			return true;
	}
	return false;
}

/* Has a buffer one block of `count` elements for each rank? */
static bool has_blocks(enum ina_call_kind kind)
{
	return ina_call_row(kind)->send == INA_ALL || ina_call_row(kind)->recv == INA_ALL;
}

size_t collective_count(enum ina_call_kind kind, size_t elements, int ranks)
{
	return has_blocks(kind) ? elements / (size_t)ranks : elements;
}

size_t collective_elements(enum ina_call_kind kind, size_t count, int ranks)
{
	return has_blocks(kind) ? count * (size_t)ranks : count;
}

double collective_bus_factor(enum ina_call_kind kind, int ranks)
{
	if (kind == INA_CALL_ALLREDUCE)
		return 2.0 * (ranks - 1) / ranks;
	return has_blocks(kind) ? (double)(ranks - 1) / ranks : 1;
}

static size_t block_bytes(const struct collective_call *call, enum ina_type type)
{
	return call->count * ina_type_size(type);
}

/* In place, this rank's own block of the longer buffer is also the shorter one. */
static uint8_t *send_of(const struct collective_call *call, enum ina_type type)
{
	if (ina_call_row(call->kind)->recv == INA_ALL && call->send == call->recv)
		return call->recv + (size_t)call->rank * block_bytes(call, type);
	return call->send;
}

static uint8_t *recv_of(const struct collective_call *call, enum ina_type type)
{
	if (ina_call_row(call->kind)->send == INA_ALL && call->send == call->recv)
		return call->send + (size_t)call->rank * block_bytes(call, type);
	return call->recv;
}

void collective_fill(const struct collective_call *call, const struct pattern *pattern)
{
	const struct ina_call_row *row = ina_call_row(call->kind);
	size_t all = collective_elements(call->kind, call->count, call->ranks);

	/* With this value in the buffer, the check finds elements that were not written. */
	if (call->recv != call->send || row->recv == INA_ALL)
		memset(call->recv, 0xEE, all * ina_type_size(pattern->type));
	pattern_fill(pattern, call->rank, send_of(call, pattern->type),
	             row->send == INA_ALL ? all : call->count);
}

enum ina_status collective_run(const struct collective_call *call, ina_comm *comm,
                               enum ina_type type, enum ina_op op)
{
	ina_request *request;
	enum ina_status status =
	        ina_call_start(call->kind, comm, send_of(call, type), recv_of(call, type),
	                       call->count, type, op, call->root, &request);

	return status == INA_OK ? ina_wait(request) : status;
}

/* Counts wrong elements among those that one rank has sent and no operation has changed. */
static uint64_t check_moved(const struct collective_call *call, const struct pattern *pattern,
                            int from, const uint8_t *elements, size_t *first)
{
	uint8_t expected[4096];
	size_t bytes = ina_type_size(pattern->type);
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
	const struct ina_call_row *row = ina_call_row(call->kind);
	const uint8_t *recv = recv_of(call, pattern->type);
	size_t count =
	        ina_extent_count(row->recv, call->count, call->ranks, call->rank == call->root);
	struct pattern own = *pattern;
	uint64_t wrong = 0;

	if (row->combines) {
		own.offset = row->send == INA_ALL ? (size_t)call->rank * call->count : 0;
		return pattern_check(&own, recv, count, first, farthest);
	}
	if (row->recv != INA_ALL)
		return count > 0 ? check_moved(call, pattern, call->root, recv, first) : 0;
	for (int r = 0; r < call->ranks; r++)
		wrong += check_moved(call, pattern, r,
		                     recv + (size_t)r * block_bytes(call, pattern->type), first);
	return wrong;
}
