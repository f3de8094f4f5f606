/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a port, both for a socket and for a guest's network device. */
#ifndef INA_BRIDGE_PORT_COUNTS_H
#define INA_BRIDGE_PORT_COUNTS_H

#include <stdint.h>

#define PORT_COUNTS(X)                                                                             \
	X(rx_frames, "came in")                                                                    \
	X(rx_bytes, "of these")                                                                    \
	X(tx_frames, "went out")                                                                   \
	X(tx_bytes, "of these")                                                                    \
	X(dropped_runt, "came in, shorter than an Ethernet header")                                \
	X(dropped_giant, "came in, longer than FRAME_BYTES_MAX")                                   \
	X(dropped_no_memory, "came in, no frame was free")                                         \
	X(dropped_queue_full, "to the host")                                                       \
	X(dropped_send_error, "to the host, refused by the socket")                                \
	X(dropped_closed, "to the host, which had gone")

struct port_counts {
#define X(name, meaning) uint64_t name;
	PORT_COUNTS(X)
#undef X
};

#endif
