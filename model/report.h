/* SPDX-License-Identifier: Apache-2.0 */
/* What the aggregator tells about its jobs: their state, and events with their reasons. */
#ifndef INA_REPORT_H
#define INA_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"

enum { REPORT_PORTS_MAX = 32, REPORT_NO_PORT = REPORT_PORTS_MAX };

/* A child of a job: a host, or a switch whose border has its rank. Or the job's down flow. */
struct report_member {
	bool joined;
	bool is_down; /* its port is an uplink */
	bool left;
	unsigned rank;            /* as its JOIN says */
	unsigned waiting_packets; /* taken, and not summed here yet, or not handed down */
	struct packet_key key;    /* of its flow; zeros if the flow was evicted */
};

struct report_job {
	uint64_t job_id;
	bool is_broken;
	bool is_ending; /* in the quiet time before its context is free */
	unsigned rank_count;
	unsigned child_count;
	unsigned joined_count;
	unsigned window_packets;
	unsigned block_packets;
	uint16_t tag;           /* of the JOIN that opened it, or the priority of its port */
	uint64_t packets;       /* of each flow summed here */
	uint64_t above_packets; /* of these, those whose sum from above has not come */
	struct report_member members[REPORT_PORTS_MAX]; /* indexed by port */
};

/* Reasons of events, with their texts. */
#define REPORT_REASONS(X)                                                                          \
	X(NONE, "")                                                                                \
	X(NO_CONTEXT, "no context is free")                                                        \
	X(VLAN_QUOTA, "its VLAN has its quota of contexts")                                        \
	X(PORT_QUOTA, "its port has opened its quota of jobs that lack a rank")                    \
	X(NO_FIT, "its ranks, window or place do not fit this switch")                             \
	X(OTHER_RANKS, "its rank count or place differs from that of the job's other JOINs")       \
	X(TAKEN, "the job has a rank at this port already, or has all its ranks")                  \
	X(IS_BROKEN, "the job is broken")                                                          \
	X(LENGTHS, "packets of two ranks that belong together have different lengths")             \
	X(OPCODES, "packets of two ranks that belong together differ in opcode or P_Key")          \
	X(HEADERS, "messages of two ranks that belong together have different headers")            \
	X(NO_MESSAGE, "its packets form no message that this aggregator can sum")                  \
	X(SHORT_PACKET, "a rank sent a packet that is too short for its opcode")                   \
	X(EARLY_LEAVE, "a rank left before all ranks had joined")                                  \
	X(LACKS_LEAVE, "a switch below was reset or broke the job")                                \
	X(LATE_JOIN, "a rank sent more before this switch had all JOINs")                          \
	X(FROM_ABOVE, "a sum from above does not fit the part that went up")                       \
	X(EVICTED, "a rank's connection has ended, or its host has moved to another port")         \
	X(SILENT, "no packet came for its time-to-live")                                           \
	X(FORGOTTEN, "the operator has forgotten it")

enum report_reason {
#define X(name, text) REPORT_##name,
	REPORT_REASONS(X)
#undef X
};

enum report_kind {
	REPORT_JOINED,  /* the JOIN at `port` was granted; the first one opened the job */
	REPORT_REFUSED, /* the JOIN at `port` passed unchanged */
	REPORT_HELD,    /* the JOIN at `port` was dropped, and will be retransmitted */
	REPORT_BROKEN,
	REPORT_EXPIRED,
	REPORT_ENDED, /* its context is free after this call */
};

struct report_event {
	enum report_kind kind;
	enum report_reason reason;
	uint64_t job_id;
	unsigned port;     /* that has caused it, or REPORT_NO_PORT */
	unsigned bytes[2]; /* LENGTHS: the two payloads; that of `port` is the second */
};

/* Called for each event. The callee may read the jobs, but must not put frames. */
typedef void report_tell(void *context, const struct report_event *event);

#endif
