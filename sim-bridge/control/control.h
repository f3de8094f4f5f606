/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Unix socket on which an operator looks into the running bridge. Nothing here blocks, and
 * clients are few and have a time limit, so none of them can hold up the switch.
 */
#ifndef INA_BRIDGE_CONTROL_H
#define INA_BRIDGE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "answers.h"
#include "protocol.h"

enum { CONTROL_CLIENTS = 8, CONTROL_PATIENCE_S = 5 };

struct control_client {
	int fd;          /* -1: none */
	bool is_last;    /* it is closed after the answer */
	uint64_t end_ns; /* it is closed then, by the monotonic clock */
	size_t request_bytes;
	char request[CONTROL_REQUEST_BYTES];
	char *answer; /* or NULL; it still has to be sent from sent_bytes on */
	size_t answer_bytes, sent_bytes;
};

struct control {
	struct view view;
	struct sockaddr_un address;
	dev_t device;
	ino_t inode;
	int listen_fd;
	int timer_fd;
	int epoll_fd; /* readable if control_run() has work */
	struct control_client clients[CONTROL_CLIENTS];
};

void control_init(struct control *control);

/*
 * After control_init(): listens at `path`, whose file gets `mode`. Replaces the file of a process
 * that has died. Returns false, with one line in `error`, if it cannot. The caller then sets
 * `view`.
 */
bool control_open(struct control *control, const char *path, mode_t mode, char *error,
                  size_t error_bytes);

/* Removes the file. Also after control_init() alone, or if control_open() failed. */
void control_close(struct control *control);

/* Serves all clients as far as possible without waiting. `context` is the struct control. */
void control_run(void *context, uint64_t time_ns);

#endif
