/* SPDX-License-Identifier: Apache-2.0 */
/* What the switch itself looks at in a frame: is it RoCEv2 of a reliable connection, is it data. */
#ifndef INA_BRIDGE_ROCE_H
#define INA_BRIDGE_ROCE_H

#include <stdbool.h>

#include "frame_pool.h"

/*
 * RoCEv2 over IPv4 without options or IPv6 without extension headers, with one 802.1Q tag at most:
 * any opcode of a reliable connection, data, ACK and NAK.
 */
bool roce_is_rc(const struct frame *frame);

/* Of an RC frame: one of the six SEND opcodes. */
bool roce_is_send(const struct frame *frame);

/* Of an RC frame: an acknowledgement or another answer, no request. */
bool roce_is_answer(const struct frame *frame);

/* Of an RC frame: its DSCP is that of aggregation traffic (docs/protocol.md, Marking). */
bool roce_is_marked(const struct frame *frame);

/* Any frame: a JOIN, as an aggregator would take it (docs/protocol.md, A connection's life). */
bool roce_is_join(const struct frame *frame);

/* Of an RC frame: the UDP source port, which says by which tree it goes (docs/protocol.md, Trees).
 */
unsigned roce_source_port(const struct frame *frame);

/*
 * Marks congestion experienced (RFC 3168) in a RoCEv2 frame whose sender allows it; IPv4's header
 * checksum follows (RFC 1624), the iCRC does not cover it. False: the sender does not.
 */
bool roce_mark_congestion(struct frame *frame);

#endif
