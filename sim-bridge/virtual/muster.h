/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time: records which hosts are up and which have ended, and so when all start. Hosts send
 * this to the bridge's own address, in UDP datagrams of one word, `up` and then `exit CODE`; the
 * bridge answers `go`. A message from outside the virtual network would arrive at a different
 * virtual time in each run.
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
		uint8_t headers[42]; /* the Ethernet, IPv4 and UDP headers of its `up` */
	} * hosts;
};

/* Returns 0, or -1 with errno ENOMEM. */
int muster_open(struct muster *muster, unsigned count);
void muster_close(struct muster *muster);

/* True if a frame is addressed to the bridge itself. */
bool muster_is_for_us(const struct frame *frame);

/* Reads a frame that a host has sent to the bridge. */
enum muster_news muster_hear(struct muster *muster, unsigned port, const struct frame *frame);

/* A host has gone, and will send nothing more. */
enum muster_news muster_forget(struct muster *muster, unsigned port);

/* Writes a `go` for a host that has booted into `frame`. */
void muster_write_go(const struct muster *muster, unsigned port, struct frame *frame);

#endif
