/* SPDX-License-Identifier: Apache-2.0 */
/* Makes TAP devices in a network namespace, and hands their descriptors to ina-lab. */
#include "cables.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/rights.h"

static bool write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);
	const bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

/*
 * Enters a new network namespace. A caller without the permission makes a user namespace too, in
 * which it is root, but has no more rights to files than before.
 */
static bool enter_namespace(void)
{
	char users[32], groups[32];

	if (!unshare(CLONE_NEWNET))
		return true;
	snprintf(users, sizeof(users), "0 %u 1", geteuid());
	snprintf(groups, sizeof(groups), "0 %u 1", getegid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) || !write_file("/proc/self/setgroups", "deny") ||
	    !write_file("/proc/self/uid_map", users) || !write_file("/proc/self/gid_map", groups)) {
		fprintf(stderr,
		        "ina-lab: --cables tap: this machine forbids network namespaces (%s): run "
		        "as root outside a chroot or container, or leave the option out\n",
		        strerror(errno));
		return false;
	}
	return true;
}

/* Returns the descriptor of a new TAP device whose link works, or -1 with errno set. */
static int make_tap(int number, int mtu, int any_socket)
{
	const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct ifreq device = {.ifr_flags = IFF_TAP | IFF_NO_PI}, with_mtu, up;

	snprintf(device.ifr_name, sizeof(device.ifr_name), LAB_CABLE_NAME, number);
	with_mtu = up = device;
	with_mtu.ifr_mtu = mtu;
	up.ifr_flags = IFF_UP;
	if (fd >= 0 && !ioctl(fd, TUNSETIFF, &device) &&
	    !ioctl(any_socket, SIOCSIFMTU, &with_mtu) && !ioctl(any_socket, SIOCSIFFLAGS, &up))
		return fd;
	const int error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

bool lab_cables_make(void *context)
{
	const struct lab_cables *cables = context;
	int fds[INA_RIGHTS_MAX], waiting = 0;

	if (!enter_namespace())
		return false;
	/* Or this kernel would send frames to the hosts. Without IPv6 there is no such file. */
	write_file("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	const int any_socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good = any_socket >= 0;
	for (int i = 0; good && i < cables->count; i++) {
		fds[waiting] = make_tap(i, cables->mtu, any_socket);
		good = fds[waiting] >= 0;
		if (good && (++waiting == INA_RIGHTS_MAX || i + 1 == cables->count)) {
			good = ina_rights_send(cables->to_lab, "x", 1, fds, waiting);
			while (waiting > 0)
				close(fds[--waiting]);
		}
	}
	if (!good)
		fprintf(stderr,
		        "ina-lab: --cables tap: cannot make TAP devices: %s: check "
		        "/dev/net/tun, or leave the option out\n",
		        strerror(errno));
	if (any_socket >= 0)
		close(any_socket);
	return good;
}

bool lab_cables_receive(int from, int *fds, int count)
{
	for (int got = 0, some = 0; got < count; got += some) {
		union ina_rights control;
		char byte;
		struct iovec room = {.iov_base = &byte, .iov_len = 1};
		struct msghdr message = {
		        .msg_iov = &room,
		        .msg_iovlen = 1,
		        .msg_control = control.bytes,
		        .msg_controllen = sizeof(control.bytes),
		};
		if (recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
			return false;
		const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		errno = EPROTO;
		if (!header || header->cmsg_type != SCM_RIGHTS)
			return false;
		some = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		if (some > count - got)
			return false;
		memcpy(fds + got, CMSG_DATA(header), (size_t)some * sizeof(int));
	}
	return true;
}
