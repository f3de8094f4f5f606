/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections whose packets have a UDP source port of our choice, by which switches know their tree
 * (docs/protocol.md, Trees). Devices make the port of the flow label in the queue pair's address
 * vector, and librdmacm fills that in by itself. So these queue pairs are taken from state to state
 * here; librdmacm does not see them meanwhile.
 */
#ifndef INA_RDMA_LABEL_H
#define INA_RDMA_LABEL_H

#include <rdma/rdma_cma.h>

/* The flow label of which a device makes the port of the tree, 0 to INA_WIRE_TREES - 1. */
uint32_t ina_flow_label(unsigned int tree);

/*
 * id has a fresh queue pair, and is connected by these parameters. *labelled: the queue pair, which
 * is not the id's until ina_label_finish() or its end. 0, or -1 with errno.
 */
int ina_label_connect(struct rdma_cm_id *id, struct rdma_conn_param *parameters,
                      struct ibv_qp **labelled);

/*
 * id has a fresh queue pair, and a request that is accepted by these parameters: acknowledgements
 * follow the tree too. The queue pair is ready. 0, or -1 with errno.
 */
int ina_label_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters, unsigned int tree);

/* The other side has answered: the queue pair is ready, and the id's again. 0, or an errno. */
int ina_label_finish(struct rdma_cm_id *id, unsigned int tree, struct ibv_qp **labelled);

#endif
