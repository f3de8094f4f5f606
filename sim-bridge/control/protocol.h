/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ina-bridge and ina-ctl say to each other on a Unix socket: one JSON object a line.
 *
 *   request  {"version": 1, "ask": "ports" | "jobs" | "contexts" | "counters" | "why"}
 *            {"version": 1, "ask": "drain", "on": true | false}
 *            {"version": 1, "ask": "forget", "job": "0x1122334455667788"}
 *   answer   {"version": 1, "answer": ...} or {"version": 1, "error": "one line"}
 *
 * sim-bridge/README.md has the members of each answer.
 */
#ifndef INA_BRIDGE_PROTOCOL_H
#define INA_BRIDGE_PROTOCOL_H

enum {
	CONTROL_VERSION = 1,
	CONTROL_REQUEST_BYTES = 4096, /* with its newline, at most */
};

#endif
