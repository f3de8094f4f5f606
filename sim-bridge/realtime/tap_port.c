/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without IFF_VNET_HDR and TUNSETOFFLOAD, the kernel completes checksums and cuts long frames
 * itself before it hands out frames; VLAN tags are in the frames.
 */
#define _GNU_SOURCE
#include "tap_port.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/headers.h"

/* Writes the reason for errno. */
static void explain(const char *what, char *error, size_t error_bytes)
{
	if (errno == EPERM || errno == EACCES)
		snprintf(error, error_bytes,
		         "no permission to create a TAP device, which needs the capability "
		         "CAP_NET_ADMIN: run it as root");
	else if (errno == EBUSY)
		snprintf(error, error_bytes, "an interface of this name exists: use another name");
	else
		snprintf(error, error_bytes, "%s: %s", what, strerror(errno));
}

static bool open_tap(struct port *port, char *error, size_t error_bytes)
{
	struct ifreq request = {.ifr_flags = (short)(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL)};

	memcpy(request.ifr_name, port->name, sizeof(request.ifr_name));
	port->fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (port->fd < 0) {
		explain("cannot open /dev/net/tun", error, error_bytes);
		return false;
	}
	if (ioctl(port->fd, TUNSETIFF, &request) == 0)
		return true;
	explain("cannot create a TAP device of this name", error, error_bytes);
	close(port->fd);
	port->fd = -1;
	return false;
}

bool tap_port_exists(const struct port *port)
{
	struct ifreq request;

	return ioctl(port->fd, TUNGETIFF, &request) == 0;
}

/* Reads one frame. Returns false if no frame has come. */
static bool read_frame(struct port *port, const struct port_input *input)
{
	struct frame *frame = frame_new(input->pool);
	char beyond; /* a longer frame reaches this byte */
	struct iovec pieces[] = {{frame ? frame->bytes : NULL, frame ? FRAME_BYTES_MAX : 0},
	                         {&beyond, 1}};
	ssize_t length = readv(port->fd, pieces, 2);

	if (length > 0 && frame) {
		port_take_frame(port, input, frame, (unsigned)length, length > FRAME_BYTES_MAX);
		return true;
	}
	if (frame)
		frame_drop(frame);
	else if (length > 0)
		port->counts.dropped_no_memory++;
	return length > 0;
}

static bool receive(struct port *port, const struct port_input *input)
{
	for (unsigned i = 0; i < PORT_BATCH_FRAMES && read_frame(port, input); i++)
		;
	return true;
}

/* The kernel takes frames of any length from a TAP device, so the port compares with its MTU. */
static bool is_too_long(const struct port *port, const struct frame *frame)
{
	const bool has_tag =
	        packet_be16(frame->bytes + PACKET_ETHERTYPE_AT) == PACKET_ETHERTYPE_VLAN;

	return frame->length >
	       port->mtu + PACKET_ETHERNET_BYTES + (has_tag ? PACKET_VLAN_BYTES : 0);
}

static int send_frames(struct port *port, struct frame *const *frames, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const bool is_long = is_too_long(port, frames[i]);

		if (!is_long && write(port->fd, frames[i]->bytes, frames[i]->length) >= 0)
			continue;
		if (is_long)
			errno = EMSGSIZE;
		return i > 0 ? (int)i : -1;
	}
	return (int)count;
}

const struct port_kind tap_port = {
        .is_interface = true,
        .open = open_tap,
        .receive = receive,
        .send = send_frames,
};
