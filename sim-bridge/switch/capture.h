/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture at one or more ports of the switch: each frame as it came in and as it left. There are
 * two forms of its file:
 *
 *   cooked    for several ports, as of `tcpdump -i any`: the link type is LINUX_SLL2. The interface
 *             index is the port's number + 1. The packet type is 0 for a frame that came in and 4
 *             for one that left. It has no destination MAC addresses.
 *   Ethernet  for one port, as of `tcpdump -i PORT`: the link type is EN10MB, whole frames. It does
 *             not say whether a frame came in or left.
 *
 * Times are in nanoseconds.
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

enum capture_form { CAPTURE_COOKED, CAPTURE_ETHERNET };

struct capture;

/*
 * Creates the file. `epoch_ns` is added to times, to convert them to times since the Unix epoch.
 * Frames beyond `limit_bytes` are left out; capture_close() then says so in one line on stderr.
 * Returns NULL, with one line in `error`, if the file cannot be created.
 */
struct capture *capture_open(const char *path, enum capture_form form, uint64_t limit_bytes,
                             uint64_t epoch_ns, char *error, size_t error_bytes);

/* Writes the frames that are still buffered. */
void capture_flush(struct capture *capture);

/* Closes the file. Returns false, with one line in `error`, if it could not write everything. */
bool capture_close(struct capture *capture, char *error, size_t error_bytes);

void capture_frame(struct capture *capture, uint64_t time_ns, unsigned port,
                   enum capture_direction direction, const struct frame *frame);

struct capture_totals {
	const char *path;
	uint64_t frames;
	uint64_t bytes; /* in the file */
	bool complete;  /* no frame was left out, and every write succeeded */
};

struct capture_totals capture_totals(const struct capture *capture);

#endif
