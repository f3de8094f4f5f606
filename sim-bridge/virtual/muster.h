/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time: who is up, when all start, and who has ended. Hosts say so to the bridge's own
 * address, in UDP datagrams of one word: `up`, and `exit CODE`; the bridge answers `go`. What came
 * from outside the virtual network would come at another time in each run.
 */
#ifndef INA_BRIDGE_MUSTER_H
#define INA_BRIDGE_MUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim-bridge/switch/frame_pool.h"

enum { MUSTER_PORT = 18767 };

/* 02:00:00:00:ff:fe, 192.0.255.254 */
extern const uint8_t muster_mac[6];

enum muster_news { MUSTER_NOTHING, MUSTER_ALL_UP, MUSTER_ALL_ENDED };

struct muster {
	unsigned count;
	struct {
		bool is_up;
		bool has_ended;
		uint8_t headers[42]; /* Ethernet, IPv4, UDP of its `up` */
	} * hosts;
};

/* 0, or -1 with errno ENOMEM. */
int muster_open(struct muster *muster, unsigned count);
void muster_close(struct muster *muster);

/* Whether a frame is for the bridge itself. */
bool muster_is_for_us(const struct frame *frame);

/* A frame from a host to the bridge. */
enum muster_news muster_hear(struct muster *muster, unsigned port, const struct frame *frame);

/* A host has gone: it will say nothing any more. */
enum muster_news muster_forget(struct muster *muster, unsigned port);

/* Writes `go` to a host that is up. */
void muster_write_go(const struct muster *muster, unsigned port, struct frame *frame);

#endif
