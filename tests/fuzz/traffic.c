/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a message follow from its job, rank, number and shape; those of a frame follow from
 * its message. */
#include "traffic.h"

#include <assert.h>
#include <string.h>

enum {
	ROCE_HEADERS_BYTES = FRAME_HEADER_BYTES,
	CONTROL_MESSAGE_BYTES = 48, /* JOIN, LEAVE: header and trailer */
	MESSAGE_BYTES_MAX = TRAFFIC_PACKETS_MAX * 4096,
};

/* Payload bytes of a packet, by three bits of a shape. */
static const uint16_t packet_bytes[8] = {48, 64, 80, 112, 128, 256, 1024, 4096};

static enum traffic_what what_of(uint8_t control)
{
	return (enum traffic_what)(control >> 3 & 7);
}

/* Entries that make no frame. */
static bool is_end_of_time(uint8_t control)
{
	return what_of(control) == TRAFFIC_TAGGED && control >> 6 == 3;
}

struct aggregator_config traffic_aggregator_config(const uint8_t *input, size_t length)
{
	const bool has_times = length > 0 && is_end_of_time(input[0]) && input[0] & 1;

	return (struct aggregator_config){
	        .ports = TRAFFIC_PORTS,
	        .jobs = TRAFFIC_CONTEXTS,
	        .memory_packets = TRAFFIC_MEMORY,
	        .window_packets = TRAFFIC_WINDOW,
	        .grain_packets = TRAFFIC_GRAIN,
	        .has_quiet_time = has_times,
	        .has_patience = has_times,
	};
}

void traffic_start(struct traffic *traffic, const uint8_t *input, size_t length)
{
	memset(traffic, 0, sizeof(*traffic));
	traffic->input = input;
	traffic->left = length < TRAFFIC_INPUT_MAX ? length : TRAFFIC_INPUT_MAX;
}

uint8_t traffic_control(enum traffic_what what, unsigned port, unsigned job, unsigned amount)
{
	return (uint8_t)((port & 1) | (job & 3) << 1 | (unsigned)what << 3 | (amount & 3) << 6);
}

uint8_t traffic_take(struct traffic *traffic)
{
	if (traffic->left == 0)
		return 0;
	traffic->left--;
	return *traffic->input++;
}

static unsigned min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The properties of a message, from its shape and number. */
struct plan {
	struct ina_wire_header header;
	unsigned packets;
	unsigned packet_bytes; /* of all packets but the last one, which may be shorter */
	unsigned bytes;
};

static struct plan plan_of(const struct traffic_job *job, unsigned job_number, unsigned number)
{
	const uint8_t *shape = job->messages[number].shape;
	struct plan plan = {
	        .header =
	                {
	                        .magic = INA_WIRE_MAGIC,
	                        .version = INA_WIRE_VERSION,
	                        .rank_count = TRAFFIC_PORTS,
	                        .job_id = 0x0123456789ABCDEFu * (job_number + 1),
	                        .message_number = number,
	                },
	        .packets = 1,
	        .packet_bytes = CONTROL_MESSAGE_BYTES,
	        .bytes = CONTROL_MESSAGE_BYTES,
	};
	bool leaves = shape[0] >> 5 == 7;

	if (number == 0) { /* the JOIN; 0 gives a valid one */
		plan.header.type = INA_WIRE_JOIN;
		plan.header.exponent = (shape[0] & 0xF) - TRAFFIC_WINDOW;
		plan.header.rank_count = (uint16_t)(TRAFFIC_PORTS - (shape[1] & 3));
	} else if (leaves) {
		plan.header.type = INA_WIRE_LEAVE;
	} else {
		plan.header.type = INA_WIRE_DATA;
		plan.header.number_type = 1 + (shape[1] & 3);
		plan.header.operation = 1 + (shape[1] >> 2 & 3) % 3;
		plan.packets = 1 + (shape[0] & 3);
		plan.packet_bytes = packet_bytes[shape[0] >> 2 & 7];
		/* The last packet has up to 15 quads less than a full one. */
		unsigned spare = 16 * min(shape[1] >> 4, plan.packet_bytes / 16 - 3);
		plan.bytes = plan.packets * plan.packet_bytes - spare;
		plan.header.length_bytes =
		        plan.bytes - CONTROL_MESSAGE_BYTES - min(spare / 4, 12) % 16;
		if (plan.bytes == CONTROL_MESSAGE_BYTES)
			plan.header.length_bytes = 0;
	}
	return plan;
}

/* Elements that suit both float32 and int32: all bits, zeros, extremes, small numbers. */
static uint32_t element_of(unsigned job, unsigned port, unsigned number, unsigned index)
{
	static const uint32_t special[8] = {0,          0x80000000, 0x7F800000, 0x7FC00001,
	                                    0x7FFFFFFF, 1,          0x00800000, 0xFF7FFFFF};
	uint32_t bits = (index + 1) * 0x9E3779B1u ^ (number + 1) * 0x85EBCA77u ^
	                (job * TRAFFIC_PORTS + port + 1) * 0xC2B2AE3Du;

	bits ^= bits >> 15;
	bits *= 0x2C1B3C6Du;
	bits ^= bits >> 12;
	return bits % 5 == 0 ? special[bits >> 8 & 7] : bits;
}

static void make_frame(struct roce_frame *frame, const struct traffic_job *job, unsigned job_number,
                       unsigned port, unsigned number, unsigned packet, uint32_t ordinal)
{
	uint32_t elements[MESSAGE_BYTES_MAX / 4];
	uint8_t message[MESSAGE_BYTES_MAX + 64];
	struct plan plan = plan_of(job, job_number, number);
	bool first = packet == 0;
	bool last = packet + 1 == plan.packets;

	for (unsigned i = 0; i < plan.header.length_bytes / 4; i++)
		elements[i] = element_of(job_number, port, number, i);
	size_t bytes = message_make(message, &plan.header, elements, port);
	assert(bytes <= sizeof(message));
	frame_make(frame, &(struct frame_spec){
	                          .source = port,
	                          .destination = (port + 1) % TRAFFIC_PORTS,
	                          .destination_qpn = 0x11 + job_number,
	                          /* One job's PSNs wrap. */
	                          .psn = 0xFFFFF8 + 0x10000 * job_number + ordinal,
	                          .opcode = first ? (last ? 0x04 : 0x00) : (last ? 0x02 : 0x01),
	                          .tos = port == 0 && number % 8 == 7 ? 0xAF : 0xAE, /* ECN = 3 */
	                          .payload = message + (size_t)packet * plan.packet_bytes,
	                          .payload_bytes = last ? bytes - (size_t)packet * plan.packet_bytes
	                                                : plan.packet_bytes,
	                  });
}

/* The packet at the rank's position. Reads the shape of a message that neither rank has reached. */
static void make_current(struct traffic *traffic, struct roce_frame *frame, unsigned job_number,
                         unsigned port)
{
	struct traffic_job *job = &traffic->jobs[job_number];
	unsigned number = job->at[port].message;

	if (number == job->message_count) {
		job->messages[number].shape[0] = traffic_take(traffic);
		job->messages[number].shape[1] = traffic_take(traffic);
		job->message_count++;
	}
	make_frame(frame, job, job_number, port, number, job->at[port].packet,
	           job->at[port].ordinal);
}

/* Advances the rank's position. A job that has sent all its messages repeats the last one. */
static void advance(struct traffic_job *job, unsigned job_number, unsigned port)
{
	struct plan plan = plan_of(job, job_number, job->at[port].message);

	job->at[port].ordinal++;
	if (++job->at[port].packet < plan.packets)
		return;
	job->at[port].packet = 0;
	if (job->at[port].message + 1 < TRAFFIC_MESSAGES_MAX)
		job->at[port].message++;
}

/* The packet that is `back` before the rank's position, or its first one. */
static void make_earlier(struct traffic *traffic, struct roce_frame *frame, unsigned job_number,
                         unsigned port, unsigned back)
{
	const struct traffic_job *job = &traffic->jobs[job_number];
	uint32_t ordinal = job->at[port].ordinal;

	if (ordinal == 0) {
		make_current(traffic, frame, job_number, port);
		return;
	}
	uint32_t wanted = back < ordinal ? ordinal - 1 - back : 0;
	uint32_t start = 0;
	for (unsigned number = 0; number < job->message_count; number++) {
		unsigned packets = plan_of(job, job_number, number).packets;

		if (wanted < start + packets) {
			make_frame(frame, job, job_number, port, number, wanted - start, wanted);
			return;
		}
		start += packets;
	}
	/* Only if the last message is sent again. */
	make_current(traffic, frame, job_number, port);
}

/* The current packet with a later PSN. */
static void make_ahead(struct traffic *traffic, struct roce_frame *frame, unsigned job,
                       unsigned port, unsigned left_out)
{
	uint32_t *ordinal = &traffic->jobs[job].at[port].ordinal;
	uint32_t here = *ordinal;

	*ordinal += left_out;
	make_current(traffic, frame, job, port);
	*ordinal = here;
}

/* Places 0 to 191 count from the start, the others from the end: iCRC and trailer. */
static void patch(struct traffic *traffic, struct roce_frame *frame, unsigned count)
{
	for (unsigned i = 0; i <= count; i++) {
		unsigned place = traffic_take(traffic);
		uint8_t bits = traffic_take(traffic);

		if (place >= 192)
			place = (unsigned)frame->length - 1 -
			        min(255 - place, (unsigned)frame->length - 1);
		frame->bytes[min(place, (unsigned)frame->length - 1)] ^= bits;
	}
}

static bool has_headers(const struct roce_frame *frame)
{
	return frame->length >= ROCE_HEADERS_BYTES + 4;
}

/* Shortens for bytes below 128, otherwise lengthens; amount 1: with lengths and iCRC to match. */
static void resize(struct roce_frame *frame, unsigned amount, uint8_t by)
{
	if (by < 128) {
		frame->length -= min(by + 1, (unsigned)frame->length - 1);
	} else {
		memset(frame->bytes + frame->length, by, by - 127);
		frame->length += by - 127;
	}
	if (amount % 2 == 0 || !has_headers(frame))
		return;
	unsigned ip_bytes = (unsigned)frame->length - 14;
	frame->bytes[16] = (uint8_t)(ip_bytes >> 8);
	frame->bytes[17] = (uint8_t)ip_bytes;
	frame->bytes[38] = (uint8_t)((ip_bytes - 20) >> 8);
	frame->bytes[39] = (uint8_t)(ip_bytes - 20);
	frame_seal(frame);
}

static void spoil_duplicate(struct roce_frame *frame, unsigned amount)
{
	enum { A_QUAD_LESS = 15, A_QUAD_MORE = 128 + 15, JOB_ID_AT = FRAME_HEADER_BYTES + 8 };

	if (amount == 3) {
		frame->bytes[JOB_ID_AT] ^= 0x40;
		frame_seal(frame);
	} else if (amount > 0) {
		resize(frame, 1, amount == 1 ? A_QUAD_LESS : A_QUAD_MORE);
	}
}

static void insert_tag(struct roce_frame *frame, uint8_t low_bits)
{
	memmove(frame->bytes + 16, frame->bytes + 12, frame->length - 12);
	memcpy(frame->bytes + 12, (const uint8_t[4]){0x81, 0x00, 0x00, low_bits}, 4);
	frame->length += 4;
}

static void make_raw(struct traffic *traffic, struct roce_frame *frame, unsigned amount)
{
	unsigned length = 1 + 4 * traffic_take(traffic) + amount;

	for (unsigned i = 0; i < length; i++)
		frame->bytes[i] = traffic_take(traffic);
	frame->length = length;
}

bool traffic_next(struct traffic *traffic, struct roce_frame *frame, unsigned *port)
{
	if (traffic->left == 0 || traffic->entries == TRAFFIC_ENTRIES_MAX)
		return false;
	uint8_t control = traffic_take(traffic);
	unsigned job = control >> 1 & 3;
	unsigned amount = control >> 6;

	traffic->entries++;
	*port = control & 1;
	switch (what_of(control)) {
	case TRAFFIC_NEXT:
		make_current(traffic, frame, job, *port);
		advance(&traffic->jobs[job], job, *port);
		break;
	case TRAFFIC_DUPLICATE:
		make_earlier(traffic, frame, job, *port,
		             traffic_take(traffic) % (4 * TRAFFIC_WINDOW));
		spoil_duplicate(frame, amount);
		break;
	case TRAFFIC_AHEAD:
		make_ahead(traffic, frame, job, *port,
		           1 + traffic_take(traffic) % (2 * TRAFFIC_WINDOW));
		break;
	case TRAFFIC_SPOILED:
		make_current(traffic, frame, job, *port);
		patch(traffic, frame, amount);
		frame_seal(frame);
		break;
	case TRAFFIC_DAMAGED:
		make_current(traffic, frame, job, *port);
		patch(traffic, frame, amount);
		break;
	case TRAFFIC_RESIZED:
		make_current(traffic, frame, job, *port);
		resize(frame, amount, traffic_take(traffic));
		break;
	case TRAFFIC_TAGGED:
		if (is_end_of_time(control)) {
			frame->length = 0;
			break;
		}
		make_current(traffic, frame, job, *port);
		insert_tag(frame, traffic_take(traffic));
		advance(&traffic->jobs[job], job, *port);
		break;
	case TRAFFIC_RAW:
		make_raw(traffic, frame, amount);
		break;
	}
	return true;
}
