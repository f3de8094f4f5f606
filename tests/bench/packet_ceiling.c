/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceiling of a switch on packet sockets: only receives frames in rings and sends them to the
 * port that the last byte of their destination address names. Copies nothing and learns nothing.
 *
 *     packet_ceiling INTERFACE...
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "sim-bridge/realtime/packet_ring.h"

enum { PORTS_MAX = 8, RING_SLOTS = 2048, BATCH = 64, FRAME_BYTES = 4200, MAC_LAST_AT = 5 };

struct port {
	int fd;
	struct packet_ring ring;
	unsigned taken; /* slots that wait until they are sent */
	unsigned count; /* frames to this port */
	struct mmsghdr messages[PORTS_MAX * BATCH];
	struct virtio_net_hdr heads[PORTS_MAX * BATCH];
	struct iovec pieces[PORTS_MAX * BATCH][2];
};

static struct port ports[PORTS_MAX];

static bool open_port(struct port *port, const char *interface)
{
	const int yes = 1;
	const struct sockaddr_ll address = {
	        .sll_family = AF_PACKET,
	        .sll_protocol = htons(ETH_P_ALL),
	        .sll_ifindex = (int)if_nametoindex(interface),
	};

	port->fd = socket(AF_PACKET, SOCK_RAW, 0);
	return port->fd >= 0 &&
	       !setsockopt(port->fd, SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof(yes)) &&
	       !setsockopt(port->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) &&
	       packet_ring_open(&port->ring, port->fd, RING_SLOTS, FRAME_BYTES) &&
	       !bind(port->fd, (const struct sockaddr *)&address, sizeof(address));
}

/* Takes up to BATCH frames, whose slots stay in use until they are sent. */
static void receive(struct port *port, unsigned port_count)
{
	struct packet_ring ahead = port->ring;
	struct tpacket2_hdr *slot;

	while (port->taken < BATCH && (slot = packet_ring_first(&ahead)) != NULL) {
		uint8_t *bytes = (uint8_t *)slot + slot->tp_mac;
		const unsigned to = (unsigned)(bytes[MAC_LAST_AT] - 1);

		ahead.next = (ahead.next + 1) % ahead.slots;
		port->taken++;
		if (to >= port_count)
			continue;
		struct port *out = &ports[to];

		struct virtio_net_hdr *head = &out->heads[out->count];
		struct iovec *pieces = out->pieces[out->count];

		head->hdr_len = (uint16_t)slot->tp_snaplen; /* see interface_port.c */
		pieces[0] = (struct iovec){head, sizeof(*head)};
		pieces[1] = (struct iovec){bytes, slot->tp_snaplen};
		out->messages[out->count].msg_hdr =
		        (struct msghdr){.msg_iov = pieces, .msg_iovlen = 2};
		out->count++;
	}
}

static void send_all(struct port *port)
{
	for (unsigned done = 0; done < port->count;) {
		const int sent = sendmmsg(port->fd, port->messages + done, port->count - done, 0);

		done += sent < 0 ? 1 : (unsigned)sent;
	}
	port->count = 0;
}

int main(int argc, char **argv)
{
	const unsigned count = (unsigned)argc - 1;
	struct pollfd fds[PORTS_MAX];

	if (count < 2 || count > PORTS_MAX) {
		fprintf(stderr, "usage: packet_ceiling INTERFACE...\n");
		return 2;
	}
	for (unsigned i = 0; i < count; i++) {
		if (!open_port(&ports[i], argv[1 + i])) {
			perror(argv[1 + i]);
			return 1;
		}
		fds[i] = (struct pollfd){.fd = ports[i].fd, .events = POLLIN};
	}
	while (poll(fds, count, -1) > 0) {
		for (unsigned i = 0; i < count; i++)
			receive(&ports[i], count);
		for (unsigned i = 0; i < count; i++)
			send_all(&ports[i]);
		for (unsigned i = 0; i < count; i++)
			for (; ports[i].taken > 0; ports[i].taken--)
				packet_ring_release(&ports[i].ring);
	}
	return 1;
}
