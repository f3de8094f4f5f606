/* SPDX-License-Identifier: Apache-2.0 */
/* The rig checks only the form of frames that come out: iCRC and IP checksum. */
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEND_ONLY = 4 };

static void rig_collect(void *context, unsigned port, const uint8_t *bytes, size_t length)
{
	struct rig *rig = context;

	assert_true(rig->emitted_count < RIG_EMITTED_MAX);
	struct rig_emitted *emitted = &rig->emitted[rig->emitted_count++];
	emitted->port = port;
	emitted->frame.length = length;
	memcpy(emitted->frame.bytes, bytes, length);
}

struct rig *rig_open(unsigned ranks, unsigned window)
{
	return rig_open_with(ranks, (struct aggregator_config){
	                                    .ports = ranks, .jobs = 4, .window_packets = window});
}

struct rig *rig_open_with(unsigned ranks, struct aggregator_config config)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->ranks = ranks;
	rig->tos = INA_WIRE_TRAFFIC_CLASS;
	rig->aggregator = aggregator_open(&config, rig_collect, rig);
	assert_non_null(rig->aggregator);
	return rig;
}

void rig_close(struct rig *rig)
{
	aggregator_close(rig->aggregator);
	free(rig);
}

struct roce_frame rig_frame(const struct rig *rig, unsigned rank, unsigned index, uint8_t opcode,
                            const void *payload, size_t payload_bytes)
{
	struct roce_frame frame;

	frame_make(&frame, &(struct frame_spec){
	                           .form = rig->forms[rank],
	                           .vlan = (uint16_t)((index & 7) << 13 | (rank + 1)),
	                           .flow_label = index & 0xFFFFF,
	                           .source = rank,
	                           .destination = (rank + 1) % rig->ranks,
	                           .destination_qpn = RIG_QPN + rank,
	                           .psn = RIG_FIRST_PSN + index,
	                           .opcode = opcode,
	                           .tos = rig->tos,
	                           .payload = payload,
	                           .payload_bytes = payload_bytes,
	                   });
	return frame;
}

void rig_put(struct rig *rig, unsigned port, const struct roce_frame *frame)
{
	rig->emitted_count = 0;
	aggregator_put(rig->aggregator, port, frame->bytes, frame->length);
}

void rig_put_data(struct rig *rig, unsigned rank, unsigned index, int32_t element)
{
	struct roce_frame frame = rig_data(rig, rank, index, element);

	rig_put(rig, rank, &frame);
}

struct ina_wire_header rig_header(const struct rig *rig, enum ina_wire_type type, unsigned number,
                                  unsigned bytes)
{
	const bool is_data = type == INA_WIRE_DATA;

	return (struct ina_wire_header){
	        .magic = INA_WIRE_MAGIC,
	        .version = INA_WIRE_VERSION,
	        .type = type,
	        .number_type = is_data ? INA_WIRE_INT32 : 0,
	        .operation = is_data ? INA_WIRE_SUM : 0,
	        .rank_count = rig->ranks,
	        .job_id = RIG_JOB_ID,
	        .message_number = number,
	        .length_bytes = bytes,
	        .remaining_bytes = bytes,
	        .exponent = type == INA_WIRE_JOIN ? -8 : 0,
	};
}

struct roce_frame rig_control(const struct rig *rig, unsigned rank, unsigned index,
                              enum ina_wire_type type)
{
	struct ina_wire_header header = rig_header(rig, type, index, 0);
	uint8_t message[48];

	message_make(message, &header, NULL, rank);
	return rig_frame(rig, rank, index, SEND_ONLY, message, sizeof(message));
}

struct roce_frame rig_data(const struct rig *rig, unsigned rank, unsigned index, int32_t element)
{
	struct ina_wire_header header = rig_header(rig, INA_WIRE_DATA, index, sizeof(element));
	uint8_t message[64];

	message_make(message, &header, &element, rank);
	return rig_frame(rig, rank, index, SEND_ONLY, message, sizeof(message));
}

struct roce_frame rig_brief(const struct rig *rig, unsigned rank, unsigned index, uint8_t opcode,
                            size_t bytes)
{
	const struct roce_frame data = rig_data(rig, rank, index, 0);

	return rig_frame(rig, rank, index, opcode, data.bytes + frame_payload_at(rig->forms[rank]),
	                 bytes);
}

void rig_join_all(struct rig *rig)
{
	for (unsigned rank = 0; rank < rig->ranks; rank++) {
		struct roce_frame join = rig_control(rig, rank, 0, INA_WIRE_JOIN);

		rig_put(rig, rank, &join);
	}
	assert_int_equal(rig->emitted_count, rig->ranks);
	for (unsigned i = 0; i < rig->ranks; i++) {
		const struct roce_frame *frame = &rig->emitted[i].frame;

		assert_int_equal(rig->emitted[i].port, i);
		assert_int_equal(rig_contributors(frame), rig->ranks);
		assert_true(frame_is_intact(frame->bytes, frame->length));
		if (!frame_form_of(frame->bytes).ipv6)
			assert_int_equal(frame_ip_sum(frame->bytes), 0xFFFF);
	}
}

void rig_assert_passed(const struct rig *rig, unsigned port, const struct roce_frame *frame)
{
	assert_int_equal(rig->emitted_count, 1);
	assert_int_equal(rig->emitted[0].port, port);
	assert_int_equal(rig->emitted[0].frame.length, frame->length);
	assert_memory_equal(rig->emitted[0].frame.bytes, frame->bytes, frame->length);
}

void rig_assert_nothing(const struct rig *rig)
{
	assert_int_equal(rig->emitted_count, 0);
}

int32_t rig_element(const struct roce_frame *frame)
{
	int32_t element;

	memcpy(&element, frame->bytes + frame_payload_at(frame_form_of(frame->bytes)) + 32,
	       sizeof(element));
	return element;
}

uint32_t rig_contributors(const struct roce_frame *frame)
{
	uint32_t contributors;

	memcpy(&contributors, frame->bytes + frame->length - 4 - 16, sizeof(contributors));
	return contributors;
}
