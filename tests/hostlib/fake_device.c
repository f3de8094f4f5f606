/* SPDX-License-Identifier: Apache-2.0 */
/* An RDMA device for units. */
#include "fake_device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_device fake;

static int keep(struct fake_queue *queue, uint64_t id, const struct ibv_sge *sges, int count)
{
	if (queue->posted == FAKE_POSTED)
		return ENOMEM;
	queue->ids[queue->posted] = id;
	memset(queue->sges[queue->posted], 0, sizeof(queue->sges[0]));
	for (int i = 0; i < count; i++)
		queue->sges[queue->posted][i] = sges[i];
	queue->posted++;
	return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int error = 0;

	for (; wr && error == 0; wr = wr->next) {
		*bad = wr;
		error = keep((struct fake_queue *)qp, wr->wr_id, wr->sg_list, wr->num_sge);
	}
	return error;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int error = 0;

	for (; wr && error == 0; wr = wr->next) {
		*bad = wr;
		error = keep((struct fake_queue *)qp, wr->wr_id, wr->sg_list, wr->num_sge);
	}
	return error;
}

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	int count = 0;

	(void)cq;
	fake.looks++;
	while (count < room && count < fake.batch && fake.wc_first < fake.wc_end)
		wc[count++] = fake.wcs[fake.wc_first++];
	return count;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return 0;
}

static struct ibv_mr *make_mr(struct ibv_pd *pd, void *start, size_t bytes)
{
	struct ibv_mr *mr = fake.register_errno ? NULL : calloc(1, sizeof(*mr));

	errno = fake.register_errno;
	if (mr)
		*mr = (struct ibv_mr){
		        .context = pd->context, .pd = pd, .addr = start, .length = bytes};
	return mr;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *start, size_t bytes, int access)
{
	(void)access;
	return make_mr(pd, start, bytes);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *start, size_t bytes, uint64_t iova,
                                unsigned int access)
{
	(void)iova;
	(void)access;
	return make_mr(pd, start, bytes);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (fake.deregister_errors > 0) {
		fake.deregister_errors--;
		return EBUSY;
	}
	free(mr);
	return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
	if (mask & IBV_QP_STATE)
		qp->state = attributes->qp_state;
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	(void)channel;
	*event = fake.manager_event;
	fake.manager_event = NULL;
	errno = EAGAIN;
	return *event ? 0 : -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *id)
{
	id->qp = NULL;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	(void)id;
	return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	(void)context;
	if (!fake.device_event)
		return -1;
	*event = *fake.device_event;
	fake.device_event = NULL;
	return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *port)
{
	(void)context;
	(void)number;
	((struct ibv_port_attr *)port)->active_mtu = fake.active_mtu;
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t number, int index, union ibv_gid *gid)
{
	(void)context;
	(void)number;
	(void)index;
	*gid = fake.gid;
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t number, uint32_t index,
                      struct ibv_gid_entry *entry, uint32_t flags, size_t size)
{
	(void)context;
	(void)flags;
	(void)size;
	*entry = (struct ibv_gid_entry){
	        .gid = fake.gid, .gid_index = index, .port_num = number, .gid_type = fake.gid_type};
	return 0;
}

void fake_tell(void)
{
	if (write(fake.other_ends[1], "", 1) != 1)
		abort();
}

static struct rdma_cm_id *make_queue(struct fake_queue *queue)
{
	queue->qp = (struct ibv_qp){.context = &fake.context};
	queue->id = (struct rdma_cm_id){.verbs = &fake.context, .qp = &queue->qp};
	return &queue->id;
}

void fake_open(struct ina_transport *transport, int rank, int ranks)
{
	memset(&fake, 0, sizeof(fake));
	fake.batch = FAKE_POSTED;
	fake.active_mtu = IBV_MTU_4096;
	fake.gid.raw[15] = 1;
	fake.context.ops.post_send = post_send;
	fake.context.ops.post_recv = post_recv;
	fake.context.ops.poll_cq = poll_cq;
	fake.context.ops.req_notify_cq = req_notify_cq;
	fake.cq.context = fake.channel.context = fake.pd.context = &fake.context;
	if (pipe2(fake.channel_ends, O_CLOEXEC | O_NONBLOCK) != 0)
		abort();
	fake.channel.fd = fake.channel_ends[0];
	fake.listener.verbs = &fake.context;
	if (pipe2(fake.other_ends, O_CLOEXEC | O_NONBLOCK) != 0)
		abort();
	fake.context.async_fd = fake.events.fd = fake.other_ends[0];
	*transport = (struct ina_transport){
	        .events = &fake.events,
	        .listener = &fake.listener,
	        .pd = &fake.pd,
	        .channel = &fake.channel,
	        .cq = &fake.cq,
	        .path_mtu = 4096,
	        .gid = fake.gid,
	        .device = "fake0",
	        .rank = rank,
	        .ranks = ranks,
	};
	for (int p = 0; p < INA_PURPOSE_COUNT; p++) {
		transport->connections[p].tx = make_queue(&fake.tx[p]);
		transport->connections[p].rx = make_queue(&fake.rx[p]);
	}
}

void fake_close(void)
{
	for (int i = 0; i < 2; i++) {
		close(fake.channel_ends[i]);
		close(fake.other_ends[i]);
	}
}

void fake_complete(uint64_t wr_id, enum ibv_wc_status status, uint32_t byte_len)
{
	fake.wcs[fake.wc_end++] =
	        (struct ibv_wc){.wr_id = wr_id, .status = status, .byte_len = byte_len};
}

/* An entry without bytes has no address either. */
static void copy(void *to, uint64_t from, size_t bytes)
{
	if (bytes > 0)
		memcpy(to, (const void *)(uintptr_t)from, bytes);
}

void fake_sum(int receive, int ranks)
{
	struct fake_queue *tx = &fake.tx[INA_PURPOSE_AGGREGATE];
	struct fake_queue *rx = &fake.rx[INA_PURPOSE_AGGREGATE];
	uint8_t message[65536];
	struct ina_wire_trailer trailer;
	uint32_t length = 0;
	uint32_t taken = 0;

	for (int i = 0; i < INA_MESSAGE_SGES; i++) {
		const struct ibv_sge *sge = &tx->sges[tx->posted - 1][i];

		copy(message + length, sge->addr, sge->length);
		length += sge->length;
	}
	memcpy(&trailer, message + length - sizeof(trailer), sizeof(trailer));
	trailer.contributors = (uint32_t)ranks;
	trailer.rank = (uint32_t)ranks - 1;
	memcpy(message + length - sizeof(trailer), &trailer, sizeof(trailer));
	for (int i = 0; i < INA_MESSAGE_SGES; i++) {
		const struct ibv_sge *sge = &rx->sges[receive][i];

		copy((void *)(uintptr_t)sge->addr, (uintptr_t)message + taken, sge->length);
		taken += sge->length;
	}
	fake_complete(rx->ids[receive], IBV_WC_SUCCESS, length);
}
