/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors in messages of Unix sockets (SCM_RIGHTS in unix(7)). */
#ifndef INA_RIGHTS_H
#define INA_RIGHTS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "interrupted.h"

/* The most descriptors in one message; the kernel allows 253 (SCM_MAX_FD). */
#define INA_RIGHTS_MAX 250

/* Room for the control data of a message with at most INA_RIGHTS_MAX descriptors. */
union ina_rights {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(INA_RIGHTS_MAX * sizeof(int))];
};

/* Sends the bytes with `count` descriptors. Returns false, with errno set, if it cannot. */
static inline bool ina_rights_send(int to, const void *bytes, size_t length, const int *fds,
                                   int count)
{
	const size_t fds_bytes = (size_t)count * sizeof(*fds);
	union ina_rights control = {0};
	struct iovec data = {.iov_base = (void *)bytes, .iov_len = length};
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = control.bytes,
	                         .msg_controllen = CMSG_SPACE(fds_bytes)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	ssize_t sent;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(fds_bytes);
	memcpy(CMSG_DATA(header), fds, fds_bytes);
	INA_UNINTERRUPTED(sent, sendmsg(to, &message, MSG_NOSIGNAL));
	return sent == (ssize_t)length;
}

#endif
