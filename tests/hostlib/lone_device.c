/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An RDMA device that can be opened, but connects to no other. That suffices for ranks that are all
 * on one machine, which add up in shared memory. So a check can run without RDMA, and with
 * sanitizers for which the hosts of a lab have too little memory.
 */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <unistd.h>

#define PORT 1

struct lone {
	struct rdma_event_channel events;
	struct rdma_cm_id listener;
	struct ibv_device device;
	struct ibv_context context;
	struct ibv_pd pd;
	struct ibv_comp_channel channel;
	struct ibv_cq cq;
	int ends[2]; /* the ends of a pipe that stays empty */
};

/* Its first member is the struct that the library passes back. */
static struct lone *lone_of(struct rdma_event_channel *events)
{
	return (struct lone *)events;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct lone *lone = calloc(1, sizeof(*lone));

	if (!lone || pipe2(lone->ends, O_CLOEXEC | O_NONBLOCK) != 0)
		abort();
	lone->events.fd = lone->channel.fd = lone->context.async_fd = lone->ends[0];
	lone->context.cmd_fd = -1;
	return &lone->events;
}

void rdma_destroy_event_channel(struct rdma_event_channel *events)
{
	close(lone_of(events)->ends[0]);
	close(lone_of(events)->ends[1]);
	free(lone_of(events));
}

int rdma_create_id(struct rdma_event_channel *events, struct rdma_cm_id **id, void *context,
                   enum rdma_port_space space)
{
	struct lone *lone = lone_of(events);

	(void)space;
	lone->context.device = &lone->device;
	lone->pd.context = lone->cq.context = lone->channel.context = &lone->context;
	lone->listener =
	        (struct rdma_cm_id){.verbs = &lone->context, .channel = events, .context = context};
	*id = &lone->listener;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	(void)id;
	(void)address;
	return 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)id;
	(void)backlog;
	return 0;
}

uint16_t rdma_get_src_port(struct rdma_cm_id *id)
{
	(void)id;
	return PORT;
}

struct ibv_device **ibv_get_device_list(int *count)
{
	if (count)
		*count = 0;
	return NULL;
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	(void)device;
	return "lone0";
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	char *start = (char *)context - offsetof(struct lone, context);

	return &((struct lone *)start)->pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	char *start = (char *)context - offsetof(struct lone, context);

	return &((struct lone *)start)->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	(void)channel;
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *cq_context,
                             struct ibv_comp_channel *channel, int vector)
{
	char *start = (char *)context - offsetof(struct lone, context);

	(void)entries;
	(void)cq_context;
	(void)channel;
	(void)vector;
	return &((struct lone *)start)->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return 0;
}
