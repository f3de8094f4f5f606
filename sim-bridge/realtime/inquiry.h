/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bridge with an uplink asks at its start which bridge is above it, and checks whether both fit
 * together. No switch needs the answer. Every bridge sends a question on to all its other ports: a
 * question that comes back shows a loop, and a bridge with the same numbers answers too.
 *
 * A port at which the own question comes back is closed. A host that has seen the question can
 * pretend that, but only at its own port. Only the first answer counts, and only at the uplink. A
 * second later the inquiry has ended.
 */
#ifndef INA_BRIDGE_INQUIRY_H
#define INA_BRIDGE_INQUIRY_H

#include <stdbool.h>
#include <stdint.h>

#include "sim-bridge/switch/fabric.h"
#include "port.h"

enum { INQUIRY_ERROR_BYTES = 256 };

/* The messages that have come in at a port in one second. */
struct inquiry_rate {
	uint64_t second;
	unsigned count;
};

struct inquiry {
	struct fabric *fabric;
	struct port *ports; /* one for each host */
	struct frame_pool *pool;
	unsigned uplink;       /* a port, or TOPOLOGY_NONE: it asks nothing, and only answers */
	unsigned first_number; /* of the bridge's switches */
	uint64_t id;           /* of the bridge, chosen at random */
	unsigned count;        /* of questions that it has asked */
	bool is_answered;
	bool has_ended;
	bool is_warned; /* that another bridge has the same numbers */
	struct inquiry_rate rates[BRIDGE_PORTS_MAX];
	char error[INQUIRY_ERROR_BYTES]; /* if not empty, the bridge must end: one line */
};

/* The caller has set the first five members; the others are 0. */
void inquiry_start(struct inquiry *inquiry, uint64_t time_ns);

/*
 * A frame has come in at a port. Returns false if it is no question and no answer; the caller keeps
 * the frame. If `is_in_loop` of the port is set afterwards, the caller closes the port.
 */
bool inquiry_take(struct inquiry *inquiry, unsigned port, uint64_t time_ns,
                  const struct frame *frame);

#endif
