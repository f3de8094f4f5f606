/* SPDX-License-Identifier: Apache-2.0 */
/* Merges small all-reduces into one. */
#include "group.h"

#include "collective.h"
#include "request.h"

static bool is_small(const struct ina_request *request)
{
	return request->what.kind == INA_CALL_ALLREDUCE &&
	       ina_collective_bytes(&request->what) <= INA_GROUP_MEMBER_BYTES;
}

/* May `next` be merged with the requests from `first` on, which have this number of bytes? */
static bool joins(const struct ina_request *first, const struct ina_request *next, size_t bytes)
{
	if (!is_small(first) || !is_small(next) || next->what.type != first->what.type ||
	    next->what.op != first->what.op ||
	    bytes + ina_collective_bytes(&next->what) > INA_GROUP_BYTES)
		return false;
	for (const struct ina_request *r = first; r != next; r = r->next) {
		if (ina_request_depends(next, r))
			return false;
	}
	return true;
}

/*
 * Removes the longest run of requests that may be merged from the group, and returns the first one.
 * Sets *what to the merged collective.
 */
static struct ina_request *take_run(struct ina_group *group, struct ina_collective *what)
{
	struct ina_request *first = group->first;
	struct ina_request *last = first;
	size_t bytes = ina_collective_bytes(&first->what);
	uint32_t mark = (uint32_t)first->what.count;

	*what = first->what;
	what->root = 1;
	while (last->next && joins(first, last->next, bytes)) {
		last = last->next;
		bytes += ina_collective_bytes(&last->what);
		what->count += last->what.count;
		what->root++;
		/*
		 * Calls with other counts, but the same sum of counts, get another mark; so do
		 * averages and sums.
		 */
		mark = mark * 0x9E3779B1u + (uint32_t)last->what.count;
	}
	what->send = what->recv = NULL;
	what->mark = (mark * 0x9E3779B1u + ina_collective_mark(&first->what)) | 1;
	group->first = last->next;
	last->next = NULL;
	return first;
}

/* Returns one request for those of a run; NULL if memory runs out. */
static struct ina_request *make_one(struct ina_comm *comm, struct ina_request *run,
                                    const struct ina_collective *what)
{
	struct ina_request *request = run;

	if (run->next) {
		request = ina_request_make(comm, what);
		if (request)
			request->members = run;
		else
			ina_request_end_all(run, INA_ERR_MEMORY);
	}
	return request;
}

enum ina_status ina_group_put(struct ina_comm *comm, struct ina_group *group)
{
	group->is_open = false;
	group->last = NULL;
	for (struct ina_request *r = group->first; r; r = r->next)
		r->is_grouped = false;
	while (group->first && comm->failure.status == INA_OK) {
		struct ina_collective what;
		struct ina_request *run = take_run(group, &what);
		struct ina_request *request = make_one(comm, run, &what);

		if (request) {
			ina_request_append(&comm->first, &comm->last, request);
			continue;
		}
		/*
		 * The other ranks will make this call, and this rank cannot, so the communicator
		 * fails.
		 */
		ina_fail(&comm->failure, INA_ERR_MEMORY, "no memory for a group");
		ina_comm_abort(comm);
	}
	ina_request_end_all(group->first, comm->failure.status);
	group->first = NULL;
	if (comm->failure.status != INA_OK)
		comm->latest = comm->failure;
	return comm->failure.status;
}
