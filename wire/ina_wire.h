/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message format of docs/protocol.md, for all C code.
 *
 * All fields are little-endian. All hosts for which this code is built are little-endian too, as
 * the assertion below ensures.
 */
#ifndef INA_WIRE_H
#define INA_WIRE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire format is used in place");

#define INA_WIRE_MAGIC   0x4E49u
#define INA_WIRE_VERSION 1u

/* Messages are padded to this many bytes, so that a trailer never straddles two packets. */
#define INA_WIRE_ALIGNMENT 16u

/* DSCP 43 with ECT(0): the traffic class by which a switch may steer aggregation traffic. */
#define INA_WIRE_TRAFFIC_CLASS 0xAEu
#define INA_WIRE_ECT           0x2u /* its lowest two bits (RFC 3168) */

#define INA_WIRE_UDP_PORT 4791u

/* The UDP source ports of aggregation traffic: tree t uses this port plus t (Trees). */
#define INA_WIRE_TREE_PORT 49152u
#define INA_WIRE_TREES     64u

/* Added to the PSN of a probe, so it is beyond every PSN that a receiver may expect (PSNs). */
#define INA_WIRE_PROBE_PSN_OFFSET 0x400000u

enum ina_wire_type {
	INA_WIRE_JOIN = 1,
	INA_WIRE_DATA = 2,
	INA_WIRE_LEAVE = 3,
	INA_WIRE_TRACE = 4, /* asks the switches where the sender is in the network */
};

enum ina_wire_number_type {
	INA_WIRE_NO_NUMBERS = 0,
	INA_WIRE_INT32 = 1,
	INA_WIRE_FLOAT32 = 2,
	INA_WIRE_BFLOAT16 = 3,
	INA_WIRE_FLOAT16 = 4,
};

enum ina_wire_operation {
	INA_WIRE_NO_OPERATION = 0,
	INA_WIRE_SUM = 1,
	INA_WIRE_MAX = 2,
	INA_WIRE_MIN = 3,
};

enum ina_wire_flags {
	INA_WIRE_OVERFLOW = 1u << 0,  /* an int32 sum of this message overflowed */
	INA_WIRE_REJOIN = 1u << 1,    /* on the ring: JOIN again; in a sum: use the ring soon */
	INA_WIRE_CONGESTED = 1u << 2, /* packets of the job have met congestion */
	INA_WIRE_WANTED = 1u << 3,    /* an aggregator has refused a job for want of a context */
};

/* The upper half of a JOIN's flags: jobs that already had a context at the top-level switch. */
#define INA_WIRE_BEFORE_SHIFT 16u

struct ina_wire_header {
	uint16_t magic;
	uint8_t version;
	uint8_t type;        /* enum ina_wire_type */
	uint8_t number_type; /* enum ina_wire_number_type */
	uint8_t operation;   /* enum ina_wire_operation */
	uint16_t rank_count;
	uint64_t job_id;
	uint32_t message_number;
	uint32_t length_bytes;    /* elements of this message, without padding */
	uint32_t remaining_bytes; /* of the collective, from this message on, modulo 2^32; */
	                          /* JOIN: the place, see ina_wire_turn() */
	int32_t exponent;         /* DATA: block exponent; JOIN: minus the window in packets */
};

struct ina_wire_trailer {
	uint32_t contributors;
	uint32_t flags; /* enum ina_wire_flags */
	uint32_t message_number;
	uint32_t rank;
};

static_assert(sizeof(struct ina_wire_header) == 32, "docs/protocol.md, Header");
static_assert(offsetof(struct ina_wire_header, type) == 3, "docs/protocol.md, Header");
static_assert(offsetof(struct ina_wire_header, rank_count) == 6, "docs/protocol.md, Header");
static_assert(offsetof(struct ina_wire_header, job_id) == 8, "docs/protocol.md, Header");
static_assert(offsetof(struct ina_wire_header, message_number) == 16, "docs/protocol.md, Header");
static_assert(offsetof(struct ina_wire_header, length_bytes) == 20, "docs/protocol.md, Header");
static_assert(offsetof(struct ina_wire_header, remaining_bytes) == 24, "docs/protocol.md, Header");
static_assert(offsetof(struct ina_wire_header, exponent) == 28, "docs/protocol.md, Header");
static_assert(sizeof(struct ina_wire_trailer) == 16, "docs/protocol.md, Trailer");
static_assert(offsetof(struct ina_wire_trailer, flags) == 4, "docs/protocol.md, Trailer");
static_assert(offsetof(struct ina_wire_trailer, message_number) == 8, "docs/protocol.md, Trailer");
static_assert(offsetof(struct ina_wire_trailer, rank) == 12, "docs/protocol.md, Trailer");

/* The number of levels of switches that a JOIN can describe. */
#define INA_WIRE_LEVELS 3u

/* The elements of a TRACE: one slot for each level, starting with level 1. */
struct ina_wire_trace_slot {
	uint64_t id;   /* of the switch, or 0 if no switch has filled in this slot */
	uint32_t port; /* the port on which the TRACE entered the switch */
	uint32_t jobs; /* jobs that have a context there */
};

static_assert(sizeof(struct ina_wire_trace_slot) == INA_WIRE_ALIGNMENT, "docs/protocol.md, TRACE");

/* A JOIN's place: the level of the switch at which the sender's connection turns down again. */
static inline unsigned ina_wire_turn(uint32_t place)
{
	return place >> 24;
}

/* A JOIN's place: how many children of the job the sender's switch at `level` (from 1) has. */
static inline unsigned ina_wire_children(uint32_t place, unsigned level)
{
	return place >> (8 * (level - 1)) & 0xFF;
}

/* Bytes of zero padding between `length_bytes` of elements and the trailer. */
static inline uint32_t ina_wire_padding(uint32_t length_bytes)
{
	return -length_bytes & (INA_WIRE_ALIGNMENT - 1);
}

#endif
