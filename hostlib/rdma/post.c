/* SPDX-License-Identifier: Apache-2.0 */
/* Posts messages; elements are sent from and received into their place in memory without a copy. */
#include "post.h"

int ina_post_send(const struct ina_connection_context *connection, struct ina_batch *batch,
                  enum ina_work work, const struct ina_slot *slot, const void *elements,
                  uint32_t elements_lkey, uint32_t length_bytes)
{
	unsigned int place = batch->count++;
	struct ibv_sge *sges = batch->sges[place];

	batch->requests[place] = (struct ibv_send_wr){
	        .wr_id = ina_work_id(work, connection->epoch),
	        .sg_list = sges,
	        .num_sge = ina_message_sges(sges, slot, connection->lkey, elements, elements_lkey,
	                                    length_bytes),
	        .opcode = IBV_WR_SEND,
	        .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
	};
	if (place > 0)
		batch->requests[place - 1].next = &batch->requests[place];
	return batch->count == INA_BATCH_MESSAGES ? ina_post_batch(connection, batch) : 0;
}

int ina_post_batch(const struct ina_connection_context *connection, struct ina_batch *batch)
{
	bool is_empty = batch->count == 0;

	batch->count = 0;
	return is_empty ? 0 : ina_queue_pair_send(connection->tx, batch->requests);
}

int ina_post_receive(const struct ina_connection_context *connection, enum ina_work work,
                     const struct ina_slot *slot, void *elements, uint32_t elements_lkey,
                     uint32_t length_bytes)
{
	struct ibv_sge sges[INA_MESSAGE_SGES];
	struct ibv_recv_wr request = {
	        .wr_id = ina_work_id(work, connection->epoch),
	        .sg_list = sges,
	        .num_sge = ina_message_sges(sges, slot, connection->lkey, elements, elements_lkey,
	                                    length_bytes),
	};

	return ina_queue_pair_receive(connection->rx, &request);
}
