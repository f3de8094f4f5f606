/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mesh: a connection between every two neighbours (control/neighbours.h). The bootstrap makes
 * those of the tree; this makes the others.
 */
#ifndef INA_BOOTSTRAP_MESH_H
#define INA_BOOTSTRAP_MESH_H

#include "acceptor.h"
#include "hostlib/control/control.h"
#include "roster.h"

/*
 * Listens at a free port, which other ranks learn from the roster. ports: those of INA_PORTS. The
 * listener first serves the mesh. If this rank leads a rail, it then serves the rail's bootstrap,
 * which closes it; otherwise the caller of this function must close it. *port is in network byte
 * order. Returns INA_OK or INA_ERR_SYSTEM.
 */
enum ina_status ina_mesh_listen(int *listener, uint16_t *port, const struct ina_port_range *ports,
                                struct ina_failure *failure);

/*
 * Connects to all lower neighbours that are not connected yet, and waits for the higher ones. All
 * ranks call it after the bootstrap, and then agree on the result. Returns early if another rank
 * has failed.
 */
enum ina_status ina_mesh_connect(struct ina_control *control, const struct ina_roster *roster,
                                 struct ina_acceptor *acceptor, int64_t deadline_ms,
                                 struct ina_failure *failure);

#endif
