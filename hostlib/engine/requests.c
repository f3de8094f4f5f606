/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of all-reduces, in the order in which they were started. */
#include <stdlib.h>

#include "comm.h"

enum ina_status ina_request_start(struct ina_comm *comm, const void *send, void *recv, size_t count,
                                  enum ina_type type, enum ina_op op, struct ina_request **request)
{
	struct ina_request *made = comm->spare_requests;

	if (comm->failure.status != INA_OK) {
		comm->latest = comm->failure;
		return comm->failure.status;
	}
	if (made)
		comm->spare_requests = made->next;
	else
		made = malloc(sizeof(*made));
	if (!made)
		return ina_fail(&comm->latest, INA_ERR_MEMORY, "no memory for a request");
	*made = (struct ina_request){
	        .comm = comm, .send = send, .recv = recv, .count = count, .type = type, .op = op};
	if (comm->last)
		comm->last->next = made;
	else
		comm->first = made;
	comm->last = made;
	*request = made;
	return INA_OK;
}

enum ina_status ina_request_take(struct ina_request *request)
{
	struct ina_comm *comm = request->comm;

	if (request->status != INA_OK)
		comm->latest = comm->failure;
	request->next = comm->spare_requests;
	comm->spare_requests = request;
	return request->status;
}

enum ina_status ina_request_wait(struct ina_request *request)
{
	while (!request->done)
		ina_comm_step(request->comm, INA_STALL_MS);
	return ina_request_take(request);
}

static void free_all(struct ina_request *first)
{
	while (first) {
		struct ina_request *next = first->next;

		free(first);
		first = next;
	}
}

void ina_requests_free(struct ina_comm *comm)
{
	free_all(comm->first);
	free_all(comm->spare_requests);
}
