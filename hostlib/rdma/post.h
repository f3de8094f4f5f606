/* SPDX-License-Identifier: Apache-2.0 */
/* Posts messages, and batches of sends. */
#ifndef INA_RDMA_POST_H
#define INA_RDMA_POST_H

#include "queue_pair.h"

/*
 * A connection and the memory for its messages, which an algorithm receives when it is opened. The
 * network owns the memory.
 */
struct ina_connection_context {
	struct ibv_qp *tx;
	struct ibv_qp *rx;
	struct ina_slot *tx_slots; /* one slot for each message under way */
	struct ina_slot *rx_slots; /* one slot for each posted receive */
	/* twice the bytes of elements in a window */
	uint8_t *staging;
	/* bytes of elements in a window: copies of elements that are not registered */
	uint8_t *copies;
	uint32_t lkey; /* local key of slots, staging and copies */
	/* number of connections before this one; completions of an earlier epoch are ignored */
	uint32_t epoch;
	uint32_t window;
	uint32_t limit_bytes; /* bytes of elements in a message, at most */
	uint32_t path_mtu;
	int rank;
	int ranks;
	struct ina_message_context context;
};

/*
 * Messages that are posted together, so that the device's doorbell is rung only once. Messages that
 * were added stay here until the batch is full or is posted.
 */
#define INA_BATCH_MESSAGES 16

struct ina_batch {
	unsigned int count;
	struct ibv_send_wr requests[INA_BATCH_MESSAGES];
	struct ibv_sge sges[INA_BATCH_MESSAGES][INA_MESSAGE_SGES];
};

/*
 * Adds a message to the batch; the slot already has its header and trailer. Posts the batch if it
 * is full. Returns 0 or an errno.
 */
int ina_post_send(const struct ina_connection_context *connection, struct ina_batch *batch,
                  enum ina_work work, const struct ina_slot *slot, const void *elements,
                  uint32_t elements_lkey, uint32_t length_bytes);

/* Posts the messages of the batch and empties it. Returns 0 or an errno. */
int ina_post_batch(const struct ina_connection_context *connection, struct ina_batch *batch);

/* Posts the receive of a message. Returns 0 or an errno. */
int ina_post_receive(const struct ina_connection_context *connection, enum ina_work work,
                     const struct ina_slot *slot, void *elements, uint32_t elements_lkey,
                     uint32_t length_bytes);

#endif
