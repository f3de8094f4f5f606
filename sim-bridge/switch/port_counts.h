/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of a port: of a socket, a network interface, a TAP device, or a guest's network
 * device in virtual time. A link goes down and is removed only at interfaces and TAP devices.
 */
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
	X(dropped_offload, "came in, with an offload that the port cannot undo")                   \
	X(dropped_late, "came in, but the socket was full, for the bridge read too late")          \
	X(dropped_queue_full, "to the host")                                                       \
	X(dropped_send_error, "to the host, refused by the socket: longer than the MTU")           \
	X(dropped_closed, "to the host, which had gone, or whose link was down")                   \
	X(link_downs, "times that the link went down")                                             \
	X(removals, "times that the interface was removed")

struct port_counts {
#define X(name, meaning) uint64_t name;
	PORT_COUNTS(X)
#undef X
};

#endif
