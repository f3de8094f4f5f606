/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks say to each other over TCP: frames, all of one size, and the connections that they
 * travel on.
 */
#ifndef INA_CONTROL_LINK_H
#define INA_CONTROL_LINK_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/include/ina.h"

/* "INACTRL", and as its last byte the version of all that follows. */
#define INA_CONTROL_MAGIC 0x364C525443414E49u /* "INACTRL6" */
#define INA_CONTROL_TEXT  400

enum ina_control_type {
	INA_CONTROL_CHALLENGE = 1, /* to whoever has called, first of all */
	INA_CONTROL_HELLO,         /* to rank 0, which was called */
	INA_CONTROL_GREETING,      /* the same to any other rank, from a higher one */
	INA_CONTROL_ANSWER,        /* to either: whether the caller is let in, or why not */
	INA_CONTROL_WELCOME,       /* from rank 0, when all have come */
	INA_CONTROL_REPORT,        /* to rank 0: this rank's part of an agreement */
	INA_CONTROL_DECISION,      /* from rank 0: what was agreed */
	INA_CONTROL_STALL,         /* to rank 0: this rank waits for long in a call, or goes on */
	INA_CONTROL_FAULT,         /* to rank 0: what went wrong here, and in which call */
	INA_CONTROL_QUERY,         /* from rank 0: send a FAULT, whether anything is wrong or not */
	INA_CONTROL_DIAGNOSIS,     /* from rank 0: the end of the communicator, and why */
	INA_CONTROL_PLAN,          /* from rank 0: no aggregator any more, and how to go on */
	INA_CONTROL_FAREWELL,      /* to all: nothing more will come, for a reason or at the end */
};

enum ina_call_kind {
	INA_CALL_NONE = 0,
	INA_CALL_ALLREDUCE,
	INA_CALL_CLOSE,
};

/* A collective call, as ranks compare it. */
struct ina_call {
	uint64_t number; /* ALLREDUCE: 1 for the first; CLOSE: how many came before it */
	uint64_t count;
	uint32_t kind; /* enum ina_call_kind */
	uint16_t type; /* enum ina_type */
	uint16_t op;   /* enum ina_op */
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
	uint32_t reserved;
	struct ina_endpoint endpoint;
};

struct ina_greeting {
	struct ina_credential credential;
	uint64_t job_id; /* the communicator's, from its WELCOME */
};

struct ina_answer {
	struct ina_credential credential;
	uint32_t status; /* enum ina_status; INA_OK: the caller is let in */
	uint32_t reserved;
	char text[INA_CONTROL_TEXT];
};

struct ina_welcome {
	uint64_t job_id;
	uint32_t status; /* enum ina_status; the rest is valid for INA_OK only */
	uint32_t reserved;
	struct ina_endpoint endpoints[INA_MAX_RANKS];
	char text[INA_CONTROL_TEXT];
};

struct ina_report {
	struct ina_call call;
	uint32_t phase;
	uint32_t status;
	uint32_t value;
	char text[INA_CONTROL_TEXT];
};

struct ina_decision {
	uint32_t phase;
	uint32_t status;
	uint32_t minimum;
	char text[INA_CONTROL_TEXT];
};

struct ina_fault {
	struct ina_call current;
	struct ina_call previous; /* the all-reduce finished last */
	uint32_t status;          /* INA_OK: nothing wrong here */
	uint32_t message;         /* of the all-reduce, 0 for the first, where the fault was seen */
	uint64_t sums; /* messages of the aggregated connection whose sum this rank has */
	uint64_t gone; /* bit r: the connection to rank r has ended */
	char text[INA_CONTROL_TEXT];
};

/* Messages [from, until) have reached some ranks as sums and not others; `owner` has them all. */
struct ina_plan {
	uint64_t from;
	uint64_t until;
	uint32_t owner;
	uint32_t reserved;
};

struct ina_control_frame {
	uint64_t magic;
	uint32_t type;
	uint32_t rank; /* the sender's; nothing in CHALLENGE and ANSWER */
	union {
		struct ina_credential credential; /* of all frames up to ANSWER */
		struct ina_hello hello;
		struct ina_greeting greeting;
		struct ina_answer answer;
		struct ina_welcome welcome;
		struct ina_report report;
		struct ina_decision decision;
		struct ina_call stall; /* the earliest that is unfinished; kind NONE: it goes on */
		struct ina_fault fault;
		struct ina_plan plan;
	};
};

/* A TCP connection, and the part of a frame that has arrived on it. */
struct ina_link {
	int fd; /* -1: none */
	size_t in_bytes;
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
int ina_link_send(struct ina_link *link, struct ina_control_frame *frame, int64_t deadline_ms);

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
