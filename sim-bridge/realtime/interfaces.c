/* SPDX-License-Identifier: Apache-2.0 */
/* A question is answered on its own socket, so that its answer does not mix with changes. */
#define _GNU_SOURCE
#include "interfaces.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	ANSWER_BYTES = 32768, /* libnetlink's; an interface takes about 1500 bytes */
	/* Of linux/if.h, which cannot be included together with net/if.h. */
	NAME_BYTES_MAX = 128,  /* ALTIFNAMSIZ */
	HAS_CARRIER = 1 << 16, /* IFF_LOWER_UP */
};

struct request {
	struct nlmsghdr header;
	struct ifinfomsg link;
	uint8_t attributes[RTA_SPACE(NAME_BYTES_MAX)];
};

static int open_socket(uint32_t groups)
{
	const struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void read_attributes(const struct ifinfomsg *link, unsigned bytes, struct interface *found)
{
	bool is_elsewhere = false; /* the interface that it is linked to */

	for (const struct rtattr *at = IFLA_RTA(link); RTA_OK(at, bytes);
	     at = RTA_NEXT(at, bytes)) {
		const void *value = RTA_DATA(at);

		if (at->rta_type == IFLA_IFNAME && RTA_PAYLOAD(at) <= sizeof(found->name))
			memcpy(found->name, value, RTA_PAYLOAD(at));
		if (at->rta_type == IFLA_MTU)
			memcpy(&found->mtu, value, sizeof(found->mtu));
		if (at->rta_type == IFLA_LINK)
			memcpy(&found->linked_to, value, sizeof(found->linked_to));
		if (at->rta_type == IFLA_LINK_NETNSID)
			is_elsewhere = true;
	}
	if (is_elsewhere)
		found->linked_to = 0;
}

/* Returns false if the message is not about an interface. */
static bool read_message(const struct nlmsghdr *message, struct interface *found)
{
	const struct ifinfomsg *link = NLMSG_DATA(message);

	if ((message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) ||
	    message->nlmsg_len < NLMSG_LENGTH(sizeof(*link)) || link->ifi_family != AF_UNSPEC)
		return false;
	*found = (struct interface){
	        .index = link->ifi_index,
	        .type = link->ifi_type,
	        .is_loopback = link->ifi_flags & IFF_LOOPBACK,
	        .is_up = link->ifi_flags & IFF_UP && link->ifi_flags & HAS_CARRIER,
	        .is_gone = message->nlmsg_type == RTM_DELLINK,
	};
	read_attributes(link, (unsigned)IFLA_PAYLOAD(message), found);
	return true;
}

/* Sends the request, and reads the answer. Returns 0, or -1 with errno. */
static int ask(struct request *request, struct interface *found)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_BYTES];
	const struct nlmsghdr *message = (const struct nlmsghdr *)answer;
	const struct nlmsgerr *error = NLMSG_DATA(message);
	int fd = open_socket(0);

	if (fd < 0)
		return -1;
	request->header.nlmsg_type = RTM_GETLINK;
	request->header.nlmsg_flags = NLM_F_REQUEST;
	/* The kernel answers within send(). */
	ssize_t bytes = send(fd, request, request->header.nlmsg_len, 0);
	if (bytes > 0)
		bytes = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	close(fd);
	if (bytes < 0)
		return -1;
	if (!NLMSG_OK(message, bytes))
		errno = EPROTO;
	else if (message->nlmsg_type == NLMSG_ERROR)
		errno = -error->error;
	else if (read_message(message, found))
		return 0;
	return -1;
}

int interfaces_find(const char *name, struct interface *found)
{
	struct request request = {.header.nlmsg_len = NLMSG_LENGTH(sizeof(request.link))};
	const size_t bytes = strlen(name) + 1;
	struct rtattr *attribute = (struct rtattr *)request.attributes;

	if (bytes > NAME_BYTES_MAX) {
		errno = ENODEV;
		return -1;
	}
	attribute->rta_type = bytes > IF_NAMESIZE ? IFLA_ALT_IFNAME : IFLA_IFNAME;
	attribute->rta_len = (unsigned short)RTA_LENGTH(bytes);
	memcpy(RTA_DATA(attribute), name, bytes);
	request.header.nlmsg_len += RTA_SPACE(bytes);
	return ask(&request, found);
}

int interfaces_find_index(int index, struct interface *found)
{
	struct request request = {
	        .header.nlmsg_len = NLMSG_LENGTH(sizeof(request.link)),
	        .link.ifi_index = index,
	};

	return ask(&request, found);
}

int interfaces_watch(void)
{
	return open_socket(RTMGRP_LINK);
}

bool interfaces_read(int fd, interfaces_change *change, void *context)
{
	_Alignas(struct nlmsghdr) char changes[ANSWER_BYTES];
	bool is_complete = true;

	for (;;) {
		const struct nlmsghdr *message = (const struct nlmsghdr *)changes;
		ssize_t bytes = recv(fd, changes, sizeof(changes), MSG_DONTWAIT);
		struct interface changed;

		if (bytes < 0 && errno == ENOBUFS) {
			is_complete = false;
			continue;
		}
		if (bytes <= 0)
			return is_complete;
		for (unsigned left = (unsigned)bytes; NLMSG_OK(message, left);
		     message = NLMSG_NEXT(message, left))
			if (read_message(message, &changed))
				change(context, &changed);
	}
}
