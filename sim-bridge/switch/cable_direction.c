/* SPDX-License-Identifier: Apache-2.0 */
/* All random decisions about a frame are made first, then carried out one by one. */
#include "cable_direction.h"

#include <stdbool.h>
#include <string.h>

#include "common/headers.h"
#include "common/random.h"

/* Takes a random number even if the rate is 0, so a fault's rate does not affect other faults. */
static bool draw_chance(struct link *link, double probability)
{
	return (double)(ina_random(&link->random) >> 11) * 0x1p-53 < probability;
}

struct fate {
	bool lost;
	bool corrupted;
	bool duplicated;
	bool reordered;
	uint64_t bit;    /* if corrupted: the bit to flip */
	unsigned passes; /* if reordered: the number of frames that must pass it */
};

static struct fate draw_fate(struct link *link)
{
	struct fate fate;

	fate.lost = draw_chance(link, link->faults.loss);
	fate.corrupted = draw_chance(link, link->faults.corrupt);
	fate.duplicated = draw_chance(link, link->faults.duplicate);
	fate.reordered = draw_chance(link, link->faults.reorder);
	fate.bit = ina_random(&link->random);
	fate.passes = 1 + (unsigned)(ina_random(&link->random) & 1);
	return fate;
}

void link_init(struct link *link, unsigned cable, enum link_side side, uint64_t seed,
               const struct link_faults *faults, struct calendar *calendar, link_deliver *deliver,
               void *context)
{
	*link = (struct link){
	        .cable = cable,
	        .faults = *faults,
	        .random = ina_mix(ina_mix(seed) + (uint64_t)cable * LINK_SIDES + side + 1),
	        .calendar = calendar,
	        .deliver = deliver,
	        .context = context,
	};
}

void link_close(struct link *link)
{
	while (link->reordered_count > 0)
		frame_drop(link->reordered[--link->reordered_count].frame);
}

static void arrive(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct link *link = context;

	(void)id;
	link->deliver(link->context, link->cable, time_ns, frame);
}

/* Delivers a frame, immediately or after the delay. */
static void carry(struct link *link, uint64_t time_ns, struct frame *frame)
{
	if (link->faults.delay_ns == 0) {
		link->deliver(link->context, link->cable, time_ns, frame);
		return;
	}
	struct event event = {
	        .time_ns = time_ns + link->faults.delay_ns,
	        .run = arrive,
	        .context = link,
	        .frame = frame,
	};
	if (!calendar_add(link->calendar, &event)) {
		link->counts.no_memory++;
		frame_drop(frame);
	}
}

static struct frame *take_reordered(struct link *link, unsigned index)
{
	struct frame *frame = link->reordered[index].frame;

	link->reordered_count--;
	memmove(&link->reordered[index], &link->reordered[index + 1],
	        (link->reordered_count - index) * sizeof(link->reordered[0]));
	return frame;
}

/* A frame has passed: delivers the reordered frames that need not wait for others any more. */
static void release_passed(struct link *link, uint64_t time_ns)
{
	unsigned index = 0;

	while (index < link->reordered_count) {
		if (--link->reordered[index].passes_left > 0)
			index++;
		else
			carry(link, time_ns, take_reordered(link, index));
	}
}

static void release_late(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct link *link = context;

	(void)frame;
	for (unsigned index = 0; index < link->reordered_count; index++) {
		if (link->reordered[index].id == id) {
			carry(link, time_ns, take_reordered(link, index));
			return;
		}
	}
}

/* Makes the frame wait until others have passed. Returns false if there is no room for it. */
static bool reorder(struct link *link, uint64_t time_ns, struct frame *frame, unsigned passes)
{
	struct event limit = {
	        .time_ns = time_ns + LINK_REORDER_LIMIT_NS,
	        .run = release_late,
	        .context = link,
	        .id = link->reordered_ids,
	};

	if (link->reordered_count == LINK_REORDERED_MAX || !calendar_add(link->calendar, &limit))
		return false;
	link->reordered[link->reordered_count++] = (struct link_reordered){
	        .frame = frame,
	        .id = link->reordered_ids++,
	        .passes_left = passes,
	};
	link->counts.reordered++;
	return true;
}

/*
 * Flips one bit after the Ethernet header, in a copy if the frame has other references. The iCRC
 * covers the frame from there on; nothing would detect a corrupt byte before it, since frames carry
 * no FCS here.
 */
static struct frame *corrupt(struct link *link, struct frame *frame, uint64_t random)
{
	const unsigned begin = frame->roce.ip_at;

	if (frame->references > 1) {
		struct frame *copy = frame_new(frame->pool);

		if (!copy) {
			link->counts.no_memory++;
			return frame;
		}
		copy->length = frame->length;
		memcpy(copy->bytes, frame->bytes, frame->length);
		frame_drop(frame);
		frame = copy;
	}
	uint64_t bit = random % ((frame->length - begin) * 8u);
	frame->bytes[begin + bit / 8] ^= (uint8_t)(1u << bit % 8);
	frame_read(frame);
	link->counts.corrupted++;
	return frame;
}

void link_put(struct link *link, uint64_t time_ns, struct frame *frame)
{
	if (!frame->roce.is_rc) {
		carry(link, time_ns, frame);
		return;
	}
	struct fate fate = draw_fate(link);

	if (fate.lost) {
		link->counts.lost++;
		frame_drop(frame);
		return;
	}
	if (fate.corrupted)
		frame = corrupt(link, frame, fate.bit);
	if (fate.duplicated) {
		link->counts.duplicated++;
		carry(link, time_ns, frame_share(frame));
	}
	if (fate.reordered && reorder(link, time_ns, frame, fate.passes))
		return;
	carry(link, time_ns, frame);
	release_passed(link, time_ns);
}
