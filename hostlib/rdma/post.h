/* SPDX-License-Identifier: Apache-2.0 */
/* Posting messages: how work requests are named, and how several are posted at once. */
#ifndef INA_RDMA_POST_H
#define INA_RDMA_POST_H

#include "message.h"

/* A connection and the memory for its messages, given to an algorithm at open. The memory is the
 * network's. */
struct ina_connection_context {
	struct ibv_qp *tx;
	struct ibv_qp *rx;
	struct ina_slot *tx_slots; /* one for each message under way */
	struct ina_slot *rx_slots; /* one for each receive posted */
	uint8_t *staging; /* limit_bytes for each message under way; of the window, twice that */
	uint8_t *copies;  /* limit_bytes for each message under way: of elements that are not
	                     registered */
	uint32_t lkey;    /* of slots, staging and copies */
	uint32_t epoch;   /* connections before this one: what they still complete is ignored */
	uint32_t window;
	uint32_t limit_bytes; /* of elements in a message */
	uint32_t path_mtu;
	int rank;
	int ranks;
	struct ina_message_context context;
};

/* The upper half of a work request's wr_id; the lower half is the connection's epoch, or which
 * partner. */
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

/*
 * Messages that are posted together: the device is rung for once. Each message that is added stays
 * in this memory, and goes nowhere, until the batch is full or posted.
 */
#define INA_BATCH_MESSAGES 16

struct ina_batch {
	unsigned int count;
	struct ibv_send_wr requests[INA_BATCH_MESSAGES];
	struct ibv_sge sges[INA_BATCH_MESSAGES][INA_MESSAGE_SGES];
};

/* Adds a message to the batch; the slot has its header and trailer. 0, or an errno. */
int ina_post_send(const struct ina_connection_context *connection, struct ina_batch *batch,
                  enum ina_work work, const struct ina_slot *slot, const void *elements,
                  uint32_t elements_lkey, uint32_t length_bytes);

/* Posts what has been added. 0, or an errno. */
int ina_post_batch(const struct ina_connection_context *connection, struct ina_batch *batch);

/* Posts the receive of a message. 0, or an errno. */
int ina_post_receive(const struct ina_connection_context *connection, enum ina_work work,
                     const struct ina_slot *slot, void *elements, uint32_t elements_lkey,
                     uint32_t length_bytes);

#endif
