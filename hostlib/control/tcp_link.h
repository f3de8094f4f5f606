/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames that ranks send each other over TCP, and the connections that carry them. In memory,
 * all frames have the same size. Zeros at the end of a frame are not sent: at an agreement every
 * rank passes rank 0's answer on to all its neighbours, and most of the answer is unused room for a
 * text.
 */
#ifndef INA_CONTROL_TCP_LINK_H
#define INA_CONTROL_TCP_LINK_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "votes.h"

/* "INACTRL", and the version of the format below as the last byte. */
#define INA_CONTROL_MAGIC 0x444C525443414E49u /* "INACTRLD" */

enum ina_control_type {
	INA_CONTROL_CHALLENGE = 1, /* to a caller, as the first frame of the connection */
	INA_CONTROL_HELLO,         /* from a caller to rank 0 */
	INA_CONTROL_GREETING,      /* from a caller to any other rank: a child or a neighbour */
	/* the reply to HELLO and GREETING: accepts, redirects or refuses the caller */
	INA_CONTROL_ANSWER,
	/* to the parent: the ranks of this rank's subtree that have connected */
	INA_CONTROL_GATHERED,
	/* from the parent, when all ranks have connected: a part of the roster */
	INA_CONTROL_WELCOME,
	INA_CONTROL_VOTES, /* the votes of an agreement that the sender knows */
	/* to the parent: this rank has waited in a call for long, or has made progress */
	INA_CONTROL_STALL,
	INA_CONTROL_FAULTS,   /* the reports of a fault that the sender knows */
	INA_CONTROL_NEWS,     /* lost ranks, and any other error that ends the communicator */
	INA_CONTROL_FAREWELL, /* the last frame of this rank, after an error or at the end */
	/* Each rank passes these frames on to all its neighbours. */
	INA_CONTROL_QUERY,     /* from any rank: there is a fault, and all ranks must report */
	INA_CONTROL_DECISION,  /* from rank 0: the result of an agreement */
	INA_CONTROL_DIAGNOSIS, /* from rank 0: the communicator ends with this error */
	INA_CONTROL_PLAN,      /* from rank 0: continue without the aggregator, as this plan says */
};

struct ina_endpoint {
	uint32_t address; /* IPv4, network byte order */
	uint16_t port;    /* of the RDMA connection manager, network byte order; 0: no device */
	/* where other ranks of the communicator and of its rails connect; network byte order */
	uint16_t tcp_port;
	/*
	 * Of the address's network interface, in bytes; or less, if the port carries only smaller
	 * packets. It limits the path MTU (hostlib/rdma/device.h).
	 */
	uint16_t mtu;
	/* the same for all ranks of a machine that may share memory: 6 bytes of its identity */
	uint8_t host[6];
};

/* The job of this end, and the proof that it belongs to the job (credential.h). */
struct ina_credential {
	uint64_t job; /* tag of struct ina_job */
	uint64_t nonce;
	uint64_t proof;
};

struct ina_hello {
	struct ina_credential credential;
	uint32_t ranks;
	uint32_t window;
	uint32_t message_bytes;
	uint32_t algorithm;
	uint32_t fixed_point; /* 0 or 1 */
	uint32_t patience_ms; /* how long the rank still waits for an answer */
	uint32_t schedule;
	uint32_t congestion_control; /* 0 or 1 */
	uint32_t channels;
	/* enum ina_status; not INA_OK: this rank cannot take part, and text has the reason */
	uint32_t status;
	struct ina_endpoint endpoint;
	char text[INA_CONTROL_TEXT];
};

struct ina_greeting {
	struct ina_credential credential;
	/* the communicator's, from its WELCOME; 0 in a child's GREETING before that */
	uint64_t job_id;
};

/* The answer to a caller that is not refused. */
enum ina_admission {
	INA_LET_IN,
	INA_SENT_ON, /* it must connect to its parent, at the other endpoint */
	INA_PUT_OFF, /* it must call again later: the rank that it wants is not here yet */
};

struct ina_answer {
	struct ina_credential credential;
	uint32_t status;    /* enum ina_status; not INA_OK: the caller is refused */
	uint32_t admission; /* enum ina_admission */
	struct ina_endpoint onward;
	char text[INA_CONTROL_TEXT];
};

/*
 * A WELCOME has the endpoints of ranks [first, first + count). The last part ends with the last
 * rank.
 */
#define INA_WELCOME_ENDPOINTS 24

struct ina_welcome {
	uint64_t job_id;
	uint32_t status; /* enum ina_status; the endpoints are valid only with INA_OK */
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
	/* the earliest unfinished call; kind NONE: the rank has made progress */
	struct ina_call call;
	uint32_t is_all; /* 0 or 1: all ranks of its subtree wait too */
	uint32_t reserved;
};

struct ina_news {
	struct ina_ranks gone;
	uint32_t status; /* the first error with which a rank said farewell; INA_OK: none */
	uint32_t reserved;
	char text[INA_CONTROL_TEXT];
};

/* Some ranks have the sums of messages [from, until) and others do not; `owner` has them all. */
struct ina_plan {
	uint64_t from;
	uint64_t until;
	uint32_t owner;
	uint32_t round;  /* the round of the fault reports */
	uint32_t yields; /* 1: there is no fault; the job gives up its context to another job */
	uint32_t reserved;
};

struct ina_control_frame {
	uint64_t magic;
	uint16_t type;
	uint16_t bytes; /* on the wire, the number of bytes sent; otherwise 0 */
	uint32_t rank;  /* the rank that made the frame; 0 in CHALLENGE and ANSWER */
	union {
		struct ina_credential credential; /* in all frames up to ANSWER */
		struct ina_hello hello;
		struct ina_greeting greeting;
		struct ina_answer answer;
		struct ina_welcome welcome;
		struct ina_ranks gathered;
		struct ina_votes votes;
		struct ina_stall stall;
		struct ina_faults faults;
		struct ina_news news;
		uint32_t round; /* in QUERY */
		struct ina_decision decision;
		struct ina_plan plan;
	};
};

/* A TCP connection, and the part of the next frame that has arrived on it. */
struct ina_link {
	int fd;          /* -1: no connection */
	size_t in_bytes; /* bytes of the next frame that have arrived */
	struct ina_control_frame in;
};

enum ina_link_result {
	INA_LINK_NOTHING,
	INA_LINK_FRAME,   /* link->in has a frame; the next read overwrites it */
	INA_LINK_CLOSED,  /* the connection was closed or failed */
	INA_LINK_VERSION, /* a frame of another version, which is the last byte of in.magic */
	INA_LINK_GARBAGE, /* not a frame of this protocol */
};

/* Reads up to one frame without waiting. */
enum ina_link_result ina_link_read(struct ina_link *link);

/* Sends a frame; if the socket is full, waits until the deadline. Returns 0 or -1. */
int ina_link_send(struct ina_link *link, const struct ina_control_frame *frame,
                  int64_t deadline_ms);

/* Has the other end's kernel acknowledged all bytes that were sent? */
bool ina_link_is_idle(const struct ina_link *link);

/*
 * Has the other end's kernel been silent for so long that its host counts as lost? Keepalive probes
 * ask it every second (ina_link_prepare()), also while this process is outside the library.
 */
bool ina_link_is_silent(const struct ina_link *link);

/*
 * Sets the options of a control socket: no delay, non-blocking, and keepalive, so that the death of
 * the host is noticed. peer_timeout_ms is the time without an answer after which it counts as dead.
 * Returns 0 or -1.
 */
int ina_link_prepare(int fd, int peer_timeout_ms);

/*
 * Listens at the first free port of `count` from this one on. Port 0: any that is free. Returns a
 * non-blocking socket, or -1 with the errno of the last port.
 */
int ina_link_listen(const struct sockaddr_in *first, int count);

/* Begins to connect without waiting. Returns 0, or -1 with errno. */
int ina_link_call(struct ina_link *link, const struct sockaddr_in *to);

/*
 * Called when poll() has found the socket writable. Checks that it is connected, and not to itself,
 * and prepares it. Returns 0, or -1 with errno; after an error the link is closed.
 */
int ina_link_finish_call(struct ina_link *link, int peer_timeout_ms);

void ina_link_close(struct ina_link *link);

#endif
