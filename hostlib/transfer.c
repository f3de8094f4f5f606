/* SPDX-License-Identifier: Apache-2.0 */
/* Posting messages: the elements go straight from and to where they lie. */
#include "transfer.h"

int ina_lane_send(const struct ina_lane *lane, struct ina_lot *lot, enum ina_work work,
                  const struct ina_slot *slot, const void *elements, uint32_t elements_lkey,
                  uint32_t length_bytes)
{
	unsigned int place = lot->count++;
	struct ibv_sge *sges = lot->sges[place];

	lot->requests[place] = (struct ibv_send_wr){
	        .wr_id = ina_work_id(work, lane->epoch),
	        .sg_list = sges,
	        .num_sge = ina_message_sges(sges, slot, lane->lkey, elements, elements_lkey,
	                                    length_bytes),
	        .opcode = IBV_WR_SEND,
	        .send_flags = IBV_SEND_SIGNALED | IBV_SEND_SOLICITED,
	};
	if (place > 0)
		lot->requests[place - 1].next = &lot->requests[place];
	return lot->count == INA_LOT_MESSAGES ? ina_lane_post(lane, lot) : 0;
}

int ina_lane_post(const struct ina_lane *lane, struct ina_lot *lot)
{
	struct ibv_send_wr *bad;
	bool is_empty = lot->count == 0;

	lot->count = 0;
	return is_empty ? 0 : ibv_post_send(lane->tx, lot->requests, &bad);
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
