/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel strips a VLAN tag and passes it on next to the frame. It also passes on frames that
 * their sender's device would have completed or cut into segments, and frames that it has merged
 * (GRO). The port undoes all of this.
 */
#define _GNU_SOURCE
#include "interface_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/headers.h"
#include "large_receive.h"
#include "offload.h"

enum {
	/* So few that the segments of a batch of long frames fit into a port's queue. */
	BATCH_FRAMES = 16,
	/* The longest IP packet that a frame of the kernel carries, after its Ethernet header. */
	LONG_FRAME_BYTES = PACKET_ETHERNET_BYTES + 2 * PACKET_VLAN_BYTES + 65535,
};

/* One entry of a batch. */
struct arrival {
	struct virtio_net_hdr work;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
	struct frame *frame;
	uint8_t bytes[LONG_FRAME_BYTES]; /* of a frame that does not fit into `frame` */
};

struct interface_state {
	struct arrival arrivals[BATCH_FRAMES];
	struct mmsghdr messages[BATCH_FRAMES];
	struct iovec pieces[BATCH_FRAMES][3];
	bool has_large_receive; /* it was on, and is off while the port is open */
};

static bool set_options(int fd, int index)
{
	const int yes = 1;
	const struct packet_mreq everything = {.mr_ifindex = index, .mr_type = PACKET_MR_PROMISC};
	const struct sockaddr_ll address = {
	        .sll_family = AF_PACKET,
	        .sll_protocol = htons(ETH_P_ALL),
	        .sll_ifindex = index,
	};

	port_enlarge_buffers(fd);
	return setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof(yes)) == 0 &&
	       setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &yes, sizeof(yes)) == 0 &&
	       setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) == 0 &&
	       setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &everything, sizeof(everything)) ==
	               0 &&
	       bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

/* Everything in a batch that stays the same from one call to the next. */
static void point_messages(struct interface_state *state)
{
	for (unsigned i = 0; i < BATCH_FRAMES; i++) {
		struct arrival *arrival = &state->arrivals[i];
		struct msghdr *message = &state->messages[i].msg_hdr;

		state->pieces[i][0] = (struct iovec){&arrival->work, sizeof(arrival->work)};
		state->pieces[i][2] = (struct iovec){arrival->bytes + FRAME_BYTES_MAX,
		                                     LONG_FRAME_BYTES - FRAME_BYTES_MAX};
		message->msg_iov = state->pieces[i];
		message->msg_iovlen = 3;
		message->msg_control = arrival->control;
	}
}

static bool open_interface(struct port *port, char *error, size_t error_bytes)
{
	struct interface_state *state = calloc(1, sizeof(*state));

	/* Protocol 0 receives nothing; bind() begins. */
	port->fd = state ? socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0) : -1;
	if (port->fd >= 0 && set_options(port->fd, port->index)) {
		point_messages(state);
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
	if (port->fd >= 0)
		close(port->fd);
	port->fd = -1;
	free(state);
	return false;
}

static void close_interface(struct port *port)
{
	struct interface_state *state = port->of_kind;

	if (state->has_large_receive)
		large_receive_turn_on(port->fd, port->index);
	free(state);
	port->of_kind = NULL;
}

/* The tag that the kernel has stripped from the frame, in wire order; all 0 for a frame without a
 * tag. */
static void read_tag(struct msghdr *message, uint8_t tag[PACKET_VLAN_BYTES])
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);
	struct tpacket_auxdata data;

	memset(tag, 0, PACKET_VLAN_BYTES);
	if (!part || part->cmsg_level != SOL_PACKET || part->cmsg_type != PACKET_AUXDATA)
		return;
	memcpy(&data, CMSG_DATA(part), sizeof(data));
	if (!(data.tp_status & TP_STATUS_VLAN_VALID))
		return;
	packet_put_be16(tag, data.tp_status & TP_STATUS_VLAN_TPID_VALID ? data.tp_vlan_tpid
	                                                                : PACKET_ETHERTYPE_VLAN);
	packet_put_be16(tag + 2, data.tp_vlan_tci);
}

/* Inserts the tag in front of the type. `bytes` has room for it. Returns the new length. */
static unsigned put_tag(const uint8_t tag[PACKET_VLAN_BYTES], struct virtio_net_hdr *work,
                        uint8_t *bytes, unsigned length)
{
	uint8_t *at = bytes + PACKET_ETHERTYPE_AT;

	memmove(at + PACKET_VLAN_BYTES, at, length - PACKET_ETHERTYPE_AT);
	memcpy(at, tag, PACKET_VLAN_BYTES);
	work->csum_start = (uint16_t)(work->csum_start + PACKET_VLAN_BYTES);
	return length + PACKET_VLAN_BYTES;
}

static void take_segments(struct port *port, const struct port_input *input,
                          const struct arrival *arrival, unsigned length)
{
	struct offload_cut cut;

	if (!offload_cut_open(&cut, &arrival->work, arrival->bytes, length, FRAME_BYTES_MAX)) {
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

/* Takes the frame of an entry, or the segments that it stands for. */
static void take_arrival(struct port *port, const struct port_input *input, struct arrival *arrival,
                         struct mmsghdr *message)
{
	struct frame *frame = arrival->frame;
	unsigned length = message->msg_len - (unsigned)sizeof(arrival->work);
	bool is_cut_off = message->msg_hdr.msg_flags & MSG_TRUNC;
	const bool is_long = arrival->work.gso_type != VIRTIO_NET_HDR_GSO_NONE;
	uint8_t tag[PACKET_VLAN_BYTES];

	read_tag(&message->msg_hdr, tag);
	const bool has_tag = packet_be16(tag) != 0 && length >= FRAME_BYTES_MIN;
	const unsigned room = is_long ? LONG_FRAME_BYTES : FRAME_BYTES_MAX;

	is_cut_off |= length + (has_tag ? PACKET_VLAN_BYTES : 0) > room;
	if (is_cut_off || !is_long) {
		if (!is_cut_off && has_tag)
			length = put_tag(tag, &arrival->work, frame->bytes, length);
		if (!is_cut_off && !offload_complete(&arrival->work, frame->bytes, length)) {
			port->counts.dropped_offload++;
			frame_drop(frame);
			return;
		}
		port_take_frame(port, input, frame, length, is_cut_off);
		return;
	}
	memcpy(arrival->bytes, frame->bytes, length < FRAME_BYTES_MAX ? length : FRAME_BYTES_MAX);
	frame_drop(frame);
	if (has_tag)
		length = put_tag(tag, &arrival->work, arrival->bytes, length);
	take_segments(port, input, arrival, length);
}

/* If no frame is free, still reads one; otherwise epoll would report it without end. */
static bool read_and_drop(struct port *port)
{
	char byte;

	if (recv(port->fd, &byte, 1, MSG_DONTWAIT) > 0)
		port->counts.dropped_no_memory++;
	return true;
}

static bool receive(struct port *port, const struct port_input *input)
{
	struct interface_state *state = port->of_kind;
	unsigned prepared = 0;

	for (; prepared < BATCH_FRAMES; prepared++) {
		struct frame *frame = frame_new(input->pool);

		if (!frame)
			break;
		state->arrivals[prepared].frame = frame;
		state->pieces[prepared][1] = (struct iovec){frame->bytes, FRAME_BYTES_MAX};
		state->messages[prepared].msg_hdr.msg_controllen =
		        sizeof(state->arrivals[prepared].control);
	}
	if (prepared == 0)
		return read_and_drop(port);
	int count = recvmmsg(port->fd, state->messages, prepared, MSG_DONTWAIT, NULL);
	/* The kernel cannot describe this frame's offload, and has dropped it. */
	if (count < 0 && errno == EINVAL)
		port->counts.dropped_offload++;
	for (int i = 0; i < count; i++)
		take_arrival(port, input, &state->arrivals[i], &state->messages[i]);
	for (unsigned i = count > 0 ? (unsigned)count : 0; i < prepared; i++)
		frame_drop(state->arrivals[i].frame);
	return true;
}

/* The kernel expects a description in front of each frame; this one says that nothing is left to
 * do. */
static int send_frames(struct port *port, struct frame *const *frames, unsigned count)
{
	struct virtio_net_hdr nothing = {0};

	return port_send_messages(port, (struct iovec){&nothing, sizeof(nothing)}, frames, count);
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
