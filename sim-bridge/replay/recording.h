/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A capture as frames that come in to a switch, with their ports and times. libpcap reads it, as
 * pcap or pcapng. The link type decides how a frame's port is known:
 *
 *   EN10MB       one port for each source MAC address, in the order of appearance: libpcap does not
 *                tell the interfaces of a pcapng file apart
 *   LINUX_SLL2   the interface index - 1, as in our captures; frames that left are not taken
 *
 * LINUX_SLL2 has no destination MAC address. The frame's IP destination or, in an ARP reply, its
 * target has the MAC address that the capture shows for it; all other frames become broadcasts.
 */
#ifndef INA_BRIDGE_RECORDING_H
#define INA_BRIDGE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim-bridge/switch/frame_pool.h"

struct recording;

/*
 * Reads the whole file once. Returns NULL, with one line in `error`, if it is no regular file or no
 * capture, has another link type, or has no frame that came in.
 */
struct recording *recording_open(const char *path, char *error, size_t error_bytes);
void recording_close(struct recording *recording); /* may be called with NULL */

/* True if the link type is LINUX_SLL2. */
bool recording_is_cooked(const struct recording *recording);

/* One more than the greatest number of a port. */
unsigned recording_ports(const struct recording *recording);

/* The time of the first frame, in ns since the Unix epoch. */
uint64_t recording_start_ns(const struct recording *recording);

/*
 * Reads the next frame that came in, which is valid until the next call. Times never go back: an
 * earlier one becomes that of the frame before. Returns NULL at the end, and leaves *time_ns.
 */
const struct frame *recording_next(struct recording *recording, unsigned *port, uint64_t *time_ns);

/* Returns false, with one line in `report`, if not every frame of the file could be read. */
bool recording_is_whole(const struct recording *recording, char *report, size_t report_bytes);

#endif
