/* SPDX-License-Identifier: Apache-2.0 */
/* A test rig for an aggregator: ranks that send messages, and a record of all frames that came
 * out. */
#ifndef INA_TEST_RIG_H
#define INA_TEST_RIG_H

#include "model/aggregator.h"
#include "frames.h"

enum {
	RIG_RANKS_MAX = 8,
	RIG_EMITTED_MAX = 512,
	RIG_QPN = 0x11,
	RIG_FIRST_PSN = 0xFFFFFD,
	RIG_JOB_ID = 0x5EED
};

struct rig_emitted {
	unsigned port;
	struct roce_frame frame;
};

struct rig {
	struct aggregator *aggregator;
	unsigned ranks;
	uint8_t tos;                            /* in frames made by rig_frame() */
	struct frame_form forms[RIG_RANKS_MAX]; /* form of each rank's frames */
	unsigned emitted_count;
	struct rig_emitted emitted[RIG_EMITTED_MAX];
};

/* `window`: slots of the aggregator, which has four jobs. The test fails if the rig cannot be
 * opened. */
struct rig *rig_open(unsigned ranks, unsigned window);
struct rig *rig_open_with(unsigned ranks, struct aggregator_config config);
void rig_close(struct rig *rig);

/* The frame of one packet of a rank. Its PSN is RIG_FIRST_PSN + `index`, with wrap-around. */
struct roce_frame rig_frame(const struct rig *rig, unsigned rank, unsigned index, uint8_t opcode,
                            const void *payload, size_t payload_bytes);

/* Puts a frame in. Afterwards `emitted` has only the frames that came out in response. */
void rig_put(struct rig *rig, unsigned port, const struct roce_frame *frame);

/* The header of message `number` of the rig's job, with this many bytes of int32 elements. */
struct ina_wire_header rig_header(const struct rig *rig, enum ina_wire_type type, unsigned number,
                                  unsigned bytes);

/* A JOIN or LEAVE of 48 bytes as packet `index`, with the rig's job and a window of 8. */
struct roce_frame rig_control(const struct rig *rig, unsigned rank, unsigned index,
                              enum ina_wire_type type);

/* An int32 message of one packet that carries `element`. 64 bytes. */
struct roce_frame rig_data(const struct rig *rig, unsigned rank, unsigned index, int32_t element);

void rig_put_data(struct rig *rig, unsigned rank, unsigned index, int32_t element);

/* The first bytes of such a message, as a separate packet. */
struct roce_frame rig_brief(const struct rig *rig, unsigned rank, unsigned index, uint8_t opcode,
                            size_t bytes);

/* All ranks JOIN. */
void rig_join_all(struct rig *rig);

/* Asserts that exactly this frame came out, on this port, and no other. */
void rig_assert_passed(const struct rig *rig, unsigned port, const struct roce_frame *frame);
void rig_assert_nothing(const struct rig *rig);

/* The element and the contributors of a frame of rig_data() that has come out. */
int32_t rig_element(const struct roce_frame *frame);
uint32_t rig_contributors(const struct roce_frame *frame);

#define rig_assert_count(rig, counter, value)                                                      \
	assert_int_equal(aggregator_counters((rig)->aggregator)->counter, value)

#endif
