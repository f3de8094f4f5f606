/* SPDX-License-Identifier: Apache-2.0 */
/* Posting messages: the elements go straight from and to where they lie. */
#include "transfer.h"

int ina_lane_send(const struct ina_lane *lane, enum ina_work work, const struct ina_slot *slot,
                  const void *elements, uint32_t elements_lkey, uint32_t length_bytes)
{
	struct ibv_sge sges[INA_MESSAGE_SGES];
	struct ibv_send_wr *bad;
	struct ibv_send_wr request = {
	        .wr_id = ina_work_id(work, lane->epoch),
	        .sg_list = sges,
	        .num_sge = ina_message_sges(sges, slot, lane->lkey, elements, elements_lkey,
	                                    length_bytes),
	        .opcode = IBV_WR_SEND,
	        .send_flags = IBV_SEND_SIGNALED,
	};

	return ibv_post_send(lane->tx, &request, &bad);
}

int ina_lane_receive(const struct ina_lane *lane, enum ina_work work, const struct ina_slot *slot,
                     void *elements, uint32_t elements_lkey, uint32_t length_bytes)
{
	struct ibv_sge sges[INA_MESSAGE_SGES];
	struct ibv_recv_wr *bad;
	struct ibv_recv_wr request = {
	        .wr_id = ina_work_id(work, lane->epoch),
	        .sg_list = sges,
	        .num_sge = ina_message_sges(sges, slot, lane->lkey, elements, elements_lkey,
	                                    length_bytes),
	};

	return ibv_post_recv(lane->rx, &request, &bad);
}
