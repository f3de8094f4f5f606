/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel strips a VLAN tag and passes it on next to the frame. It also passes on frames that
 * their sender's device would have completed or cut into segments, and frames that it has merged
 * (GRO). The port undoes all of this.
 *
 * Frames arrive in a ring. A frame that is too long for its slots arrives there cut off, and
 * complete in the socket's queue.
 */
#define _GNU_SOURCE
#include "interface_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/headers.h"
#include "large_receive.h"
#include "offload.h"
#include "packet_ring.h"

enum {
	RING_FRAMES = 2048,
	/* Of a call: after these, the segments of one more long frame still fit into a queue. */
	TAKEN_MAX = PORT_QUEUE_FRAMES / 2,
	/* The longest IP packet of one frame, after an Ethernet header and a second tag. */
	LONG_FRAME_BYTES = PACKET_ETHERNET_BYTES + PACKET_VLAN_BYTES + 65535,
};

/* A frame, its offloads, and the VLAN tag that the kernel has stripped from it. */
struct arrival {
	struct virtio_net_hdr work;
	bool has_tag;
	uint16_t tag_type;
	uint16_t tag;
	uint8_t *bytes; /* there is room for the tag in front of them */
	unsigned length;
};

struct interface_state {
	struct packet_ring ring;
	bool has_large_receive; /* it was on, and is off while the port is open */
	uint8_t long_frame[PACKET_VLAN_BYTES + LONG_FRAME_BYTES];
};

static bool set(int fd, int option, int value)
{
	return setsockopt(fd, SOL_PACKET, option, &value, sizeof(value)) == 0;
}

/* Before the socket is bound, it receives nothing. */
static bool set_up(struct interface_state *state, const struct port *port)
{
	const unsigned most = FRAME_BYTES_MAX - PACKET_ETHERNET_BYTES - PACKET_VLAN_BYTES;
	const unsigned mtu = port->mtu < most ? port->mtu : most;
	const struct packet_mreq everything = {
	        .mr_ifindex = port->index,
	        .mr_type = PACKET_MR_PROMISC,
	};
	const struct sockaddr_ll address = {
	        .sll_family = AF_PACKET,
	        .sll_protocol = htons(ETH_P_ALL),
	        .sll_ifindex = port->index,
	};

	port_enlarge_buffers(port->fd);
	return set(port->fd, PACKET_VNET_HDR, 1) && set(port->fd, PACKET_AUXDATA, 1) &&
	       set(port->fd, PACKET_IGNORE_OUTGOING, 1) && set(port->fd, PACKET_COPY_THRESH, 1) &&
	       packet_ring_open(&state->ring, port->fd, RING_FRAMES,
	                        mtu + PACKET_ETHERNET_BYTES + PACKET_VLAN_BYTES) &&
	       setsockopt(port->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &everything,
	                  sizeof(everything)) == 0 &&
	       bind(port->fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

static bool open_interface(struct port *port, char *error, size_t error_bytes)
{
	struct interface_state *state = calloc(1, sizeof(*state));

	port->fd = state ? socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) : -1;
	if (port->fd >= 0 && set_up(state, port)) {
		state->has_large_receive = large_receive_turn_off(port->fd, port->name);
		port->of_kind = state;
		return true;
	}
	if (state && port->fd < 0 && errno == EPERM)
		snprintf(error, error_bytes,
		         "no permission to open a packet socket, which needs the capability "
		         "CAP_NET_RAW: run it as root");
	else
		snprintf(error, error_bytes, "cannot open a packet socket: %s", strerror(errno));
	if (port->fd >= 0) {
		packet_ring_close(&state->ring);
		close(port->fd);
	}
	port->fd = -1;
	free(state);
	return false;
}

static void close_interface(struct port *port)
{
	struct interface_state *state = port->of_kind;

	if (state->has_large_receive)
		large_receive_turn_on(port->fd, port->index);
	packet_ring_close(&state->ring);
	free(state);
	port->of_kind = NULL;
}

static void read_tag(struct arrival *arrival, unsigned status, uint16_t type, uint16_t tag)
{
	arrival->has_tag = status & TP_STATUS_VLAN_VALID;
	arrival->tag_type = status & TP_STATUS_VLAN_TPID_VALID ? type : PACKET_ETHERTYPE_VLAN;
	arrival->tag = tag;
}

/* Puts the tag in front of the frame's type, by moving the addresses. */
static void put_tag(struct arrival *arrival)
{
	uint8_t *bytes = arrival->bytes - PACKET_VLAN_BYTES;

	memmove(bytes, arrival->bytes, PACKET_ETHERTYPE_AT);
	packet_put_be16(bytes + PACKET_ETHERTYPE_AT, arrival->tag_type);
	packet_put_be16(bytes + PACKET_ETHERTYPE_AT + 2, arrival->tag);
	arrival->bytes = bytes;
	arrival->length += PACKET_VLAN_BYTES;
	arrival->work.csum_start = (uint16_t)(arrival->work.csum_start + PACKET_VLAN_BYTES);
}

static void take_segments(struct port *port, const struct port_input *input,
                          const struct arrival *arrival)
{
	struct offload_cut cut;

	if (!offload_cut_open(&cut, &arrival->work, arrival->bytes, arrival->length,
	                      FRAME_BYTES_MAX)) {
		port->counts.dropped_offload++;
		return;
	}
	for (;;) {
		struct frame *segment = frame_new(input->pool);

		if (!segment) {
			port->counts.dropped_no_memory++;
			return;
		}
		const unsigned bytes = offload_cut_next(&cut, segment->bytes);

		if (bytes == 0) {
			frame_drop(segment);
			return;
		}
		port_take_frame(port, input, segment, bytes, false);
	}
}

/* Takes the frame, or the segments that it stands for. */
static void take(struct port *port, const struct port_input *input, struct arrival *arrival)
{
	if (arrival->has_tag && arrival->length >= FRAME_BYTES_MIN)
		put_tag(arrival);
	if (arrival->work.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
		take_segments(port, input, arrival);
		return;
	}
	if (!offload_complete(&arrival->work, arrival->bytes, arrival->length)) {
		port->counts.dropped_offload++;
		return;
	}
	struct frame *frame = frame_new(input->pool);

	if (!frame) {
		port->counts.dropped_no_memory++;
		return;
	}
	const bool is_giant = arrival->length > FRAME_BYTES_MAX;

	if (!is_giant)
		memcpy(frame->bytes, arrival->bytes, arrival->length);
	port_take_frame(port, input, frame, arrival->length, is_giant);
}

/* Takes a frame from the socket's queue. Returns false if that is empty. */
static bool take_long(struct port *port, const struct port_input *input)
{
	struct interface_state *state = port->of_kind;
	struct arrival arrival = {.bytes = state->long_frame + PACKET_VLAN_BYTES};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct iovec pieces[] = {{&arrival.work, sizeof(arrival.work)},
	                         {arrival.bytes, LONG_FRAME_BYTES}};
	struct msghdr message = {
	        .msg_iov = pieces,
	        .msg_iovlen = 2,
	        .msg_control = control,
	        .msg_controllen = sizeof(control),
	};
	const ssize_t bytes = recvmsg(port->fd, &message, MSG_DONTWAIT);
	const struct cmsghdr *part = CMSG_FIRSTHDR(&message);
	struct tpacket_auxdata data;

	if (bytes < (ssize_t)sizeof(arrival.work))
		return false;
	if (message.msg_flags & MSG_TRUNC) {
		port->counts.dropped_giant++;
		return true;
	}
	if (part && part->cmsg_level == SOL_PACKET && part->cmsg_type == PACKET_AUXDATA) {
		memcpy(&data, CMSG_DATA(part), sizeof(data));
		read_tag(&arrival, data.tp_status, data.tp_vlan_tpid, data.tp_vlan_tci);
	}
	arrival.length = (unsigned)bytes - (unsigned)sizeof(arrival.work);
	take(port, input, &arrival);
	return true;
}

static void take_slot(struct port *port, const struct port_input *input, struct tpacket2_hdr *slot)
{
	struct arrival arrival = {
	        .bytes = (uint8_t *)slot + slot->tp_mac,
	        .length = slot->tp_snaplen,
	};

	if (slot->tp_status & TP_STATUS_COPY) {
		(void)take_long(port, input);
		return;
	}
	if (slot->tp_snaplen < slot->tp_len) { /* the socket's queue was full */
		port->counts.dropped_late++;
		return;
	}
	memcpy(&arrival.work, arrival.bytes - sizeof(arrival.work), sizeof(arrival.work));
	read_tag(&arrival, slot->tp_status, slot->tp_vlan_tpid, slot->tp_vlan_tci);
	take(port, input, &arrival);
}

static bool receive(struct port *port, const struct port_input *input)
{
	struct packet_ring *ring = &((struct interface_state *)port->of_kind)->ring;
	const uint64_t enough = port->counts.rx_frames + TAKEN_MAX;
	unsigned count = 0;
	struct tpacket2_hdr *slot;

	while (count < PORT_BATCH_FRAMES && port->counts.rx_frames < enough &&
	       (slot = packet_ring_first(ring)) != NULL) {
		take_slot(port, input, slot);
		packet_ring_release(ring);
		count++;
	}
	/*
	 * An error of the socket, which epoll would report without end, goes to the next call of
	 * recvmsg(). So a slot may have missed its long frame, which is then still there.
	 */
	if (count == 0)
		(void)take_long(port, input);
	return true;
}

/*
 * The kernel expects a description of each frame, which says here that nothing is left to do. It
 * copies the frame into one piece of memory up to `hdr_len`, and the rest into pages, which takes
 * longer.
 */
static int send_frames(struct port *port, struct frame *const *frames, unsigned count)
{
	struct virtio_net_hdr heads[PORT_BATCH_FRAMES];

	for (unsigned i = 0; i < count; i++)
		heads[i] = (struct virtio_net_hdr){.hdr_len = (uint16_t)frames[i]->length};
	return port_send_messages(port, heads, sizeof(*heads), frames, count);
}

static void count_lost(struct port *port)
{
	struct tpacket_stats stats = {0};
	socklen_t bytes = sizeof(stats);

	if (getsockopt(port->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &bytes) == 0)
		port->counts.dropped_late += stats.tp_drops;
}

const struct port_kind interface_port = {
        .is_interface = true,
        .open = open_interface,
        .close = close_interface,
        .receive = receive,
        .send = send_frames,
        .count_lost = count_lost,
};
