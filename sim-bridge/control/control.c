/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "common/clock.h"

/* epoll tags: the clients' numbers come first. */
enum { TAG_LISTEN = CONTROL_CLIENTS, TAG_TIMER, TAGS };

static int watch(const struct control *control, int operation, int fd, uint32_t events,
                 uint32_t tag)
{
	struct epoll_event event = {.events = events, .data.u32 = tag};

	return epoll_ctl(control->epoll_fd, operation, fd, &event);
}

/* Returns NULL if nobody listens at the socket, or why its file must not be removed. */
static const char *find_owner(const struct control *control)
{
	struct stat file;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return strerror(errno);
	const bool is_refused = connect(fd, (const struct sockaddr *)&control->address,
	                                sizeof(control->address)) != 0 &&
	                        errno == ECONNREFUSED;

	close(fd);
	if (lstat(control->address.sun_path, &file) == 0 && !S_ISSOCK(file.st_mode))
		return "there is a file that is no socket: give another path";
	return is_refused ? NULL : "another process is listening there: give another path";
}

/* Returns 0, or -1 with errno. */
static int bind_with(const struct control *control, mode_t mode)
{
	const mode_t others = umask(0777 & ~mode);
	const int result = bind(control->listen_fd, (const struct sockaddr *)&control->address,
	                        sizeof(control->address));

	umask(others);
	return result;
}

/* Returns NULL, or the reason of a failure. */
static const char *open_socket(struct control *control, mode_t mode)
{
	struct stat file;

	control->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (control->listen_fd < 0)
		return strerror(errno);
	if (bind_with(control, mode) != 0) {
		if (errno != EADDRINUSE)
			return strerror(errno);
		const char *reason = find_owner(control);

		if (reason)
			return reason;
		if (unlink(control->address.sun_path) != 0 || bind_with(control, mode) != 0)
			return strerror(errno);
	}
	if (lstat(control->address.sun_path, &file) != 0)
		return strerror(errno);
	control->device = file.st_dev;
	control->inode = file.st_ino;
	control->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	control->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (control->epoll_fd < 0 || control->timer_fd < 0 ||
	    listen(control->listen_fd, CONTROL_CLIENTS) != 0 ||
	    watch(control, EPOLL_CTL_ADD, control->listen_fd, EPOLLIN, TAG_LISTEN) != 0 ||
	    watch(control, EPOLL_CTL_ADD, control->timer_fd, EPOLLIN, TAG_TIMER) != 0)
		return strerror(errno);
	return NULL;
}

void control_init(struct control *control)
{
	*control = (struct control){
	        .address.sun_family = AF_UNIX,
	        .listen_fd = -1,
	        .timer_fd = -1,
	        .epoll_fd = -1,
	};
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		control->clients[i].fd = -1;
}

bool control_open(struct control *control, const char *path, mode_t mode, char *error,
                  size_t error_bytes)
{
	const char *reason;

	if (!*path || strlen(path) >= sizeof(control->address.sun_path)) {
		snprintf(error, error_bytes, "--control %s: a path has 1 to %zu characters", path,
		         sizeof(control->address.sun_path) - 1);
		return false;
	}
	strcpy(control->address.sun_path, path);
	reason = open_socket(control, mode);
	if (!reason)
		return true;
	snprintf(error, error_bytes, "--control %s: %s", path, reason);
	return false;
}

static void end_client(struct control_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	free(client->answer);
	*client = (struct control_client){.fd = -1};
}

void control_close(struct control *control)
{
	struct stat file;

	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		end_client(&control->clients[i]);
	/* The file may be that of another process by now. */
	if (control->inode && lstat(control->address.sun_path, &file) == 0 &&
	    file.st_dev == control->device && file.st_ino == control->inode)
		unlink(control->address.sun_path);
	if (control->timer_fd >= 0)
		close(control->timer_fd);
	if (control->epoll_fd >= 0)
		close(control->epoll_fd);
	if (control->listen_fd >= 0)
		close(control->listen_fd);
	control_init(control);
}

/* Sets the timer to the end of the client that ends next. */
static void set_timer(const struct control *control)
{
	struct itimerspec timer = {0}; /* disarmed */
	uint64_t first_ns = 0;

	for (unsigned i = 0; i < CONTROL_CLIENTS; i++) {
		const struct control_client *client = &control->clients[i];

		if (client->fd >= 0 && (!first_ns || client->end_ns < first_ns))
			first_ns = client->end_ns;
	}
	timer.it_value.tv_sec = (time_t)(first_ns / 1000000000u);
	timer.it_value.tv_nsec = (long)(first_ns % 1000000000u);
	timerfd_settime(control->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

static void give_time(struct control_client *client)
{
	client->end_ns = (uint64_t)ina_now_ns() + CONTROL_PATIENCE_S * UINT64_C(1000000000);
}

static void accept_client(struct control *control)
{
	static const char busy[] = "{\"version\": 1, \"error\": \"too many clients: try again\"}\n";
	const int fd = accept4(control->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	_Static_assert(CONTROL_VERSION == 1, "the text above has the version");
	if (fd < 0)
		return;
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++) {
		struct control_client *client = &control->clients[i];

		if (client->fd >= 0)
			continue;
		if (watch(control, EPOLL_CTL_ADD, fd, EPOLLIN, i) != 0)
			break;
		client->fd = fd;
		give_time(client);
		return;
	}
	(void)!send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL);
	close(fd);
}

/* Takes the first line of the client's buffer as a request. */
static void answer(struct control *control, struct control_client *client, uint64_t time_ns)
{
	char *end = memchr(client->request, '\n', client->request_bytes);
	const size_t bytes = end ? (size_t)(end - client->request) : client->request_bytes;
	json_t *object;

	if (!end && client->request_bytes < sizeof(client->request))
		return;
	object = answers_give(&control->view, client->request, bytes, time_ns);
	client->is_last = !end || !object || json_object_get(object, "error");
	client->answer = object ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	if (!client->answer) {
		end_client(client);
		return;
	}
	client->answer_bytes = strlen(client->answer) + 1;
	client->answer[client->answer_bytes - 1] = '\n'; /* in place of the final 0 */
	client->sent_bytes = 0;
	client->request_bytes -= end ? bytes + 1 : bytes;
	memmove(client->request, client->request + bytes + 1, client->request_bytes);
	give_time(client);
}

static void receive(struct control_client *client)
{
	const ssize_t got = recv(client->fd, client->request + client->request_bytes,
	                         sizeof(client->request) - client->request_bytes, 0);

	if (got > 0)
		client->request_bytes += (size_t)got;
	else if (got == 0 || !port_is_later(errno))
		end_client(client);
}

static void send_answer(struct control_client *client)
{
	const ssize_t sent = send(client->fd, client->answer + client->sent_bytes,
	                          client->answer_bytes - client->sent_bytes, MSG_NOSIGNAL);

	if (sent < 0 && !port_is_later(errno)) {
		end_client(client);
		return;
	}
	if (sent > 0)
		client->sent_bytes += (size_t)sent;
	if (client->sent_bytes < client->answer_bytes)
		return;
	free(client->answer);
	client->answer = NULL;
	if (client->is_last)
		end_client(client);
}

static bool has_request(const struct control_client *client)
{
	return memchr(client->request, '\n', client->request_bytes) != NULL;
}

/* While an answer waits, no further request is read. */
static void serve(struct control *control, unsigned number, uint64_t time_ns)
{
	struct control_client *client = &control->clients[number];

	if (!client->answer && !has_request(client))
		receive(client);
	if (client->fd >= 0 && !client->answer)
		answer(control, client, time_ns);
	if (client->fd >= 0 && client->answer)
		send_answer(client);
	if (client->fd < 0)
		return;
	/* A further request in the buffer is served when the socket is writable. */
	const bool has_more = client->answer || has_request(client);

	watch(control, EPOLL_CTL_MOD, client->fd, has_more ? EPOLLOUT : EPOLLIN, number);
}

static void end_late_clients(struct control *control)
{
	const uint64_t now_ns = (uint64_t)ina_now_ns();
	uint64_t expirations;

	(void)!read(control->timer_fd, &expirations, sizeof(expirations));
	for (unsigned i = 0; i < CONTROL_CLIENTS; i++)
		if (control->clients[i].fd >= 0 && control->clients[i].end_ns <= now_ns)
			end_client(&control->clients[i]);
}

void control_run(void *context, uint64_t time_ns)
{
	struct control *control = context;
	struct epoll_event events[TAGS];
	const int count = epoll_wait(control->epoll_fd, events, TAGS, 0);

	for (int i = 0; i < count; i++) {
		const uint32_t tag = events[i].data.u32;

		if (tag == TAG_LISTEN)
			accept_client(control);
		else if (tag == TAG_TIMER)
			end_late_clients(control);
		else if (control->clients[tag].fd >= 0)
			serve(control, tag, time_ns);
	}
	set_timer(control);
}
