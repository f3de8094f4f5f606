/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A port in real time: a socket, a network interface or a TAP device. Frames that leave wait in a
 * bounded queue. If the queue is full, the port drops and counts the frame, so a host that does not
 * read never blocks the bridge.
 */
#ifndef INA_BRIDGE_PORT_H
#define INA_BRIDGE_PORT_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim-bridge/switch/frame_pool.h"
#include "sim-bridge/switch/port_counts.h"

enum {
	PORT_QUEUE_FRAMES = 1024, /* a power of two */
	PORT_BATCH_FRAMES = 64,   /* frames read or sent with one system call, at most */
};

struct port;

/* A frame has come in; its reference passes to the callee. */
typedef void port_take(void *context, struct frame *frame);

struct port_input {
	struct frame_pool *pool;
	port_take *take;
	void *context;
};

/* The part of a port that depends on its kind. */
struct port_kind {
	/*
	 * True if the port is a network interface. It may go down or be removed and come back, and
	 * no error closes it.
	 */
	bool is_interface;
	/*
	 * Sets `fd`. A port whose interface was removed is opened again for another one of the
	 * same name. If it fails, writes one line to `error`, without the port's name.
	 */
	bool (*open)(struct port *port, char *error, size_t error_bytes);
	/* Frees `of_kind`; the caller closes `fd`. May be NULL. */
	void (*close)(struct port *port);
	/* Reads a batch. Returns false if the other end has gone for good. */
	bool (*receive)(struct port *port, const struct port_input *input);
	/* Sends up to PORT_BATCH_FRAMES frames. Returns how many, or -1 with errno. */
	int (*send)(struct port *port, struct frame *const *frames, unsigned count);
	/* Counts the frames that the kernel has dropped since the last call. May be NULL. */
	void (*count_lost)(struct port *port);
};

struct port {
	const struct port_kind *kind;
	int fd;          /* -1 if it is closed, or if the interface does not exist */
	bool is_open;    /* false after the other end has gone for good */
	bool is_up;      /* false while an interface's link is down; true for a socket */
	bool is_in_loop; /* closed, because the bridge's own question came back (inquiry.h) */
	bool is_blocked; /* the socket is full; the port waits until it is writable */
	struct port_counts counts;
	uint32_t head; /* head and tail count up without wrapping at the queue's end */
	uint32_t tail;
	struct frame *queue[PORT_QUEUE_FRAMES];
	/* Of an interface: */
	char name[IF_NAMESIZE];
	int index; /* 0 while it does not exist; -1 of a TAP device in another namespace */
	unsigned mtu;
	unsigned refused_mtu; /* the MTU when the kernel last refused a frame */
	void *of_kind;        /* owned by the kind */
};

/* Counts the frames that the kernel has dropped, because they were read too late. */
void port_count_lost(struct port *port);

/* Closes the descriptor for good, and drops the queued frames. */
void port_close(struct port *port);

/* Closes the descriptor of an interface that was removed, and drops the queued frames. */
void port_detach(struct port *port);

/* Says whether the link works; if not, drops the queued frames. */
void port_set_up(struct port *port, bool is_up);

/*
 * Reads one batch of frames and gives them to `input`. If the host has closed its end, closes the
 * port.
 */
void port_read(struct port *port, const struct port_input *input);

/* Queues a frame and takes its reference. Returns false if it dropped the frame. */
bool port_send(struct port *port, struct frame *frame);

/* Sends as many queued frames as the socket takes. */
void port_flush(struct port *port);

/* For the kinds of ports. */

/* True for an error that only says: nothing to read, or no room to send, at the moment. */
bool port_is_later(int error);

/* Asks for large buffers of a socket; smaller ones cost only speed. */
void port_enlarge_buffers(int fd);

/* Counts a frame that has come in, or drops and counts it if its length is not a frame's. */
void port_take_frame(struct port *port, const struct port_input *input, struct frame *frame,
                     unsigned length, bool is_cut_off);

/*
 * Sends frames by sendmmsg(), each after its head of `head_bytes`, which may be 0. Its result is
 * that of send().
 */
int port_send_messages(struct port *port, void *heads, size_t head_bytes,
                       struct frame *const *frames, unsigned count);

#endif
