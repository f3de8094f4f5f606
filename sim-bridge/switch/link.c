/* SPDX-License-Identifier: Apache-2.0 */
/* The fate of a frame is drawn at once, then carried out step by step. */
#include "link.h"

#include <stdbool.h>
#include <string.h>

#include "common/headers.h"
#include "common/random.h"
#include "roce.h"

/* Always draws, so that one fault's rate does not shift the others' stream. */
static bool draw_chance(struct link *link, double probability)
{
	return (double)(ina_random(&link->random) >> 11) * 0x1p-53 < probability;
}

struct fate {
	bool lost;
	bool corrupted;
	bool duplicated;
	bool held;
	uint64_t bit;    /* corrupted: which one */
	unsigned passes; /* held: until so many have passed */
};

static struct fate draw_fate(struct link *link)
{
	struct fate fate;

	fate.lost = draw_chance(link, link->faults.loss);
	fate.corrupted = draw_chance(link, link->faults.corrupt);
	fate.duplicated = draw_chance(link, link->faults.duplicate);
	fate.held = draw_chance(link, link->faults.reorder);
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
	while (link->held_count > 0)
		frame_drop(link->held[--link->held_count].frame);
}

static void arrive(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct link *link = context;

	(void)id;
	link->deliver(link->context, link->cable, time_ns, frame);
}

/* The way itself: at once, or after the delay. */
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

static struct frame *take_held(struct link *link, unsigned index)
{
	struct frame *frame = link->held[index].frame;

	link->held_count--;
	memmove(&link->held[index], &link->held[index + 1],
	        (link->held_count - index) * sizeof(link->held[0]));
	return frame;
}

/* A frame has passed: those that have waited for it go on. */
static void release_passed(struct link *link, uint64_t time_ns)
{
	unsigned index = 0;

	while (index < link->held_count) {
		if (--link->held[index].passes_left > 0)
			index++;
		else
			carry(link, time_ns, take_held(link, index));
	}
}

static void release_late(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct link *link = context;

	(void)frame;
	for (unsigned index = 0; index < link->held_count; index++) {
		if (link->held[index].id == id) {
			carry(link, time_ns, take_held(link, index));
			return;
		}
	}
}

/* False if there is no place to hold it. */
static bool hold(struct link *link, uint64_t time_ns, struct frame *frame, unsigned passes)
{
	struct event limit = {
	        .time_ns = time_ns + LINK_HOLD_LIMIT_NS,
	        .run = release_late,
	        .context = link,
	        .id = link->held_ids,
	};

	if (link->held_count == LINK_HELD_MAX || !calendar_add(link->calendar, &limit))
		return false;
	link->held[link->held_count++] = (struct link_held){
	        .frame = frame,
	        .id = link->held_ids++,
	        .passes_left = passes,
	};
	link->counts.reordered++;
	return true;
}

/* Where the bytes begin that the iCRC covers: no FCS goes through here, which would cover the rest.
 */
static size_t covered_at(const struct frame *frame)
{
	bool tagged = packet_be16(frame->bytes + PACKET_ETHERTYPE_AT) == PACKET_ETHERTYPE_VLAN;

	return PACKET_ETHERNET_BYTES + (tagged ? PACKET_VLAN_BYTES : 0);
}

/* Flips one bit from the IP header on, in a copy where others hold the frame too. */
static struct frame *corrupt(struct link *link, struct frame *frame, uint64_t random)
{
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
	const size_t begin = covered_at(frame);
	uint64_t bit = random % ((frame->length - begin) * 8u);
	frame->bytes[begin + bit / 8] ^= (uint8_t)(1u << bit % 8);
	link->counts.corrupted++;
	return frame;
}

void link_put(struct link *link, uint64_t time_ns, struct frame *frame)
{
	if (!roce_is_rc(frame)) {
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
	if (fate.held && hold(link, time_ns, frame, fate.passes))
		return;
	carry(link, time_ns, frame);
	release_passed(link, time_ns);
}
