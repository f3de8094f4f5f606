/* SPDX-License-Identifier: Apache-2.0 */
/* A queue that drops frames for which it has no room, a rate, a delay, and the faults of the
 * way. */
#include "bed.h"

static uint64_t jitter(struct bed *bed)
{
	return bed_below(bed, bed->set.jitter * FRAME_TIME + 1);
}

/*
 * Flips a bit of a data frame, in any byte after the addresses. Each cable of a way flips a
 * different bit. Otherwise a frame that passed the switches on its way as another flow's could be
 * intact again at the end. No real network does this, because links drop damaged frames.
 */
static void damage(struct bed *bed, const struct cable *cable, struct frame *frame)
{
	enum { BTH_AT = 42 };
	unsigned at = BTH_AT + bed_below(bed, 8u * (frame->length - BTH_AT)) / 8;

	frame->bytes[at] ^= (uint8_t)(1u << cable->stretch);
}

void cable_send(struct bed *bed, struct cable *cable, struct frame *frame)
{
	const struct settings *set = &bed->set;
	bool is_answer = frame->kind != FRAME_DATA;
	uint64_t start = cable->free_at > bed->now ? cable->free_at : bed->now;

	if (cable->is_cut ||
	    (!cable->from_host && start - bed->now > (uint64_t)set->queue * FRAME_TIME)) {
		frame_free(bed, frame);
		return;
	}
	cable->free_at = start + (is_answer ? ACK_TIME : FRAME_TIME);
	uint64_t arrival = cable->free_at + set->delay * FRAME_TIME;

	if (bed_chance(bed, set->duplicate)) {
		struct frame *copy = frame_new(bed);

		*copy = *frame;
		bed_at(bed, arrival + jitter(bed), cable->arrive, cable->who, cable->port, copy);
	}
	if (bed_chance(bed, set->reorder))
		arrival += jitter(bed);
	if (!is_answer && bed_chance(bed, set->damage))
		damage(bed, cable, frame);
	if (bed_chance(bed, is_answer && cable->from_host ? set->answer_loss : set->loss))
		frame_free(bed, frame);
	else
		bed_at(bed, arrival, cable->arrive, cable->who, cable->port, frame);
}
