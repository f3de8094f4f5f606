/* SPDX-License-Identifier: Apache-2.0 */
/* Posts work requests, keeps the unfinished ones, and revives queue pairs. */
#include "queue_pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PSN_MASK 0xFFFFFFu

static bool is_receive(uint64_t wr_id)
{
	return (wr_id >> 32) % 2 == 0;
}

static bool make_room(struct ina_work_queue *queue, uint32_t room)
{
	queue->room = room;
	queue->requests = calloc(room, sizeof(*queue->requests));
	return queue->requests;
}

static void free_pair(struct ina_queue_pair *pair)
{
	free(pair->sends.requests);
	free(pair->receives.requests);
	free(pair);
}

int ina_queue_pair_add(struct ina_queue_pairs *pairs, struct rdma_cm_id *id, uint32_t sends,
                       uint32_t receives, uint32_t flow_label, unsigned int path_mtu)
{
	struct ina_queue_pair *pair = calloc(1, sizeof(*pair));

	if (!pair)
		return ENOMEM;
	*pair = (struct ina_queue_pair){
	        .id = id, .qp = id->qp, .flow_label = flow_label, .path_mtu = path_mtu};
	if (pairs->count == INA_QUEUE_PAIRS_MAX || !make_room(&pair->sends, sends) ||
	    !make_room(&pair->receives, receives)) {
		free_pair(pair);
		return ENOMEM;
	}
	id->qp->qp_context = pair;
	pairs->list[pairs->count++] = pair;
	return 0;
}

void ina_queue_pair_remove(struct ina_queue_pairs *pairs, struct ibv_qp *qp)
{
	int place = 0;

	while (place < pairs->count && pairs->list[place]->qp != qp)
		place++;
	if (place == pairs->count)
		return;
	free_pair(pairs->list[place]);
	pairs->list[place] = pairs->list[--pairs->count];
}

static int set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attributes = {.qp_state = state};

	return ibv_modify_qp(qp, &attributes, IBV_QP_STATE);
}

void ina_queue_pair_stop(struct ibv_qp *qp)
{
	struct ina_queue_pair *pair = qp->qp_context;

	if (pair)
		pair->is_over = true;
	set_state(qp, IBV_QPS_ERR);
}

static enum ibv_mtu mtu_of(unsigned int bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (128u << mtu < bytes)
		mtu++;
	return mtu;
}

int ina_queue_pair_go_to(const struct ina_queue_pair *pair, enum ibv_qp_state state)
{
	struct ibv_qp_attr attributes = {.qp_state = state};
	int mask = IBV_QP_STATE;

	if (rdma_init_qp_attr(pair->id, &attributes, &mask) != 0)
		return errno;
	if (mask & IBV_QP_AV && pair->flow_label != 0)
		attributes.ah_attr.grh.flow_label = pair->flow_label;
	if (mask & IBV_QP_PATH_MTU)
		attributes.path_mtu = mtu_of(pair->path_mtu);
	/* The connection manager knows the numbers of the first packets. */
	attributes.rq_psn = (attributes.rq_psn + pair->receives.packets) & PSN_MASK;
	attributes.sq_psn = (attributes.sq_psn + pair->sends.packets) & PSN_MASK;
	attributes.min_rnr_timer = INA_MIN_RNR_TIMER;
	return ibv_modify_qp(pair->qp, &attributes, mask);
}

/* Keeps a request. Returns NULL if there are more than the queue pair has room for. */
static struct ina_work_request *keep(struct ina_work_queue *queue, uint64_t wr_id,
                                     const struct ibv_sge *sges, int sge_count)
{
	struct ina_work_request *request = &queue->requests[queue->end % queue->room];

	if (queue->end - queue->first == queue->room || sge_count > INA_MESSAGE_SGES)
		return NULL;
	queue->end++;
	request->wr_id = wr_id;
	request->sge_count = sge_count;
	for (int i = 0; i < sge_count; i++)
		request->sges[i] = sges[i];
	return request;
}

int ina_queue_pair_send(struct ibv_qp *qp, struct ibv_send_wr *list)
{
	struct ina_queue_pair *pair = qp->qp_context;
	struct ibv_send_wr *bad;

	for (const struct ibv_send_wr *r = list; pair && r; r = r->next) {
		struct ina_work_request *kept =
		        keep(&pair->sends, r->wr_id, r->sg_list, r->num_sge);

		if (!kept)
			return ENOMEM;
		kept->opcode = r->opcode;
		kept->flags = r->send_flags;
		kept->imm_data = r->imm_data;
	}
	if (pair && pair->has_failed)
		return 0;
	if (pair)
		pair->sends.posted = pair->sends.end;
	return ibv_post_send(qp, list, &bad);
}

int ina_queue_pair_receive(struct ibv_qp *qp, struct ibv_recv_wr *request)
{
	struct ina_queue_pair *pair = qp->qp_context;
	struct ibv_recv_wr *bad;

	if (pair && !keep(&pair->receives, request->wr_id, request->sg_list, request->num_sge))
		return ENOMEM;
	if (pair && pair->has_failed)
		return 0;
	if (pair)
		pair->receives.posted = pair->receives.end;
	return ibv_post_recv(qp, request, &bad);
}

static int post_receives(struct ina_queue_pair *pair)
{
	struct ina_work_queue *queue = &pair->receives;
	struct ibv_recv_wr *bad;
	int error = 0;

	queue->posted = queue->end;
	for (uint64_t i = queue->first; i < queue->end && error == 0; i++) {
		struct ina_work_request *kept = &queue->requests[i % queue->room];
		struct ibv_recv_wr request = {
		        .wr_id = kept->wr_id, .sg_list = kept->sges, .num_sge = kept->sge_count};

		error = ibv_post_recv(pair->qp, &request, &bad);
	}
	return error;
}

static int post_sends(struct ina_queue_pair *pair)
{
	struct ina_work_queue *queue = &pair->sends;
	struct ibv_send_wr *bad;
	int error = 0;

	queue->posted = queue->end;
	for (uint64_t i = queue->first; i < queue->end && error == 0; i++) {
		struct ina_work_request *kept = &queue->requests[i % queue->room];
		struct ibv_send_wr request = {.wr_id = kept->wr_id,
		                              .sg_list = kept->sges,
		                              .num_sge = kept->sge_count,
		                              .opcode = kept->opcode,
		                              .send_flags = kept->flags,
		                              .imm_data = kept->imm_data};

		error = ibv_post_send(pair->qp, &request, &bad);
	}
	return error;
}

/* Called when the device has no request of the queue pair any more. */
static bool revive(struct ina_queue_pair *pair)
{
	pair->has_failed = pair->is_exhausted = pair->is_flushed = false;
	pair->sends.failed = pair->receives.failed = 0;
	return set_state(pair->qp, IBV_QPS_RESET) == 0 &&
	       ina_queue_pair_go_to(pair, IBV_QPS_INIT) == 0 && post_receives(pair) == 0 &&
	       ina_queue_pair_go_to(pair, IBV_QPS_RTR) == 0 &&
	       ina_queue_pair_go_to(pair, IBV_QPS_RTS) == 0 && post_sends(pair) == 0;
}

static uint32_t packets_of(uint32_t bytes, unsigned int path_mtu)
{
	return bytes == 0 ? 1 : (bytes + path_mtu - 1) / path_mtu;
}

static void finish(struct ina_work_queue *queue, const struct ibv_wc *wc, unsigned int path_mtu)
{
	const struct ina_work_request *request = &queue->requests[queue->first++ % queue->room];
	uint32_t bytes = 0;

	for (int i = 0; i < request->sge_count; i++)
		bytes += request->sges[i].length;
	queue->packets += packets_of(is_receive(wc->wr_id) ? wc->byte_len : bytes, path_mtu);
}

static bool is_drained(const struct ina_work_queue *queue)
{
	return queue->failed == queue->posted - queue->first;
}

/* Is no request of a failed queue pair left at the device? */
static bool has_nothing_left(const struct ina_queue_pair *pair)
{
	return pair->has_failed && is_drained(&pair->sends) && is_drained(&pair->receives);
}

/* If the queue pair cannot be revived, the device completes later requests with errors. */
static bool go_on(struct ina_queue_pair *pair)
{
	pair->is_over = !pair->is_exhausted || !revive(pair);
	pair->has_failed = false;
	return !pair->is_over;
}

/* Returns true if the queue pair still has requests at the device, or if it was revived. */
static bool fail(struct ina_queue_pair *pair, struct ina_work_queue *queue, struct ibv_wc *wc)
{
	pair->has_failed = true;
	pair->is_exhausted |= wc->status == IBV_WC_RETRY_EXC_ERR;
	queue->failed++;
	if (!has_nothing_left(pair))
		return true;
	wc->status = pair->is_exhausted ? IBV_WC_RETRY_EXC_ERR : wc->status;
	return go_on(pair);
}

bool ina_queue_pairs_take(const struct ina_queue_pairs *pairs, struct ibv_wc *wc)
{
	struct ina_queue_pair *pair = NULL;
	struct ina_work_queue *queue;

	for (int i = 0; i < pairs->count && !pair; i++) {
		if (pairs->list[i]->qp->qp_num == wc->qp_num)
			pair = pairs->list[i];
	}
	if (!pair || pair->is_over)
		return false;
	queue = is_receive(wc->wr_id) ? &pair->receives : &pair->sends;
	if (wc->status == IBV_WC_RETRY_EXC_ERR || wc->status == IBV_WC_WR_FLUSH_ERR)
		return fail(pair, queue, wc);
	if (wc->status == IBV_WC_SUCCESS)
		finish(queue, wc, pair->path_mtu);
	else
		pair->is_over = true;
	/* A receive may be the last to finish, after a send has failed. */
	if (!pair->is_over && has_nothing_left(pair))
		go_on(pair);
	return false;
}

void ina_queue_pairs_flush(const struct ina_queue_pairs *pairs)
{
	for (int i = 0; i < pairs->count; i++) {
		struct ina_queue_pair *pair = pairs->list[i];

		if (!pair->has_failed || pair->is_over || pair->is_flushed)
			continue;
		pair->is_flushed = true;
		set_state(pair->qp, IBV_QPS_ERR);
	}
}
