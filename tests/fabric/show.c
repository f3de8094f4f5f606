/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a data frame on one line, for a person who follows a run. */
#include <stdio.h>

#include "bed.h"

static void show_sum(const struct rank *sender, int32_t index, const struct frame *frame)
{
	const struct job *job = sender->job;
	uint32_t last = 1 + job->messages * job->packets;

	if (index < 0 || (uint32_t)index > last)
		printf(", outside of the job");
	else if (index == 0)
		printf(", JOIN");
	else if ((uint32_t)index == last || (uint32_t)index == sender->leave_at)
		printf(", LEAVE");
	else if (packet_is_sum(job, (uint32_t)index, frame))
		printf(", the sum of all");
}

void frame_show(struct bed *bed, const struct frame *frame)
{
	const struct rank *sender = frame_sender(bed, frame);

	printf("host %u to %u, QPN %#x, PSN %06x, opcode %u, %u bytes", frame_from(frame),
	       frame_to(frame), frame_qpn(frame), frame_psn(frame), frame_opcode(frame),
	       frame_payload_bytes(frame));
	if (sender) {
		int32_t index = frame_index(sender, frame);

		printf(": job %u, rank %u, packet %d", sender->job->number, sender->index, index);
		show_sum(sender, index, frame);
	}
	if (!frame_is_intact(frame->bytes, frame->length))
		printf(", damaged");
	printf("%s\n", frame->forged ? ", forged" : "");
}
