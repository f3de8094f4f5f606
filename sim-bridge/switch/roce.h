/* SPDX-License-Identifier: Apache-2.0 */
/* What the switch itself reads in a frame: whether it is RoCEv2, its kind, and its marks. */
#ifndef INA_BRIDGE_ROCE_H
#define INA_BRIDGE_ROCE_H

#include <stdbool.h>

#include "frame_pool.h"

/*
 * True for RoCEv2 over IPv4 without options, or over IPv6 without extension headers, with at most
 * one 802.1Q tag, and any opcode of a reliable connection: data, ACK or NAK.
 */
bool roce_is_rc(const struct frame *frame);

/* For an RC frame: true for one of the six SEND opcodes. */
bool roce_is_send(const struct frame *frame);

/* For an RC frame: true for an acknowledgement or another response, false for a request. */
bool roce_is_answer(const struct frame *frame);

/* For an RC frame: true if its DSCP is that of aggregation traffic (docs/protocol.md, Marking). */
bool roce_is_marked(const struct frame *frame);

/*
 * For any frame: true if an aggregator would take it for a JOIN (docs/protocol.md, A connection's
 * life).
 */
bool roce_is_join(const struct frame *frame);

/* For an RC frame: the UDP source port, which selects its tree (docs/protocol.md, Trees). */
unsigned roce_source_port(const struct frame *frame);

/*
 * Marks congestion experienced (RFC 3168) in a RoCEv2 frame, if its sender supports ECN. Updates
 * IPv4's header checksum (RFC 1624); the iCRC does not cover the mark. Returns false if the sender
 * does not support ECN.
 */
bool roce_mark_congestion(struct frame *frame);

#endif
