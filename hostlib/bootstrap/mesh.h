/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection between every two ranks, for each to notice by itself that another one is gone:
 * rank 0 may be far from the library at that time, and so may anybody through whom the news could
 * travel. Nothing goes over them but the kernels' keepalive, until a rank says farewell.
 */
#ifndef INA_BOOTSTRAP_MESH_H
#define INA_BOOTSTRAP_MESH_H

#include "hostlib/control/control.h"
#include "hostlib/options/job.h"
#include "roster.h"

/*
 * A port of any number to wait at for other ranks, whom the roster tells: first for the mesh, then,
 * if this rank leads a rail, for its bootstrap, which closes the listener; else that is for the
 * caller to do. *port is in network order. INA_OK or INA_ERR_SYSTEM.
 */
enum ina_status ina_mesh_listen(int *listener, uint16_t *port, struct ina_failure *failure);

/*
 * Connects to all lower ranks but rank 0, with whom there is a connection, and waits for the
 * higher ones. All ranks do so after the bootstrap, and agree on it. Returns early if another rank
 * has failed.
 */
enum ina_status ina_mesh_connect(struct ina_control *control, const struct ina_roster *roster,
                                 const struct ina_job *job, int listener, int peer_timeout_ms,
                                 int64_t deadline_ms, struct ina_failure *failure);

#endif
