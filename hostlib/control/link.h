/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks say to each other over TCP: frames, and the connections that they travel on. In memory
 * all frames have one size. The zeros at a frame's end are not sent: at an agreement every rank
 * hands rank 0's answer on to all its neighbours, and most of it would be the room for a text.
 */
#ifndef INA_CONTROL_LINK_H
#define INA_CONTROL_LINK_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "votes.h"

/* "INACTRL", and as its last byte the version of all that follows. */
#define INA_CONTROL_MAGIC 0x434C525443414E49u /* "INACTRLC" */

enum ina_control_type {
	INA_CONTROL_CHALLENGE = 1, /* to whoever has called, first of all */
	INA_CONTROL_HELLO,         /* to rank 0, which was called */
	INA_CONTROL_GREETING,      /* the same to any rank, from a neighbour */
	INA_CONTROL_ANSWER,        /* to either: whether the caller is let in, or why not */
	INA_CONTROL_GATHERED,      /* to the parent: who has come, of this rank's subtree */
	INA_CONTROL_WELCOME,       /* from the parent, when all have come: a part of the roster */
	INA_CONTROL_VOTES,         /* what is known of an agreement */
	INA_CONTROL_STALL,    /* to the parent: this rank waits for long in a call, or goes on */
	INA_CONTROL_FAULTS,   /* what is known of a fault */
	INA_CONTROL_NEWS,     /* who is gone, and what else ends the communicator */
	INA_CONTROL_FAREWELL, /* from here nothing more will come, for a reason or at the end */
	/* Handed on by each rank to all its neighbours. */
	INA_CONTROL_QUERY,     /* of any rank: there is a fault; all report */
	INA_CONTROL_DECISION,  /* of rank 0: what was agreed */
	INA_CONTROL_DIAGNOSIS, /* of rank 0: the end of the communicator, and why */
	INA_CONTROL_PLAN,      /* of rank 0: no aggregator any more, and how to go on */
};

struct ina_endpoint {
	uint32_t address;  /* IPv4, network order */
	uint16_t port;     /* of the RDMA connection manager, network order */
	uint16_t tcp_port; /* where other ranks find this one, and those of its rail; network
	                      order */
	uint64_t host;     /* the same for all ranks of a machine, if they may share memory */
};

/* Of which job this end is, and the proof of it: credential.h. */
struct ina_credential {
	uint64_t job; /* struct ina_job's tag */
	uint64_t nonce;
	uint64_t proof;
};

struct ina_hello {
	struct ina_credential credential;
	uint32_t ranks;
	uint32_t window;
	uint32_t message_bytes;
	uint32_t algorithm;
	uint32_t fixed_point; /* 0, or 1 */
	uint32_t patience_ms; /* how long the rank still waits for an answer */
	uint32_t schedule;
	uint32_t congestion_control; /* 0, or 1 */
	uint32_t channels;
	uint32_t status; /* enum ina_status; not INA_OK: this rank cannot take part, and why not */
	struct ina_endpoint endpoint;
	char text[INA_CONTROL_TEXT];
};

struct ina_greeting {
	struct ina_credential credential;
	uint64_t job_id; /* the communicator's, from its WELCOME; 0: a child, before that */
};

/* What becomes of a caller that is not refused. */
enum ina_admission {
	INA_LET_IN,
	INA_SENT_ON, /* to the other endpoint, its parent's */
	INA_PUT_OFF, /* it calls again: who it is for is not there yet */
};

struct ina_answer {
	struct ina_credential credential;
	uint32_t status;    /* enum ina_status; else it is refused */
	uint32_t admission; /* enum ina_admission */
	struct ina_endpoint onward;
	char text[INA_CONTROL_TEXT];
};

/* Endpoints of ranks [first, first + count); the last part ends with the last rank. */
#define INA_WELCOME_ENDPOINTS 24

struct ina_welcome {
	uint64_t job_id;
	uint32_t status; /* enum ina_status; the endpoints are valid for INA_OK only */
	uint32_t first;
	uint32_t count;
	uint32_t reserved;
	struct ina_endpoint endpoints[INA_WELCOME_ENDPOINTS];
	char text[INA_CONTROL_TEXT];
};

struct ina_decision {
	uint32_t phase;
	uint32_t status;
	uint32_t minimum;
	char text[INA_CONTROL_TEXT];
};

struct ina_stall {
	struct ina_call call; /* the earliest that is unfinished; kind NONE: it goes on */
	uint32_t is_all;      /* 0, or 1: and so do all of its subtree wait */
	uint32_t reserved;
};

struct ina_news {
	struct ina_ranks gone;
	uint32_t status; /* the first error with which a rank has ended; INA_OK: none */
	uint32_t reserved;
	char text[INA_CONTROL_TEXT];
};

/* Messages [from, until) have reached some ranks as sums and not others; `owner` has them all. */
struct ina_plan {
	uint64_t from;
	uint64_t until;
	uint32_t owner;
	uint32_t round;  /* that of the faults */
	uint32_t yields; /* 1: there is none; the job gives its context to another one */
	uint32_t reserved;
};

struct ina_control_frame {
	uint64_t magic;
	uint16_t type;
	uint16_t bytes; /* on its way: that are sent of it; else 0 */
	uint32_t rank;  /* whose it is; nothing in CHALLENGE and ANSWER */
	union {
		struct ina_credential credential; /* of all frames up to ANSWER */
		struct ina_hello hello;
		struct ina_greeting greeting;
		struct ina_answer answer;
		struct ina_welcome welcome;
		struct ina_ranks gathered;
		struct ina_votes votes;
		struct ina_stall stall;
		struct ina_faults faults;
		struct ina_news news;
		uint32_t round; /* of a QUERY */
		struct ina_decision decision;
		struct ina_plan plan;
	};
};

/* A TCP connection, and the part of a frame that has arrived on it. */
struct ina_link {
	int fd;          /* -1: none */
	size_t in_bytes; /* of the next one, so far */
	struct ina_control_frame in;
};

enum ina_link_result {
	INA_LINK_NOTHING,
	INA_LINK_FRAME,   /* link->in holds one; the next read overwrites it */
	INA_LINK_CLOSED,  /* or broken */
	INA_LINK_VERSION, /* ours, but of another version, which is the last byte of in.magic */
	INA_LINK_GARBAGE, /* not one of ours */
};

/* Reads what is there, without waiting, up to one frame. */
enum ina_link_result ina_link_read(struct ina_link *link);

/* Sends a frame, waiting while the socket is full, until the deadline. Returns 0, or -1. */
int ina_link_send(struct ina_link *link, const struct ina_control_frame *frame,
                  int64_t deadline_ms);

/* Has the other end's kernel got all that was sent? */
bool ina_link_is_idle(const struct ina_link *link);

/*
 * Has the other end's kernel answered nothing for so long that its host counts as gone? It was
 * asked each second (ina_link_prepare()), also while this process was outside of the library.
 */
bool ina_link_is_silent(const struct ina_link *link);

/* Options of a control socket: no delay, not blocking, the death of the host noticed. */
int ina_link_prepare(int fd, int peer_timeout_ms);

/* Begins to connect. Returns 0, or -1 with errno. */
int ina_link_call(struct ina_link *link, const struct sockaddr_in *to);

/*
 * After poll() has found the socket writable: is it connected, and to anybody else? Prepares it.
 * Returns 0, or -1 with errno.
 */
int ina_link_finish_call(struct ina_link *link, int peer_timeout_ms);

void ina_link_close(struct ina_link *link);

#endif
