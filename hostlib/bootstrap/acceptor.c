/* SPDX-License-Identifier: Apache-2.0 */
/* Those at a listening socket. */
#include "acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"

/* How long a connection may take to say who it is. */
#define VISITOR_MS 5000

void ina_acceptor_open(struct ina_acceptor *acceptor, int listener, int peer_timeout_ms)
{
	acceptor->listener = listener;
	acceptor->peer_timeout_ms = peer_timeout_ms;
	acceptor->unknown_peers = 0;
	for (int i = 0; i < INA_ACCEPTOR_PLACES; i++)
		acceptor->visitors[i].link.fd = -1;
}

static void send_away(struct ina_acceptor *acceptor, struct ina_visitor *visitor)
{
	if (visitor->link.fd < 0)
		return;
	acceptor->unknown_peers++;
	ina_link_close(&visitor->link);
}

void ina_acceptor_close(struct ina_acceptor *acceptor)
{
	for (int i = 0; i < INA_ACCEPTOR_PLACES; i++)
		send_away(acceptor, &acceptor->visitors[i]);
}

int ina_acceptor_pollfds(const struct ina_acceptor *acceptor, struct pollfd *fds)
{
	int count = 0;

	fds[count++] = (struct pollfd){.fd = acceptor->listener, .events = POLLIN};
	for (int i = 0; i < INA_ACCEPTOR_PLACES; i++) {
		if (acceptor->visitors[i].link.fd >= 0)
			fds[count++] = (struct pollfd){.fd = acceptor->visitors[i].link.fd,
			                               .events = POLLIN};
	}
	return count;
}

static struct ina_visitor *free_place(struct ina_acceptor *acceptor)
{
	struct ina_visitor *place = &acceptor->visitors[0];

	for (int i = 0; i < INA_ACCEPTOR_PLACES; i++) {
		struct ina_visitor *visitor = &acceptor->visitors[i];

		if (visitor->link.fd < 0)
			return visitor;
		if (visitor->since_ms < place->since_ms)
			place = visitor;
	}
	send_away(acceptor, place);
	return place;
}

static void let_in(struct ina_acceptor *acceptor)
{
	for (;;) {
		int fd = accept4(acceptor->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct ina_visitor *place;

		if (fd < 0)
			return;
		if (ina_link_prepare(fd, acceptor->peer_timeout_ms) != 0) {
			close(fd);
			continue;
		}
		place = free_place(acceptor);
		place->link.fd = fd;
		place->link.in_bytes = 0;
		place->since_ms = ina_now_ms();
	}
}

struct ina_link *ina_acceptor_next(struct ina_acceptor *acceptor, enum ina_control_type type)
{
	let_in(acceptor);
	for (int i = 0; i < INA_ACCEPTOR_PLACES; i++) {
		struct ina_visitor *visitor = &acceptor->visitors[i];
		enum ina_link_result result;

		if (visitor->link.fd < 0)
			continue;
		/* Has it been shown before, and not been taken? */
		if (visitor->link.in_bytes == sizeof(visitor->link.in)) {
			send_away(acceptor, visitor);
			continue;
		}
		result = ina_link_read(&visitor->link);
		if (result == INA_LINK_FRAME && visitor->link.in.type == type)
			return &visitor->link;
		if (result != INA_LINK_NOTHING || ina_now_ms() - visitor->since_ms > VISITOR_MS)
			send_away(acceptor, visitor);
	}
	return NULL;
}
