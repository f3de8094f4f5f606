/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections with values that librdmacm offers no option for: a chosen UDP source port, from which
 * switches learn their tree (docs/protocol.md, Trees), and the smallest path MTU of all ranks.
 * Devices derive the port from the flow label in the queue pair's address vector. So the functions
 * here take all queue pairs from state to state, and hide them from librdmacm in the meantime.
 */
#ifndef INA_RDMA_LABEL_H
#define INA_RDMA_LABEL_H

#include <rdma/rdma_cma.h>

/* The flow label from which a device derives the port of the tree, 0 to INA_WIRE_TREES - 1. */
uint32_t ina_flow_label(unsigned int tree);

/*
 * Connects with these parameters; id has a fresh queue pair (queue_pair.h). The call takes the
 * queue pair from the id and stores it in *hidden; ina_label_finish() gives it back. Returns 0,
 * or -1 with errno.
 */
int ina_label_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters,
                      struct ibv_qp **hidden);

/*
 * Accepts a connection request with these parameters; id has a fresh queue pair. Its
 * acknowledgements have the flow label too; 0: the device chooses the port. path_mtu is in bytes.
 * The queue pair is ready afterwards. Returns 0, or -1 with errno.
 */
int ina_label_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters);

/*
 * Called when the other side has answered: makes the queue pair ready and gives it back to the id.
 * Returns 0 or an errno.
 */
int ina_label_finish(struct rdma_cm_id *id, struct ibv_qp **hidden);

#endif
