/* SPDX-License-Identifier: Apache-2.0 */
/* Those at a listening socket. */
#include "door.h"

#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"

/* How long a connection may take to say who it is. */
#define VISITOR_MS 5000

void ina_door_open(struct ina_door *door, int listener, int peer_timeout_ms)
{
	door->listener = listener;
	door->peer_timeout_ms = peer_timeout_ms;
	door->strangers = 0;
	for (int i = 0; i < INA_DOOR_PLACES; i++)
		door->visitors[i].link.fd = -1;
}

static void send_away(struct ina_door *door, struct ina_visitor *visitor)
{
	if (visitor->link.fd < 0)
		return;
	door->strangers++;
	ina_link_close(&visitor->link);
}

void ina_door_close(struct ina_door *door)
{
	for (int i = 0; i < INA_DOOR_PLACES; i++)
		send_away(door, &door->visitors[i]);
}

int ina_door_pollfds(const struct ina_door *door, struct pollfd *fds)
{
	int count = 0;

	fds[count++] = (struct pollfd){.fd = door->listener, .events = POLLIN};
	for (int i = 0; i < INA_DOOR_PLACES; i++) {
		if (door->visitors[i].link.fd >= 0)
			fds[count++] =
			        (struct pollfd){.fd = door->visitors[i].link.fd, .events = POLLIN};
	}
	return count;
}

static struct ina_visitor *free_place(struct ina_door *door)
{
	struct ina_visitor *place = &door->visitors[0];

	for (int i = 0; i < INA_DOOR_PLACES; i++) {
		struct ina_visitor *visitor = &door->visitors[i];

		if (visitor->link.fd < 0)
			return visitor;
		if (visitor->since_ms < place->since_ms)
			place = visitor;
	}
	send_away(door, place);
	return place;
}

static void let_in(struct ina_door *door)
{
	for (;;) {
		int fd = accept4(door->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct ina_visitor *place;

		if (fd < 0)
			return;
		if (ina_link_prepare(fd, door->peer_timeout_ms) != 0) {
			close(fd);
			continue;
		}
		place = free_place(door);
		place->link.fd = fd;
		place->link.in_bytes = 0;
		place->since_ms = ina_now_ms();
	}
}

struct ina_link *ina_door_next(struct ina_door *door, enum ina_control_type type)
{
	let_in(door);
	for (int i = 0; i < INA_DOOR_PLACES; i++) {
		struct ina_visitor *visitor = &door->visitors[i];
		enum ina_link_result result;

		if (visitor->link.fd < 0)
			continue;
		/* Has it been shown before, and not been taken? */
		if (visitor->link.in_bytes == sizeof(visitor->link.in)) {
			send_away(door, visitor);
			continue;
		}
		result = ina_link_read(&visitor->link);
		if (result == INA_LINK_FRAME && visitor->link.in.type == type)
			return &visitor->link;
		if (result != INA_LINK_NOTHING || ina_now_ms() - visitor->since_ms > VISITOR_MS)
			send_away(door, visitor);
	}
	return NULL;
}
