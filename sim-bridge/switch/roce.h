/* SPDX-License-Identifier: Apache-2.0 */
/* The switch's parser: what the switch reads in a frame's headers, once, when the frame enters. */
#ifndef INA_BRIDGE_ROCE_H
#define INA_BRIDGE_ROCE_H

#include <stdbool.h>
#include <stdint.h>

enum ip_version { IP_NONE, IP_V4, IP_V6 };

struct roce {
	enum ip_version ip; /* IP_NONE too if the frame ends within the IP header */
	uint16_t ip_at;     /* the byte after the Ethernet header and at most one 802.1Q tag */
	uint16_t vlan_id;   /* 0 without a tag */
	/*
	 * True for RoCEv2 over IPv4 without options, or over IPv6 without extension headers, with
	 * at most one tag. The fields below are 0 or false for all other frames.
	 */
	bool is_roce;
	/* The service is a reliable connection. The fields below are 0 or false if it is not. */
	bool is_rc;
	bool is_send;    /* one of the six SEND opcodes */
	bool is_answer;  /* an acknowledgement or another response, not a request */
	bool is_marked;  /* the DSCP is that of aggregation traffic (docs/protocol.md, Marking) */
	bool is_join;    /* an aggregator would take it for a JOIN (A connection's life) */
	bool lacks_mark; /* it has the form of a JOIN, but not the mark */
	uint16_t payload_at;  /* the byte after the BTH */
	uint16_t source_port; /* of UDP; it selects the frame's tree (Trees) */
};

/* Reads the headers of a frame of at least 14 bytes, an Ethernet header. */
struct roce roce_read(const uint8_t *bytes, unsigned length);

/*
 * Marks congestion experienced (RFC 3168) in a RoCEv2 frame, if its sender supports ECN. Updates
 * IPv4's header checksum (RFC 1624); the iCRC does not cover the mark. Returns false if the sender
 * does not support ECN. `roce` stays valid.
 */
bool roce_mark_congestion(const struct roce *roce, uint8_t *bytes);

#endif
