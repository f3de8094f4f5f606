/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Meets over an abstract socket, whose name is a hash of the job's id. The socket ends with the
 * process.
 */
#include "local_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/interrupted.h"
#include "common/rights.h"
#include "hostlib/control/agreement.h"
#include "hostlib/control/telling.h"
#include "hostlib/options/siphash.h"

#define TICK_MS 10

/*
 * Anybody can see the names of sockets (/proc/net/unix), but only the ranks may know the job's id.
 */
static socklen_t make_name(const struct ina_local_meeting *meeting, struct sockaddr_un *name)
{
	const struct ina_siphash_key key = {.low = meeting->job_id};
	uint64_t hash = ina_siphash(&key, &meeting->leader, sizeof(meeting->leader));
	int length;

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "ina.%016" PRIx64, hash);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Does the other process belong to the same user? Another user's may have guessed the name. */
static bool is_ours(int fd)
{
	struct ucred who;
	socklen_t size = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == geteuid();
}

/* Uses as many messages as necessary. */
static int send_fds(int socket, uint32_t index, const int *fds, int count)
{
	for (int first = 0; first < count; first += INA_RIGHTS_MAX) {
		int rest = count - first;

		if (!ina_rights_send(socket, &index, sizeof(index), fds + first,
		                     rest < INA_RIGHTS_MAX ? rest : INA_RIGHTS_MAX))
			return -1;
	}
	return 0;
}

/* Receives exactly `count` descriptors; if the message has another number, none. */
static int receive_some(int socket, uint32_t *index, int *fds, size_t count)
{
	union ina_rights room;
	struct iovec data = {.iov_base = index, .iov_len = sizeof(*index)};
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = room.bytes,
	                         .msg_controllen = sizeof(room)};
	struct cmsghdr *head;
	ssize_t got;
	size_t given;
	bool fine;

	INA_UNINTERRUPTED(got, recvmsg(socket, &message, MSG_CMSG_CLOEXEC));
	head = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
	given = head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS
	                ? (head->cmsg_len - CMSG_LEN(0)) / sizeof(int)
	                : 0;
	fine = got == (ssize_t)sizeof(*index) && given == count &&
	       !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	/*
	 * The descriptors are open now, even if the message is invalid. The control buffer may have
	 * room for more than INA_RIGHTS_MAX.
	 */
	for (size_t i = 0; i < given; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(head) + i * sizeof(fd), sizeof(fd));
		if (fine)
			fds[i] = fd;
		else
			close(fd);
	}
	return fine ? 0 : -1;
}

static int receive_fds(int socket, uint32_t *index, int *fds, size_t count)
{
	for (size_t first = 0; first < count; first += INA_RIGHTS_MAX) {
		size_t rest = count - first;

		if (receive_some(socket, index, fds + first,
		                 rest < INA_RIGHTS_MAX ? rest : INA_RIGHTS_MAX) == 0)
			continue;
		while (first > 0)
			close(fds[--first]);
		return -1;
	}
	return 0;
}

/* Waits until the descriptor is readable. */
static enum ina_status await(struct ina_local_meeting *meeting, int fd, const char *whom,
                             struct ina_failure *failure)
{
	for (;;) {
		struct pollfd fds[INA_NEIGHBOURS_MAX + 1];
		int count = ina_control_pollfds(meeting->control, fds);

		fds[count] = (struct pollfd){.fd = fd, .events = POLLIN};
		poll(fds, (nfds_t)count + 1, ina_left_ms(meeting->deadline_ms, 200));
		if (fds[count].revents)
			return INA_OK;
		if (ina_open_failed_elsewhere(meeting->control, failure))
			return failure->status;
		if (ina_now_ms() >= meeting->deadline_ms)
			return ina_fail(failure, INA_ERR_TIMEOUT,
			                "timed out waiting for %s to share memory", whom);
	}
}

/* Accepts the next rank and stores its descriptors. Rejects any other process. */
static enum ina_status take_one(struct ina_local_meeting *meeting, int listener, int *wake,
                                int *alive, int *come, struct ina_failure *failure)
{
	enum ina_status status = await(meeting, listener, "another rank of this machine", failure);
	struct ina_failure ignored;
	uint32_t index = 0;
	int fds[INA_LOCAL_BRINGS];
	int fd;

	if (status != INA_OK)
		return status;
	INA_UNINTERRUPTED(fd, accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	if (fd < 0)
		return INA_OK;
	if (!is_ours(fd) || await(meeting, fd, "another rank's descriptors", &ignored) != INA_OK ||
	    receive_fds(fd, &index, fds, INA_LOCAL_BRINGS) != 0) {
		close(fd);
		return INA_OK;
	}
	if (index == 0 || index >= (uint32_t)meeting->count || meeting->links[index] >= 0) {
		for (int i = 0; i < INA_LOCAL_BRINGS; i++)
			close(fds[i]);
		close(fd);
		return INA_OK;
	}
	meeting->links[index] = fd;
	wake[index] = fds[0];
	alive[index] = fds[1];
	(*come)++;
	return INA_OK;
}

static void part(struct ina_local_meeting *meeting)
{
	for (int i = 0; i < meeting->count; i++) {
		if (meeting->links[i] >= 0)
			close(meeting->links[i]);
		meeting->links[i] = -1;
	}
}

enum ina_status ina_local_gather(struct ina_local_meeting *meeting, int *wake, int *alive,
                                 struct ina_failure *failure)
{
	struct sockaddr_un name;
	socklen_t size = make_name(meeting, &name);
	int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	enum ina_status status = INA_OK;
	int come = 1;

	for (int i = 0; i < meeting->count; i++)
		meeting->links[i] = -1;
	if (listener < 0 || bind(listener, (struct sockaddr *)&name, size) != 0 ||
	    listen(listener, INA_MAX_RANKS) != 0)
		status = ina_fail(failure, INA_ERR_SYSTEM,
		                  "cannot open a socket for the ranks of this machine: %s",
		                  strerror(errno));
	while (status == INA_OK && come < meeting->count)
		status = take_one(meeting, listener, wake, alive, &come, failure);
	if (listener >= 0)
		close(listener);
	if (status != INA_OK)
		part(meeting);
	return status;
}

enum ina_status ina_local_hand_out(struct ina_local_meeting *meeting, const int *fds, int count,
                                   struct ina_failure *failure)
{
	enum ina_status status = INA_OK;

	for (int i = 1; i < meeting->count && status == INA_OK; i++) {
		if (send_fds(meeting->links[i], 0, fds, count) != 0)
			status =
			        ina_fail(failure, INA_ERR_PEER,
			                 "lost the connection to local rank %d of this machine: %s",
			                 i, strerror(errno));
	}
	part(meeting);
	return status;
}

/* The leader may not listen yet, so try again. */
static enum ina_status reach(struct ina_local_meeting *meeting, int fd, struct ina_failure *failure)
{
	struct sockaddr_un name;
	socklen_t size = make_name(meeting, &name);

	while (connect(fd, (struct sockaddr *)&name, size) != 0) {
		if (ina_open_failed_elsewhere(meeting->control, failure))
			return failure->status;
		if (ina_now_ms() >= meeting->deadline_ms)
			return ina_fail(failure, INA_ERR_TIMEOUT,
			                "rank %d, on the same machine, could not be reached: %s",
			                meeting->leader, strerror(errno));
		ina_poll(NULL, 0, TICK_MS);
	}
	if (!is_ours(fd))
		return ina_fail(failure, INA_ERR_SYSTEM,
		                "rank %d, on the same machine, runs as another user: the two "
		                "cannot share memory",
		                meeting->leader);
	return INA_OK;
}

enum ina_status ina_local_attend(struct ina_local_meeting *meeting, const int *own, int *fds,
                                 int count, struct ina_failure *failure)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	uint32_t index;
	enum ina_status status;

	if (fd < 0)
		return ina_fail(failure, INA_ERR_SYSTEM, "cannot open a socket: %s",
		                strerror(errno));
	status = reach(meeting, fd, failure);
	if (status == INA_OK && send_fds(fd, (uint32_t)meeting->index, own, INA_LOCAL_BRINGS) != 0)
		status = ina_fail(failure, INA_ERR_PEER,
		                  "rank %d, on the same machine, disconnected", meeting->leader);
	if (status == INA_OK)
		status = await(meeting, fd, "the lowest rank of this machine", failure);
	if (status == INA_OK && receive_fds(fd, &index, fds, (size_t)count) != 0)
		status = ina_fail(failure, INA_ERR_PEER, "rank %d, on the same machine, has failed",
		                  meeting->leader);
	close(fd);
	return status;
}
