/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of the packets. Each element identifies job, rank and packet, so no packet can be
 * taken for another one. The expected sums come from this file's own addition.
 */
#include <stddef.h>
#include <string.h>

#include "common/random.h"
#include "bed.h"

enum { SEND_FIRST = 0, SEND_MIDDLE = 1, SEND_LAST = 2, SEND_ONLY = 4 };

static bool is_control(const struct rank *rank, uint32_t index)
{
	return index == 0 || index == rank->leave_at;
}

static uint32_t position(const struct job *job, uint32_t index)
{
	return (index - 1) % job->packets;
}

bool packet_ends_message(const struct job *job, uint32_t index)
{
	return index == 0 || index == 1 + job->messages * job->packets ||
	       position(job, index) == job->packets - 1;
}

uint8_t packet_opcode(const struct rank *rank, uint32_t index)
{
	const struct job *job = rank->job;

	if (is_control(rank, index) || job->packets == 1)
		return SEND_ONLY;
	if (position(job, index) == 0)
		return SEND_FIRST;
	return position(job, index) == job->packets - 1 ? SEND_LAST : SEND_MIDDLE;
}

uint32_t packet_element(const struct job *job, unsigned rank, uint32_t index, unsigned lane)
{
	return (uint32_t)ina_mix(job->id + 1000003u * (rank * 1024u + index) + lane * 7919u);
}

static struct ina_wire_header header_of(const struct rank *rank, uint32_t index)
{
	const struct job *job = rank->job;
	bool is_data = !is_control(rank, index);
	uint32_t message = (index + job->packets - 1) / job->packets;
	uint32_t bytes = job->packets * ELEMENTS * 4;

	return (struct ina_wire_header){
	        .magic = INA_WIRE_MAGIC,
	        .version = INA_WIRE_VERSION,
	        .type = index == 0 ? INA_WIRE_JOIN
	                : is_data  ? INA_WIRE_DATA
	                           : INA_WIRE_LEAVE,
	        .number_type = is_data ? INA_WIRE_INT32 : 0,
	        .operation = is_data ? INA_WIRE_SUM : 0,
	        .rank_count = (uint16_t)job->rank_count,
	        .job_id = job->id,
	        .message_number = message,
	        .length_bytes = is_data ? bytes : 0,
	        .remaining_bytes = index == 0 ? rank->place
	                           : is_data ? (job->messages + 1 - message) * bytes + rank->differs
	                                     : 0,
	        .exponent = index == 0 ? -(int32_t)(job->window * job->packets) : 0,
	};
}

uint32_t job_qpn(const struct bed *bed, const struct job *job)
{
	return 0x100 + job->number + (bed->set.reuses_qpn ? 0 : 16 * (job->generation & 0xFFFF));
}

void packet_fill(struct bed *bed, const struct rank *rank, uint32_t index, struct frame *frame)
{
	const struct job *job = rank->job;
	uint8_t payload[32 + 4 * ELEMENTS + 16], *at = payload;
	struct ina_wire_header header = header_of(rank, index);
	uint8_t opcode = packet_opcode(rank, index);
	struct ina_wire_trailer trailer = {
	        .contributors = 1,
	        .message_number = header.message_number,
	        .rank = rank->index,
	};
	bool ends = opcode == SEND_LAST || opcode == SEND_ONLY;

	if (opcode == SEND_FIRST || opcode == SEND_ONLY) {
		memcpy(at, &header, sizeof(header));
		at += sizeof(header);
	}
	if (!is_control(rank, index)) {
		/* The memory is used in place: once the sum has come, it holds other data. */
		bool is_spent = rank->expected > index;

		for (unsigned lane = 0; lane < ELEMENTS; lane++, at += 4) {
			uint32_t value = is_spent ? (uint32_t)ina_random(&bed->random)
			                          : packet_element(job, rank->index, index, lane);

			memcpy(at, &value, 4);
		}
	}
	if (ends) {
		memcpy(at, &trailer, sizeof(trailer));
		at += sizeof(trailer);
	}
	const struct frame_spec spec = {
	        .source = rank->host,
	        .destination = job->ranks[(rank->index + 1) % job->rank_count].host,
	        .destination_qpn = job_qpn(bed, job),
	        .psn = rank->first_psn + index,
	        .opcode = opcode,
	        .asks_for_ack = ends || index % 16 == 15,
	        .tos = INA_WIRE_TRAFFIC_CLASS,
	        .payload = payload,
	        .payload_bytes = (size_t)(at - payload),
	};
	frame->length = (uint16_t)frame_write(frame->bytes, &spec);
}

struct rank *frame_sender(struct bed *bed, const struct frame *frame)
{
	unsigned from = frame_from(frame), to = frame_to(frame);

	for (unsigned i = 0; i < bed->job_count; i++) {
		struct job *job = &bed->jobs[i];

		if (from >= bed->host_count || to >= bed->host_count || job->rank_of[from] < 0 ||
		    job->rank_of[to] < 0 || frame_qpn(frame) != job_qpn(bed, job))
			continue;
		struct rank *sender = &job->ranks[job->rank_of[from]];

		if ((sender->index + 1) % job->rank_count == (unsigned)job->rank_of[to])
			return sender;
	}
	return NULL;
}

int32_t frame_index(const struct rank *sender, const struct frame *frame)
{
	uint32_t distance = (frame_psn(frame) - sender->first_psn) & 0xFFFFFF;

	return (int32_t)(distance << 8) >> 8;
}

/* The start of a packet's elements. */
static const uint8_t *elements_of(const struct frame *frame)
{
	uint8_t opcode = frame_opcode(frame);

	return frame_payload(frame) + (opcode == SEND_FIRST || opcode == SEND_ONLY ? 32 : 0);
}

static uint32_t contributors_of(const struct frame *frame)
{
	uint32_t contributors;

	memcpy(&contributors, frame_payload(frame) + frame_payload_bytes(frame) - 16, 4);
	return contributors;
}

uint32_t packet_window(const struct frame *frame)
{
	uint32_t lane;

	memcpy(&lane, frame_payload(frame) + offsetof(struct ina_wire_header, exponent),
	       sizeof(lane));
	return 0u - lane;
}

bool packet_is_sum(const struct job *job, uint32_t index, const struct frame *frame)
{
	bool ends = packet_ends_message(job, index);

	if (index > job->messages * job->packets)
		return true; /* a LEAVE has no elements to check */
	if (ends && contributors_of(frame) != job->rank_count)
		return false;
	return index == 0 || memcmp(elements_of(frame), job->sums[index], 4 * ELEMENTS) == 0;
}

bool packet_fits(const struct rank *sender, uint32_t index, const struct frame *frame)
{
	const struct job *job = sender->job;
	struct ina_wire_header want = header_of(sender, index), is;
	uint8_t opcode = packet_opcode(sender, index);

	if (index > 0 && index <= job->messages * job->packets && opcode != SEND_ONLY &&
	    frame_opcode(frame) != opcode)
		return false;
	if (opcode == SEND_MIDDLE || opcode == SEND_LAST)
		return true;
	if (frame_payload_bytes(frame) < sizeof(is))
		return false;
	memcpy(&is, frame_payload(frame), sizeof(is));
	return is.type == want.type && is.job_id == want.job_id &&
	       is.message_number == want.message_number && is.rank_count == want.rank_count &&
	       is.length_bytes == want.length_bytes;
}
