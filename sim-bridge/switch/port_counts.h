/* SPDX-License-Identifier: Apache-2.0 */
/* What a port counts, whatever carries its frames: a socket, or a guest's network device. */
#ifndef INA_BRIDGE_PORT_COUNTS_H
#define INA_BRIDGE_PORT_COUNTS_H

#include <stdint.h>

struct port_counts {
	uint64_t rx_frames;
	uint64_t rx_bytes;
	uint64_t tx_frames;
	uint64_t tx_bytes;
	uint64_t dropped_runt;       /* came in, shorter than an Ethernet header */
	uint64_t dropped_giant;      /* came in, longer than FRAME_BYTES_MAX */
	uint64_t dropped_no_memory;  /* came in, no frame was free */
	uint64_t dropped_queue_full; /* to the host */
	uint64_t dropped_send_error; /* to the host, refused by the socket */
	uint64_t dropped_closed;     /* to the host, which had gone */
};

#endif
