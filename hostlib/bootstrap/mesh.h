/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection between every two neighbours (control/neighbours.h): those of the tree are there
 * when the bootstrap is over, and the others follow.
 */
#ifndef INA_BOOTSTRAP_MESH_H
#define INA_BOOTSTRAP_MESH_H

#include "acceptor.h"
#include "hostlib/control/control.h"
#include "roster.h"

/*
 * A port of any number to wait at for other ranks, whom the roster tells: first for the mesh, then,
 * if this rank leads a rail, for its bootstrap, which closes the listener; else that is for the
 * caller to do. *port is in network order. INA_OK or INA_ERR_SYSTEM.
 */
enum ina_status ina_mesh_listen(int *listener, uint16_t *port, struct ina_failure *failure);

/*
 * Connects to all lower neighbours with whom there is no connection, and waits for the higher ones.
 * All ranks do so after the bootstrap, and agree on it. Returns early if another rank has failed.
 */
enum ina_status ina_mesh_connect(struct ina_control *control, const struct ina_roster *roster,
                                 struct ina_acceptor *acceptor, int64_t deadline_ms,
                                 struct ina_failure *failure);

#endif
