/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compact language for traffic. A fuzzer's input is a list of entries, each of which makes one
 * frame on one port. Most entries mean "the next packet of that connection", with right headers and
 * a right iCRC, so that a fuzzer gets past the checks and into the join. Others damage such a
 * packet before or after its iCRC is made, or are any bytes. Every input is valid, and gives the
 * same frames each time.
 *
 *   entry    = control, arguments
 *   control  = bit 0: port; bits 1-2: job; bits 3-5: kind (enum traffic_what); bits 6-7: amount
 *
 * The two ranks of a job send the same messages: the rank that comes first to a new one reads its
 * shape (two bytes) from the input, and the other one follows.
 */
#ifndef INA_FUZZ_TRAFFIC_H
#define INA_FUZZ_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/aggregator.h"
#include "frames.h"

enum {
	TRAFFIC_PORTS = 2,
	TRAFFIC_JOBS = 4,     /* more than contexts, so that some are refused */
	TRAFFIC_CONTEXTS = 2, /* contexts of the aggregator */
	TRAFFIC_WINDOW = 8,
	TRAFFIC_MEMORY = 12, /* less than two windows */
	TRAFFIC_GRAIN = 2,
	TRAFFIC_MESSAGES_MAX = 64, /* of a job */
	TRAFFIC_PACKETS_MAX = 4,   /* of a message */
	TRAFFIC_ENTRIES_MAX = 400, /* frames of one input */
	TRAFFIC_INPUT_MAX = 2048,  /* bytes of an input: more would be slower, but not deeper */
};

enum traffic_what {
	TRAFFIC_NEXT, /* the connection's next packet */
	/*
	 * An earlier packet: 1 byte, how many before; with amount 1 a quad shorter, with 2 a quad
	 * longer, with 3 of another job if it is a JOIN.
	 */
	TRAFFIC_DUPLICATE,
	TRAFFIC_AHEAD,   /* a packet past a gap: 1 byte, how many packets are left out */
	TRAFFIC_SPOILED, /* 1 byte for a patch: place, then 1 byte xor; then a right iCRC */
	TRAFFIC_DAMAGED, /* the same, but after the iCRC */
	TRAFFIC_RESIZED, /* 1 byte: bytes to cut off or to add; by amount with a new iCRC or not */
	/*
	 * A VLAN tag between MAC addresses and EtherType: 1 byte, its low bits; with amount 3 no
	 * frame, but the end of a time-to-live, or on port 1 of a quiet time.
	 */
	TRAFFIC_TAGGED,
	TRAFFIC_RAW, /* 1 byte: length / 4; the bytes of the frame from the input */
};

/* What happens at a switch, between and with the frames: fuzz_bridge.c. */
enum switch_event { SWITCH_FRAME, SWITCH_FRAME_TOO, SWITCH_WAITS, SWITCH_CLOSES };

/*
 * The aggregator for this traffic; the RTL's bench is built with the same numbers. If the input's
 * first entry is the end of a quiet time, it has a quiet time.
 */
struct aggregator_config traffic_aggregator_config(const uint8_t *input, size_t length);

struct traffic_message {
	uint8_t shape[2];
};

struct traffic_job {
	struct traffic_message messages[TRAFFIC_MESSAGES_MAX];
	unsigned message_count;
	/* Each rank's position: the next packet, its PSN counted from the JOIN's, and its
	 * message. */
	struct {
		unsigned message;
		unsigned packet;
		uint32_t ordinal;
	} at[TRAFFIC_PORTS];
};

struct traffic {
	const uint8_t *input;
	size_t left;
	unsigned entries;
	struct traffic_job jobs[TRAFFIC_JOBS];
};

void traffic_start(struct traffic *traffic, const uint8_t *input, size_t length);

/*
 * The next frame: 1 to ROCE_FRAME_BYTES_MAX bytes, and its port. A length of 0 means the end of a
 * time-to-live (port 0) or of a quiet time (port 1). Returns false at the end of the input, or
 * after TRAFFIC_ENTRIES_MAX entries.
 */
bool traffic_next(struct traffic *traffic, struct roce_frame *frame, unsigned *port);

/* The next byte of the input, for other uses; 0 after its end. */
uint8_t traffic_take(struct traffic *traffic);

/* The control byte of an entry, for code that writes inputs. */
uint8_t traffic_control(enum traffic_what what, unsigned port, unsigned job, unsigned amount);

#endif
