/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap at rank 0. */
#ifndef INA_BOOTSTRAP_GATHER_H
#define INA_BOOTSTRAP_GATHER_H

#include "acceptor.h"
#include "hostlib/control/control.h"
#include "hostlib/options/options.h"
#include "roster.h"

/* After the deadline: for rank 0 to say who is missing. */
#define INA_GATHER_GRACE_MS 3000

/*
 * For a failure to be told: so long a rank that has failed tries to reach rank 0, and so long rank
 * 0 waits for the others to come and hear of it.
 */
#define INA_GATHER_TELL_MS 10000

/* For a frame to go out; there is room for it, or there never will be. */
#define INA_GATHER_SEND_MS 1000

/* Where rank 0 is, for texts: "192.0.2.1:18766", or "192.0.2.1:18774 to 18781". */
#define INA_ROOT_TEXT 40
void ina_root_text(const struct ina_settings *settings, char text[INA_ROOT_TEXT]);

/*
 * ina_bootstrap() at rank 0, and its failure too. Its own endpoint is in the roster. visitors: room
 * for that number of ranks that call at the same time.
 */
enum ina_status ina_gather(struct ina_control *control, const struct ina_settings *settings,
                           struct ina_visitor *visitors, int room, int64_t deadline_ms,
                           struct ina_roster *roster, struct ina_failure *failure);

#endif
