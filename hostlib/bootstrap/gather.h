/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap at rank 0. */
#ifndef INA_BOOTSTRAP_GATHER_H
#define INA_BOOTSTRAP_GATHER_H

#include "acceptor.h"
#include "hostlib/control/control.h"
#include "hostlib/options/settings.h"
#include "roster.h"

/* After the deadline, the other ranks wait this long for rank 0 to say which ranks are missing. */
#define INA_GATHER_GRACE_MS 3000

/*
 * How long a rank that has failed tries to report this to rank 0, and how long rank 0 waits for the
 * other ranks to call and receive it.
 */
#define INA_GATHER_TELL_MS 10000

/* How long a frame may take to be sent. It always fits into an empty socket buffer. */
#define INA_GATHER_SEND_MS 1000

/* The root for texts: "192.0.2.1:18766", or "192.0.2.1:18774 to 18781". */
#define INA_ROOT_TEXT 40
void ina_root_text(const struct ina_settings *settings, char text[INA_ROOT_TEXT]);

/*
 * ina_bootstrap() on rank 0, including its failure on entry. The roster already has rank 0's
 * endpoint. visitors: room for `room` ranks that call at the same time.
 */
enum ina_status ina_gather(struct ina_control *control, const struct ina_settings *settings,
                           struct ina_visitor *visitors, int room, int64_t deadline_ms,
                           struct ina_roster *roster, struct ina_failure *failure);

#endif
