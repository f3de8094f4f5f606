/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the work that a sender's kernel left to its network device: the checksum of a frame, and the
 * segmentation of a frame that is longer than the wire takes. The kernel describes this work in a
 * struct virtio_net_hdr (VIRTIO 1.2, 5.1.6), whose numbers have this machine's byte order.
 */
#ifndef INA_BRIDGE_OFFLOAD_H
#define INA_BRIDGE_OFFLOAD_H

#include <linux/virtio_net.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Completes the checksum of a frame, if it is partial. Returns false for a checksum that it does
 * not know: one that is outside of the frame, or the CRC of SCTP.
 */
bool offload_complete(const struct virtio_net_hdr *work, uint8_t *frame, unsigned length);

/* A long frame, which is being cut into segments. */
struct offload_cut {
	const uint8_t *frame;
	unsigned ip_at;
	unsigned transport_at;
	unsigned header_bytes;  /* from the Ethernet header to that of TCP or UDP */
	unsigned payload_bytes; /* of the long frame */
	unsigned segment_bytes; /* of payload in each segment but the last */
	unsigned sent_bytes;    /* of payload in the segments until now */
	unsigned count;         /* of segments until now */
	bool is_ipv6;
	bool is_udp;
};

/*
 * Begins to cut a frame, which must stay unchanged until the last segment. Returns false if it is
 * not TCP or UDP directly over IPv4 or IPv6 with at most two VLAN tags, or if a segment would be
 * longer than `room_bytes`.
 */
bool offload_cut_open(struct offload_cut *cut, const struct virtio_net_hdr *work,
                      const uint8_t *frame, unsigned length, unsigned room_bytes);

/* Writes the next segment. Returns its length, or 0 after the last one. */
unsigned offload_cut_next(struct offload_cut *cut, uint8_t *segment);

#endif
