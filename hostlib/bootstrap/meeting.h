/* SPDX-License-Identifier: Apache-2.0 */
/* How ranks that know nothing but where rank 0 is become connected. */
#ifndef INA_BOOTSTRAP_MEETING_H
#define INA_BOOTSTRAP_MEETING_H

#include "hostlib/control/control.h"
#include "hostlib/options/options.h"
#include "roster.h"

/*
 * The bootstrap, the mesh, and the agreement that all have both. local: this rank's endpoint, with
 * the port of the listener (ina_mesh_listen()). failure, on entry: what has failed at this rank
 * already; all ranks hear of it (ina_bootstrap()), and local and listener are not used.
 */
enum ina_status ina_meet(struct ina_control *control, const struct ina_settings *settings,
                         const struct ina_endpoint *local, int listener, int64_t deadline_ms,
                         struct ina_roster *roster, struct ina_failure *failure);

#endif
