/* SPDX-License-Identifier: Apache-2.0 */
/* Connects ranks that know only the address of rank 0. */
#ifndef INA_BOOTSTRAP_MEETING_H
#define INA_BOOTSTRAP_MEETING_H

#include "hostlib/control/control.h"
#include "hostlib/options/settings.h"
#include "roster.h"

/*
 * Runs the bootstrap, connects the mesh, and agrees that all ranks have both. local: this rank's
 * endpoint, with the port of the listener (ina_mesh_listen()). failure, on entry: an earlier error
 * of this rank, which all ranks get (ina_bootstrap()); local and listener are not used then.
 */
enum ina_status ina_meet(struct ina_control *control, const struct ina_settings *settings,
                         const struct ina_endpoint *local, int listener, int64_t deadline_ms,
                         struct ina_roster *roster, struct ina_failure *failure);

#endif
