/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fabric in one process and in simulated time: aggregators (used only through engine.h) in a tree
 * of switches, hosts like rdma_rxe, and cables that lose, duplicate and hold back frames.
 * Everything follows from the seed.
 */
#ifndef INA_TEST_FABRIC_BED_H
#define INA_TEST_FABRIC_BED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ina_wire.h"
#include "engine.h"
#include "frames.h"

enum {
	HOSTS_MAX = 32,
	NODES_MAX = 24,
	CHILDREN_MAX = 8,
	PORTS_MAX = CHILDREN_MAX + 1,
	JOBS_MAX = 3,
	FAULTS_MAX = 4,
	PACKETS_MAX = 64, /* of a connection */
	ELEMENTS = 4,     /* int32, in each packet of a message */
	LATE_MAX = 3000,  /* frame times by which a rank may begin later than the others */
	MESSAGE_MAX = 4,  /* packets of a message, and of a grain of a switch's memory */
	FRAME_TIME = 16,  /* time that a data frame takes on a link; an ACK takes a tenth of it */
	ACK_TIME = 2,
};

struct bed;

/* A data frame has bytes; an answer has the other fields. */
struct frame {
	struct frame *next_free;
	enum frame_kind { FRAME_DATA, FRAME_ACK, FRAME_NAK } kind;
	bool forged; /* comes from a fault: no host may accept it */
	uint16_t length;
	uint8_t to; /* host */
	uint8_t job;
	uint8_t rank;
	uint32_t generation;
	uint32_t index; /* of the packet that is answered */
	uint8_t bytes[192];
};

/* event.c: future events with their times. */
typedef void act(struct bed *bed, void *who, uint32_t argument, struct frame *frame);

struct event {
	uint64_t time;
	uint64_t order;
	act *act;
	void *who;
	uint32_t argument;
	struct frame *frame;
};

struct calendar {
	struct event *events; /* a heap */
	unsigned count, room;
	uint64_t order;
};

/* One direction of a cable. */
struct cable {
	act *arrive; /* called with `who`, and with the port as argument */
	void *who;
	uint32_t port;
	uint64_t free_at;
	bool from_host;  /* a host has room for all frames that it sends */
	uint8_t stretch; /* no two cables on a way have the same value: first the cables up from a
	                  * host, then those down */
	bool is_cut;
};

struct node {
	struct engine *engine;
	struct aggregator_config config;
	struct bed *bed;
	struct node *above; /* NULL: the root */
	unsigned level;
	unsigned child_count;
	struct node *children[CHILDREN_MAX]; /* NULL: a host */
	unsigned up_port;                    /* after the children's ports or before them */
	unsigned first_child_port;
	unsigned first_host, last_host; /* below */
	uint8_t route[HOSTS_MAX];
	unsigned ticks; /* ends of quiet times since the last end of its patience */
	struct cable out[PORTS_MAX];
	struct frame *entering[PORTS_MAX]; /* frames that enter at the same time, by port */
	unsigned entering_count;
	/* watch.c */
	unsigned quiet_ticks;
	struct seen {
		unsigned generation;
		bool was_reset; /* or received no packet of the job from one age to the next */
		bool is_heard;
		bool may_forget;          /* a reset, an age or a LEAVE from below has happened */
		bool has_passed_join;     /* a JOIN from above passed before one from below came */
		uint32_t joins;           /* JOINs that have come since the reset, one bit for each
		                           * rank */
		unsigned granted;         /* packets: the smallest window in a JOIN's sum since
		                           * then; 0: no JOIN's sum */
		uint64_t sums[HOSTS_MAX]; /* packets that have left as the sum of all ranks, one bit
		                           * each */
	} seen[JOBS_MAX];
};

/* A rank: the requester of its own flow, and the responder of its predecessor's flow. */
struct rank {
	struct job *job;
	unsigned index;
	unsigned host;
	uint32_t place;
	bool is_alive; /* its queue pairs exist */
	bool is_started;
	bool has_failed;
	bool differs; /* a fault: it calls another collective than the others */
	/* Requester. Packets are counted from the JOIN, which is 0. */
	uint32_t first_psn;
	uint32_t next, acknowledged, top;
	uint32_t posted;
	uint32_t leave_at; /* or NEVER */
	bool has_gone_back;
	bool is_timing;
	uint64_t deadline;
	/* Responder. */
	uint32_t expected;
	bool has_sent_nak;
	bool fits; /* the current message: its headers and opcodes are the expected ones */
	bool is_right;
	unsigned sums;   /* messages with contributors = n, including the JOIN */
	unsigned window; /* in messages: the grant in the JOIN's sum, the smallest that the ranks
	                  * read */
};

#define NEVER UINT32_MAX

struct job {
	unsigned number;
	unsigned rank_count;
	struct rank ranks[HOSTS_MAX];
	int rank_of[HOSTS_MAX];             /* by host, -1 */
	unsigned messages, packets, window; /* DATA messages; packets in a message; the window in
	                                     * messages, as requested */
	unsigned generation;
	unsigned generations; /* generations that must succeed */
	unsigned well;        /* generations that have succeeded */
	uint64_t id;
	uint32_t sums[PACKETS_MAX][ELEMENTS];
	bool is_ending;
	uint64_t progress, progress_seen;
	bool is_over;
	unsigned failures; /* in a row */
	uint64_t late;
};

struct settings {
	unsigned loss, duplicate, reorder, damage; /* for each million frames */
	unsigned answer_loss;                      /* loss of ACKs and NAKs, as they leave the
	                                            * host */
	unsigned jitter, delay, queue;             /* in frame times */
	unsigned timeout;                          /* ACK timer */
	unsigned hold; /* the longest that the network holds a packet back */
	unsigned quiet;
	unsigned suspicion; /* switches' patience, in quiet times */
	unsigned time_to_live;
	unsigned above_to_live; /* time-to-live at switches of level 2 and higher */
	unsigned patience;      /* the hosts' patience */
	unsigned window;        /* the largest window that a job asks for */
	unsigned together;      /* several frames may enter a switch at the same time */
	bool reuses_qpn;
	bool tells; /* a rank that finds a fault after the JOINs informs all ranks, outside the
	             * fabric */
	bool data_waits_for_join; /* DATA waits until the JOIN is acknowledged, as the protocol
	                           * demands */
	bool is_clean;            /* only faults that RC repairs */
	bool windows_differ;      /* jobs ask for different windows, and switches grant different
	                           * ones */
	bool is_short;            /* switches may have too little memory for all jobs together */
};

/* A fault, and the number of frames through aggregators after which it happens. */
struct fault {
	uint64_t frames;
	act *act;
	void *who;
	uint32_t argument;
};

struct bed {
	uint64_t seed;
	uint64_t random;
	uint64_t now;
	struct calendar calendar;
	struct frame *free_frames;
	struct settings set;
	struct node nodes[NODES_MAX];
	unsigned node_count;
	struct cable host_out[HOSTS_MAX];
	struct node *host_node[HOSTS_MAX];
	unsigned host_count;
	struct job jobs[JOBS_MAX];
	unsigned job_count;
	struct fault faults[FAULTS_MAX];
	unsigned fault_count;
	bool verbose, traces;
	/* The verdict. */
	unsigned wrong;     /* messages with contributors = n that were not the sum */
	unsigned resets;    /* of switches */
	unsigned exposed;   /* frames that a host could accept, but that are not the expected sum */
	unsigned impatient; /* stalls that only the hosts' patience ended */
	unsigned stalled;   /* stalls that are not allowed */
	unsigned unjoined;  /* stalls that are allowed, because a rank lacks the JOINs' sum */
	unsigned failed;    /* generations that gave up */
	uint64_t frames;
};

/* event.c */
void bed_at(struct bed *bed, uint64_t time, act *act, void *who, uint32_t argument,
            struct frame *frame);
/* Runs until nothing is left to do, or until `until`. */
void bed_run(struct bed *bed, uint64_t until);
uint32_t bed_below(struct bed *bed, uint32_t bound);
bool bed_chance(struct bed *bed, unsigned of_a_million);

/* frame.c */
struct frame *frame_new(struct bed *bed);
void frame_free(struct bed *bed, struct frame *frame);
const uint8_t *frame_payload(const struct frame *frame);
unsigned frame_payload_bytes(const struct frame *frame);
uint8_t frame_opcode(const struct frame *frame);
uint32_t frame_psn(const struct frame *frame);
uint32_t frame_qpn(const struct frame *frame);
unsigned frame_from(const struct frame *frame);
unsigned frame_to(const struct frame *frame);
bool frame_asks_for_ack(const struct frame *frame);

/* show.c: prints a line. */
void frame_show(struct bed *bed, const struct frame *frame);

/* cable.c */
void cable_send(struct bed *bed, struct cable *cable, struct frame *frame);

/* node.c */
void node_open(struct bed *bed, struct node *node);
void node_close(struct node *node);
act node_receive;
act node_reset;
act node_tick;
act node_age;

/* watch.c */
void watch_in(struct node *node, unsigned port, const struct frame *frame);
void watch_out(struct node *node, const struct frame *frame);
void watch_reset(struct node *node);
void watch_tick(struct node *node);
void watch_age(struct node *node);
bool watch_may_stall(struct bed *bed, const struct job *job);

/* packets.c: the contents of a rank's packet `index` when it is sent, and when it is received. */
void packet_fill(struct bed *bed, const struct rank *rank, uint32_t index, struct frame *frame);
uint8_t packet_opcode(const struct rank *rank, uint32_t index);
/* Is the frame's payload the sum of all ranks, as far as this packet shows? */
bool packet_is_sum(const struct job *job, uint32_t index, const struct frame *frame);
bool packet_fits(const struct rank *rank, uint32_t index, const struct frame *frame);
/* The window in a JOIN's sum, in packets. */
uint32_t packet_window(const struct frame *frame);
bool packet_ends_message(const struct job *job, uint32_t index);
uint32_t packet_element(const struct job *job, unsigned rank, uint32_t index, unsigned lane);
uint32_t job_qpn(const struct bed *bed, const struct job *job);
/* The job and rank whose flow a data frame belongs to; NULL: no live flow. */
struct rank *frame_sender(struct bed *bed, const struct frame *frame);
int32_t frame_index(const struct rank *sender, const struct frame *frame);

/* rc.c */
act host_receive;
void rank_pump(struct bed *bed, struct rank *rank);

/* job.c */
act job_begin;
void job_fault(struct bed *bed, struct rank *rank);
void job_heard(struct bed *bed, struct rank *rank);

/* faults.c: chooses random faults, and lets those happen whose time has come. */
void faults_draw(struct bed *bed);
void faults_strike(struct bed *bed);

/* draw.c */
void bed_draw(struct bed *bed, uint64_t seed, bool joins_wait);
void bed_close(struct bed *bed);

/* Frees the memory that is kept from seed to seed. */
void bed_free(struct bed *bed);

#endif
