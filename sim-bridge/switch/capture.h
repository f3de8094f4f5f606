/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture of both sides of the switch in one file, as `tcpdump -i any` would
 * write it on the switch: each frame as it came in, and each as it left.
 *
 * Link type LINUX_SLL2: the interface index is the port's number + 1, packet
 * type 0 is a frame that came in, 4 one that left; stamps are in nanoseconds.
 */
#ifndef INA_BRIDGE_CAPTURE_H
#define INA_BRIDGE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "frame_pool.h"

enum capture_direction {
	CAPTURE_IN = 0,  /* PACKET_HOST */
	CAPTURE_OUT = 4, /* PACKET_OUTGOING */
};

struct capture;

/*
 * Creates the file. `epoch_ns`: added to times, to make them times since the Unix epoch. Frames
 * past `limit_bytes` are left out, and capture_close() says so in one line on stderr. NULL, with
 * one line in `error`, if the file cannot be made.
 */
struct capture *capture_open(const char *path, uint64_t limit_bytes, uint64_t epoch_ns, char *error,
                             size_t error_bytes);

/* Writes out what is still in memory. */
void capture_flush(struct capture *capture);

/* Closes the file. False, with one line in `error`, if some of it could not be written. */
bool capture_close(struct capture *capture, char *error, size_t error_bytes);

void capture_frame(struct capture *capture, uint64_t time_ns, unsigned port,
                   enum capture_direction direction, const struct frame *frame);

struct capture_totals {
	const char *path;
	uint64_t frames;
	uint64_t bytes; /* of the file */
	bool complete;  /* nothing was left out, and all was written */
};

struct capture_totals capture_totals(const struct capture *capture);

#endif
