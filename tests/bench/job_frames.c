/* SPDX-License-Identifier: Apache-2.0 */
#include "job_frames.h"

#include <string.h>

#include "common/headers.h"
#include "tests/model/frames.h"

enum { ELEMENT_STEP = 7, JOB_ID = 45 };

static uint32_t icrc_of(const struct roce_frame *frame)
{
	uint32_t icrc;

	memcpy(&icrc, frame->bytes + frame->length - JOB_ICRC_BYTES, JOB_ICRC_BYTES);
	return icrc;
}

static void finish(struct job_frame *made, const struct frame_spec *spec)
{
	struct roce_frame frame;

	frame_make(&frame, spec);
	made->length = frame.length;
	made->icrc = icrc_of(&frame);
	memcpy(made->bytes, frame.bytes, frame.length);
	for (unsigned bit = 0; bit < JOB_PSN_BITS; bit++) {
		job_frame_put_psn(frame.bytes, 1u << bit);
		frame_seal(&frame);
		made->icrc_of_bit[bit] = icrc_of(&frame) ^ made->icrc;
	}
}

static struct frame_spec from(unsigned host, uint8_t opcode, const void *payload, size_t bytes)
{
	return (struct frame_spec){
	        .source = host,
	        .destination = (host + 1) % JOB_HOSTS,
	        .destination_qpn = 17 + host,
	        .opcode = opcode,
	        .asks_for_ack = opcode == PACKET_SEND_LAST || opcode == PACKET_SEND_ONLY,
	        .tos = INA_WIRE_TRAFFIC_CLASS,
	        .payload = payload,
	        .payload_bytes = bytes,
	};
}

static void make_data(struct job_frames *frames, unsigned host, unsigned payload_bytes)
{
	static uint8_t message[JOB_MESSAGE_PACKETS * JOB_PAYLOAD_MAX];
	static int32_t elements[sizeof(message) / 4];
	const size_t length = JOB_MESSAGE_PACKETS * payload_bytes - sizeof(struct ina_wire_header) -
	                      sizeof(struct ina_wire_trailer);
	const struct ina_wire_header header = {
	        .magic = INA_WIRE_MAGIC,
	        .version = INA_WIRE_VERSION,
	        .type = INA_WIRE_DATA,
	        .number_type = INA_WIRE_INT32,
	        .operation = INA_WIRE_SUM,
	        .rank_count = JOB_HOSTS,
	        .job_id = JOB_ID,
	        .message_number = 1,
	        .length_bytes = (uint32_t)length,
	        .remaining_bytes = (uint32_t)length,
	};

	for (size_t i = 0; i < length / 4; i++)
		elements[i] = (int32_t)((host + 1) * (ELEMENT_STEP * i + 1));
	message_make(message, &header, elements, host);
	for (unsigned i = 0; i < JOB_MESSAGE_PACKETS; i++) {
		const uint8_t opcode = i == 0                         ? PACKET_SEND_FIRST
		                       : i == JOB_MESSAGE_PACKETS - 1 ? PACKET_SEND_LAST
		                                                      : PACKET_SEND_MIDDLE;
		const struct frame_spec spec =
		        from(host, opcode, message + i * payload_bytes, payload_bytes);

		finish(&frames->data[host][i], &spec);
	}
}

static void make_join(struct job_frames *frames, unsigned host)
{
	const struct ina_wire_header header = {
	        .magic = INA_WIRE_MAGIC,
	        .version = INA_WIRE_VERSION,
	        .type = INA_WIRE_JOIN,
	        .rank_count = JOB_HOSTS,
	        .job_id = JOB_ID,
	        .remaining_bytes = 1u << 24 | JOB_HOSTS, /* the place: one switch, its children */
	        .exponent = -JOB_WINDOW,
	};
	uint8_t message[sizeof(struct ina_wire_header) + sizeof(struct ina_wire_trailer)];
	const size_t bytes = message_make(message, &header, NULL, host);
	const struct frame_spec spec = from(host, PACKET_SEND_ONLY, message, bytes);

	finish(&frames->join[host], &spec);
}

/* The extended header of an acknowledgement: credits unlimited, message number not used. */
static void make_acknowledgement(struct job_frames *frames, unsigned host)
{
	static const uint8_t header[4] = {0x1F};
	struct frame_spec spec = from(host, PACKET_ACK, header, sizeof(header));

	spec.destination = (host + JOB_HOSTS - 1) % JOB_HOSTS;
	finish(&frames->acknowledgement[host], &spec);
}

/* Host h has h + 1 times the elements of host 0, so the sum has 10 times them. */
static void make_sum(struct job_frames *frames, unsigned payload_bytes)
{
	for (unsigned place = 0; place < JOB_MESSAGE_PACKETS; place++)
		for (unsigned at = 0; at < payload_bytes; at += 4) {
			int32_t element, sum = 0;

			for (unsigned host = 0; host < JOB_HOSTS; host++) {
				memcpy(&element,
				       frames->data[host][place].bytes + JOB_HEADER_BYTES + at, 4);
				sum = (int32_t)((uint32_t)sum + (uint32_t)element);
			}
			memcpy(frames->sum[place] + at, &sum, 4);
		}
}

void job_frames_make(struct job_frames *frames, unsigned payload_bytes)
{
	for (unsigned host = 0; host < JOB_HOSTS; host++) {
		make_join(frames, host);
		make_data(frames, host, payload_bytes);
		make_acknowledgement(frames, host);
	}
	make_sum(frames, payload_bytes);
}

uint32_t job_frame_icrc(const struct job_frame *frame, uint32_t psn)
{
	uint32_t icrc = frame->icrc;

	for (; psn; psn &= psn - 1)
		icrc ^= frame->icrc_of_bit[__builtin_ctz(psn)];
	return icrc;
}

void job_frame_put_psn(uint8_t *headers, uint32_t psn)
{
	headers[JOB_PSN_AT] = (uint8_t)(psn >> 16);
	headers[JOB_PSN_AT + 1] = (uint8_t)(psn >> 8);
	headers[JOB_PSN_AT + 2] = (uint8_t)psn;
}

bool job_elements_are(const uint8_t *payload, unsigned payload_bytes, unsigned place,
                      const uint8_t *expected)
{
	const size_t begin = place == 0 ? sizeof(struct ina_wire_header) : 0;
	const size_t end = payload_bytes -
	                   (place == JOB_MESSAGE_PACKETS - 1 ? sizeof(struct ina_wire_trailer) : 0);

	return memcmp(payload + begin, expected + begin, end - begin) == 0;
}
