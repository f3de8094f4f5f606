/* SPDX-License-Identifier: Apache-2.0 */
/* ina-bridge as a service: what it tells systemd, its user, and SIGHUP. */
#ifndef INA_BRIDGE_SERVICE_H
#define INA_BRIDGE_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim-bridge/control/history.h"
#include "sim-bridge/realtime/loop.h"
#include "sim-bridge/switch/fabric.h"
#include "options.h"

/* Tells systemd, if it has started the program: sd_notify(3). */
void service_tell(const char *state);

/*
 * Becomes the user of --user, without capabilities and for good. CAP_NET_RAW stays if a port is a
 * network interface, for one that is created again. Returns false, with one line in `error`, if it
 * cannot.
 */
bool service_drop_privileges(const struct options *options, char *error, size_t error_bytes);

struct service {
	struct options *options;
	int argc;
	char **argv;
	struct fabric *fabric;
	struct history *history;
	int signal_fd; /* readable after SIGHUP */
};

/* In the loop, receives SIGHUP from then on. Returns 0, or -1 with errno. */
int service_open(struct service *service, struct loop *loop);
void service_close(struct service *service); /* also if it was never opened, and is all 0 */

/*
 * After SIGHUP: reads the configuration file again, applies what can change in a running bridge,
 * and says on stderr what needs a restart. An invalid file changes nothing. `context` is the
 * struct service.
 */
void service_reload(void *context, uint64_t time_ns);

#endif
