/* SPDX-License-Identifier: Apache-2.0 */
/* The switches' memory of frames that hosts sent, for an operator's questions. */
#ifndef INA_BRIDGE_SIGHTS_H
#define INA_BRIDGE_SIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bridge.h"

enum { SIGHTS_JOINS = 128 };

/* An address as in the frame: an IPv4 address is in the first 4 bytes. */
struct sight_address {
	enum ip_version ip;
	uint8_t bytes[16];
};

/* Frames of one kind: how many have come, and when the last one did. */
struct sight_count {
	uint64_t frames;
	uint64_t last_ns;
};

struct host_sights {
	struct sight_count roce;
	struct sight_count sends;  /* RC SENDs without the mark of aggregation traffic */
	struct sight_count marked; /* RC SENDs with it */
	unsigned unmarked_dscp;    /* of the last one of `sends` */
	struct sight_address
	        address; /* the last IP source of `marked`, or of `roce` without these */
};

/* The JOINs of one rank. */
struct join_sight {
	unsigned host;
	uint64_t job_id;
	unsigned rank;
	unsigned rank_count;
	uint16_t vlan_id; /* 0 without a tag */
	unsigned dscp;
	bool is_foreign; /* the last one was dropped: its source was last seen at another port */
	unsigned ttl;    /* of the last one */
	uint8_t source_mac[6], destination_mac[6];
	struct sight_address source, destination;
	uint64_t frames; /* 0: the entry is free */
	uint64_t first_ns, last_ns;
};

/* A MAC address that came from one host's port and then from another one. */
struct mac_moves {
	uint8_t mac[6];
	unsigned from, to;           /* hosts, of the last move */
	uint64_t last_ns, before_ns; /* of the last move, and of the one before it or 0 */
};

struct sights {
	struct mac_moves moved; /* the last address that moved */
	struct host_sights hosts[BRIDGE_PORTS_MAX];
	struct join_sight joins[SIGHTS_JOINS]; /* the latest ones, in any order */
};

/* A frame has come from a host. `is_foreign`: the switch drops it (sources_admit()). */
void sights_take(struct sights *sights, unsigned host, uint64_t time_ns, bool is_foreign,
                 const struct frame *frame);

/* The source address of a host's frame was last seen at another host, `from`. */
void sights_take_move(struct sights *sights, unsigned from, unsigned to, uint64_t time_ns,
                      const struct frame *frame);

bool sights_are_equal(const struct sight_address *a, const struct sight_address *b);

#endif
