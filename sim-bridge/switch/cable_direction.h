/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a cable, up from a host or a lower switch or down to it, and its faults: it
 * loses, corrupts, duplicates, holds back and delays frames.
 *
 * All faults except the delay affect RC frames only. Each link has its own random stream, and takes
 * the same count of numbers from it for each RC frame. So the fate of a link's k-th RC frame
 * depends only on the seed, the link and k.
 */
#ifndef INA_BRIDGE_CABLE_DIRECTION_H
#define INA_BRIDGE_CABLE_DIRECTION_H

#include <stdint.h>

#include "calendar.h"
#include "frame_pool.h"

enum link_side {
	LINK_UP,   /* from the lower end to the upper */
	LINK_DOWN, /* from the upper end to the lower */
	LINK_SIDES,
};

/* Probabilities, 0 to 1, for each frame. */
struct link_faults {
	double loss;
	double duplicate;
	double reorder;
	double corrupt;
	uint64_t delay_ns; /* of all frames, not only RC frames */
};

#define LINK_COUNTS(X)                                                                             \
	X(lost, "")                                                                                \
	X(duplicated, "")                                                                          \
	X(reordered, "held back")                                                                  \
	X(corrupted, "")                                                                           \
	X(no_memory, "dropped because the calendar or the frame pool was full")

struct link_counts {
#define X(name, meaning) uint64_t name;
	LINK_COUNTS(X)
#undef X
};

/* A frame arrives at the other end; its reference passes to the callee. */
typedef void link_deliver(void *context, unsigned cable, uint64_t time_ns, struct frame *frame);

enum {
	/* The most frames that wait until others have passed, and the longest that one waits. */
	LINK_REORDERED_MAX = 8,
	LINK_REORDER_LIMIT_NS = 1000000,
};

struct link_reordered {
	struct frame *frame;
	uint64_t id;
	unsigned passes_left; /* frames that must still pass it */
};

struct link {
	unsigned cable;
	struct link_faults faults;
	uint64_t random; /* state of the stream */
	struct calendar *calendar;
	link_deliver *deliver;
	void *context;
	struct link_counts counts;
	struct link_reordered reordered[LINK_REORDERED_MAX];
	unsigned reordered_count;
	uint64_t reordered_ids;
};

void link_init(struct link *link, unsigned cable, enum link_side side, uint64_t seed,
               const struct link_faults *faults, struct calendar *calendar, link_deliver *deliver,
               void *context);

/* Drops the reordered frames. Delayed frames belong to the calendar. */
void link_close(struct link *link);

/* A frame enters at `time_ns`; the link takes the reference. */
void link_put(struct link *link, uint64_t time_ns, struct frame *frame);

#endif
