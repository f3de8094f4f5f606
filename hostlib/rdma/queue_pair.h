/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue pair and its unfinished work requests. If nothing acknowledges a message, for example
 * because an aggregator still waits for a late rank, the device gives up after retry_count
 * retransmissions, and the queue pair fails. libina then revives it: it takes the queue pair from
 * state to state again, with the same number, and posts the unfinished requests again, with the
 * packet numbers that they had. The other end, and the switches between, see a retransmission.
 *
 * So connections retransmit without limit, as rdma_rxe does with a retry count of 7. Cards retry 7
 * times at most.
 */
#ifndef INA_RDMA_QUEUE_PAIR_H
#define INA_RDMA_QUEUE_PAIR_H

#include <rdma/rdma_cma.h>

#include "message.h"

/* 0.64 ms (IBTA vol. 1, table 45): shorter timers cause RNR storms on rdma_rxe. */
#define INA_MIN_RNR_TIMER 12

/*
 * The upper half of a work request's wr_id. The lower half is the connection's epoch, or the number
 * of the partner. Receives have even numbers.
 */
enum ina_work {
	INA_WORK_WINDOW_SEND = 1,
	INA_WORK_WINDOW_RECEIVE,
	INA_WORK_RING_SEND,
	INA_WORK_RING_RECEIVE,
	INA_WORK_CREDIT_SEND,
	INA_WORK_CREDIT_RECEIVE,
	INA_WORK_PARTNER_SEND,
	INA_WORK_PARTNER_RECEIVE,
	INA_WORK_LOOKOUT_SEND,
	INA_WORK_LOOKOUT_RECEIVE,
};

static inline uint64_t ina_work_id(enum ina_work work, uint32_t epoch)
{
	return (uint64_t)work << 32 | epoch;
}

struct ina_work_request {
	uint64_t wr_id;
	struct ibv_sge sges[INA_MESSAGE_SGES];
	int sge_count;
	enum ibv_wr_opcode opcode;
	unsigned int flags;
	uint32_t imm_data;
};

struct ina_work_queue {
	struct ina_work_request *requests; /* the unfinished ones, a ring */
	uint32_t room;
	uint64_t first;
	uint64_t end;
	uint64_t posted;  /* the end of those that the device has got */
	uint32_t failed;  /* unfinished requests whose completion was an error */
	uint32_t packets; /* of all messages that are finished */
};

/* The qp_context of its queue pair. */
struct ina_queue_pair {
	struct rdma_cm_id *id;
	struct ibv_qp *qp;
	uint32_t flow_label;   /* 0: the device chooses the UDP source port */
	unsigned int path_mtu; /* bytes */
	struct ina_work_queue sends;
	struct ina_work_queue receives;
	bool has_failed; /* the device completes all requests with errors; none is posted */
	bool is_exhausted;
	bool is_flushed;
	bool is_over; /* it is not to be revived */
};

#define INA_QUEUE_PAIRS_MAX 32

struct ina_queue_pairs {
	struct ina_queue_pair *list[INA_QUEUE_PAIRS_MAX];
	int count;
};

/*
 * Keeps the unfinished requests of the fresh queue pair of an id, which has room for these numbers
 * of them. Returns 0 or an errno.
 */
int ina_queue_pair_add(struct ina_queue_pairs *pairs, struct rdma_cm_id *id, uint32_t sends,
                       uint32_t receives, uint32_t flow_label, unsigned int path_mtu);

/* Called before the queue pair is destroyed. */
void ina_queue_pair_remove(struct ina_queue_pairs *pairs, struct ibv_qp *qp);

/* Stops the queue pair: it is in the error state from now on. */
void ina_queue_pair_stop(struct ibv_qp *qp);

/* Takes the queue pair of a connection that exists to its next state. Returns 0 or an errno. */
int ina_queue_pair_go_to(const struct ina_queue_pair *pair, enum ibv_qp_state state);

/* Post a list of sends, or a receive. Return 0 or an errno. */
int ina_queue_pair_send(struct ibv_qp *qp, struct ibv_send_wr *list);
int ina_queue_pair_receive(struct ibv_qp *qp, struct ibv_recv_wr *request);

/*
 * Takes a completion before anything else does. Returns true if the request will be posted again,
 * or has been; then the completion says nothing about it. After the last completion of a queue pair
 * that could not be revived, returns false, with the status with which it failed.
 */
bool ina_queue_pairs_take(const struct ina_queue_pairs *pairs, struct ibv_wc *wc);

/*
 * Called when the completion queue is empty. A receive that was posted when its queue pair had
 * failed already, but had not reported that, may still wait: rdma_rxe completes it when the error
 * state is set once more.
 */
void ina_queue_pairs_flush(const struct ina_queue_pairs *pairs);

#endif
