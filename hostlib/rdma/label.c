/* SPDX-License-Identifier: Apache-2.0 */
/* Queue pairs with a flow label and a path MTU. */
#include "label.h"

#include <errno.h>

#include "queue_pair.h"
#include "wire/ina_wire.h"

/*
 * Linux derives the port in rdma_flow_label_to_udp_sport(): 0xC000 plus the lower 14 bits of the
 * label, XORed with its upper 6 bits. With a label of 0 the device would choose the port, so one of
 * the upper bits is set.
 */
#define PORT_BITS  14
#define PORT_MASK  ((1u << PORT_BITS) - 1)
#define UPPER_BITS 1u

uint32_t ina_flow_label(unsigned int tree)
{
	return UPPER_BITS << PORT_BITS | (((INA_WIRE_TREE_PORT + tree) & PORT_MASK) ^ UPPER_BITS);
}

int ina_label_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters,
                      struct ibv_qp **hidden)
{
	*hidden = id->qp;
	id->qp = NULL;
	parameters->qp_num = (*hidden)->qp_num;
	return rdma_connect(id, parameters);
}

static int make_ready(const struct ibv_qp *qp)
{
	int error = ina_queue_pair_go_to(qp->qp_context, IBV_QPS_RTR);

	return error != 0 ? error : ina_queue_pair_go_to(qp->qp_context, IBV_QPS_RTS);
}

/* Sets both states before it answers, as librdmacm does. */
int ina_label_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	struct ibv_qp *qp = id->qp;
	int error = make_ready(qp);
	int failed;

	if (error != 0) {
		errno = error;
		return -1;
	}
	id->qp = NULL;
	parameters->qp_num = qp->qp_num;
	failed = rdma_accept(id, parameters);
	id->qp = qp;
	return failed;
}

int ina_label_finish(struct rdma_cm_id *id, struct ibv_qp **hidden)
{
	int error = make_ready(*hidden);

	if (error == 0 && rdma_establish(id) != 0)
		error = errno;
	if (error != 0)
		return error;
	id->qp = *hidden;
	*hidden = NULL;
	return 0;
}
