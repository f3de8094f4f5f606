/* SPDX-License-Identifier: Apache-2.0 */
/* The table of PSNs of docs/protocol.md row by row, sums, marking, and frames that pass. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

enum { SEND_FIRST = 0, SEND_MIDDLE = 1, SEND_LAST = 2, SEND_ONLY = 4, WINDOW = 8 };

static int open_four(void **state)
{
	*state = rig_open(4, WINDOW);
	return 0;
}

static int close_rig(void **state)
{
	rig_close(*state);
	return 0;
}

static void put_data(struct rig *rig, unsigned rank, unsigned index, int32_t element)
{
	struct roce_frame frame = rig_data(rig, rank, index, element);

	rig_put(rig, rank, &frame);
}

/* The element of packet `index` that `rank` sends in these tests. */
static int32_t element_of(unsigned rank, unsigned index)
{
	return (int32_t)(index * 1000 + (rank + 1) * (rank + 1));
}

/* 1 + 4 + 9 + 16, and four times the thousands. */
static int32_t sum_of_four(unsigned index)
{
	return (int32_t)(4000 * index + 30);
}

static void complete(struct rig *rig, unsigned index)
{
	for (unsigned rank = 0; rank < 4; rank++)
		put_data(rig, rank, index, element_of(rank, index));
}

/* Asserts that `frame` of `rank` came out, with the sum as payload and the matching iCRC. */
static void assert_summed(const struct rig *rig, unsigned position, unsigned rank,
                          struct roce_frame want)
{
	const struct rig_emitted *emitted = &rig->emitted[position];
	uint32_t contributors = 4, last_rank = 3;

	memcpy(want.bytes + want.length - 20, &contributors, 4);
	memcpy(want.bytes + want.length - 8, &last_rank, 4);
	frame_seal(&want);
	assert_int_equal(emitted->port, rank);
	assert_int_equal(emitted->frame.length, want.length);
	assert_memory_equal(emitted->frame.bytes, want.bytes, want.length);
}

/* Asserts that the sum came out with the header that `rank` sent. */
static void assert_sum(const struct rig *rig, unsigned position, unsigned rank, unsigned index)
{
	assert_summed(rig, position, rank, rig_data(rig, rank, index, sum_of_four(index)));
}

/* Asserts that the sum came out and asks for an ACK, because of an earlier loss. */
static void assert_sum_again(const struct rig *rig, unsigned position, unsigned rank,
                             unsigned index)
{
	struct roce_frame want = rig_data(rig, rank, index, sum_of_four(index));

	frame_ask_for_ack(&want);
	assert_summed(rig, position, rank, want);
}

/* Asserts that a probe came out in place of packet `index` of `rank`, and nothing else. */
static void assert_probe(const struct rig *rig, unsigned rank, unsigned index)
{
	static const uint8_t zeros[64];
	struct roce_frame probe =
	        rig_frame(rig, rank, index + 0x400000, SEND_ONLY, zeros, sizeof(zeros));

	rig_assert_passed(rig, rank, &probe);
}

static void test_sum_waits_for_all(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned index = 1; index < 40; index++) { /* past PSN 0xFFFFFF, and around the ring */
		for (unsigned i = 0; i < 3; i++) {
			unsigned rank = (index + i) % 4; /* any order of arrival */

			put_data(rig, rank, index, element_of(rank, index));
			rig_assert_nothing(rig);
		}
		put_data(rig, (index + 3) % 4, index, element_of((index + 3) % 4, index));
		assert_int_equal(rig->emitted_count, 4);
		for (unsigned rank = 0; rank < 4; rank++)
			assert_sum(rig, rank, rank, index);
	}
	rig_assert_count(rig, packets_joined, 40 * 4);
	rig_assert_count(rig, bytes_joined, 4 * 48 + 39 * 4 * 64);
	rig_assert_count(rig, packets_taken, 40 * 4);
	rig_assert_count(rig, frames_in, 40 * 4);
	rig_assert_count(rig, frames_passed, 0);
}

/* d = 0, no room: dropped, and taken when it is sent again. */
static void test_no_room(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned index = 1; index <= WINDOW; index++)
		put_data(rig, 0, index, element_of(0, index));
	put_data(rig, 0, WINDOW + 1, element_of(0, WINDOW + 1));
	rig_assert_nothing(rig);
	rig_assert_count(rig, no_room_dropped, 1);
	for (unsigned rank = 1; rank < 4; rank++)
		put_data(rig, rank, 1, element_of(rank, 1));
	assert_int_equal(rig->emitted_count, 4);
	put_data(rig, 0, WINDOW + 1, element_of(0, WINDOW + 1));
	rig_assert_nothing(rig);
	rig_assert_count(rig, no_room_dropped, 1);
	rig_assert_count(rig, packets_taken, 4 + WINDOW + 1 + 3);
}

/* d > 0: not taken. A probe leaves, with a PSN out of reach and zeros as payload. */
static void test_gap(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned index = 2; index < 5; index++) {
		put_data(rig, 1, index, 5);
		assert_probe(rig, 1, index);
	}
	rig_assert_count(rig, gaps, 3);
	rig_assert_count(rig, frames_passed, 0);
	complete(rig, 1);
	assert_int_equal(rig->emitted_count, 4);
	assert_sum(rig, 0, 0, 1);
	assert_sum_again(rig, 1, 1, 1);
	complete(rig, 2);
	assert_sum_again(rig, 1, 1, 2);

	/* Up to the next packet that already asks for an ACK. */
	struct roce_frame asks = rig_data(rig, 1, 3, element_of(1, 3));
	frame_ask_for_ack(&asks);
	rig_put(rig, 1, &asks);
	for (unsigned rank = 0; rank < 4; rank++)
		if (rank != 1)
			put_data(rig, rank, 3, element_of(rank, 3));
	assert_sum_again(rig, 1, 1, 3);
	complete(rig, 4);
	assert_sum(rig, 1, 1, 4);
}

/* A packet that was summed before the job broke is only ever sent with the sum; a packet that was
 * sent raw, only raw. */
static void test_each_psn_has_one_payload(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	complete(rig, 1);
	put_data(rig, 0, 2, 7);
	struct roce_frame breaks = rig_brief(rig, 1, 2, SEND_ONLY, 32);
	rig_put(rig, 1, &breaks);
	rig_assert_count(rig, jobs_broken, 1);
	rig_assert_count(rig, packets_raw, 1);
	rig_assert_count(rig, frames_passed, 1);
	struct roce_frame ahead = rig_data(rig, 1, 3, 5);
	rig_put(rig, 1, &ahead);
	rig_assert_passed(rig, 1, &ahead);

	put_data(rig, 0, 1, 999);
	assert_int_equal(rig->emitted_count, 1);
	assert_sum_again(rig, 0, 0, 1);
	struct roce_frame raw = rig_data(rig, 0, 2, 7);
	rig_put(rig, 0, &raw);
	rig_assert_passed(rig, 0, &raw);
}

/* d < 0, still in the queue: dropped. The first copy counts, whatever the second one contains. */
static void test_waiting(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	put_data(rig, 0, 1, element_of(0, 1));
	put_data(rig, 0, 2, element_of(0, 2));
	put_data(rig, 0, 1, 12345);
	rig_assert_nothing(rig);
	put_data(rig, 0, 2, 12345);
	rig_assert_nothing(rig);
	rig_assert_count(rig, duplicates_waiting, 2);
	for (unsigned rank = 1; rank < 4; rank++)
		put_data(rig, rank, 1, element_of(rank, 1));
	assert_sum(rig, 0, 0, 1);
}

/* d < 0, in the history: answered on its own port, with the header of the retransmission. */
static void test_answered(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned index = 1; index <= 12; index++)
		complete(rig, index);
	for (unsigned index = 12; index > 12 - WINDOW; index--) {
		put_data(rig, 2, index, 999); /* the host's memory may hold anything by now */
		assert_int_equal(rig->emitted_count, 1);
		assert_sum_again(rig, 0, 2, index);
	}
	rig_assert_count(rig, duplicates_answered, WINDOW);

	/* Older than the history: a probe. */
	put_data(rig, 2, 12 - WINDOW, 999);
	assert_probe(rig, 2, 12 - WINDOW);
	rig_assert_count(rig, duplicates_old, 1);
}

/* Older than the flow: there is no such sum, even if the slots have room for one. */
static void test_older_than_the_join(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	struct roce_frame join = rig_control(rig, 3, 0, INA_WIRE_JOIN);
	rig_put(rig, 3, &join); /* the JOIN itself is in the history */
	assert_int_equal(rig->emitted_count, 1);
	assert_int_equal(rig_contributors(&rig->emitted[0].frame), 4);
	put_data(rig, 3, 0xFFFFFF, 1);
	assert_probe(rig, 3, 0xFFFFFF);
	rig_assert_count(rig, duplicates_old, 1);
}

/* History and queue together: if three packets wait, the age of a summed packet grows by three. */
static void test_answered_while_others_wait(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	complete(rig, 1);
	complete(rig, 2);
	for (unsigned index = 3; index < 6; index++)
		put_data(rig, 1, index, element_of(1, index));
	put_data(rig, 1, 1, 0);
	assert_int_equal(rig->emitted_count, 1);
	assert_sum_again(rig, 0, 1, 1);
	put_data(rig, 1, 3, 0);
	rig_assert_nothing(rig);
}

static void test_wrong_icrc(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	struct roce_frame frame = rig_data(rig, 1, 1, 5);
	for (size_t at = FRAME_HEADER_BYTES; at < frame.length; at++) {
		struct roce_frame corrupted = frame;

		corrupted.bytes[at] ^= 0x40;
		rig_put(rig, 1, &corrupted);
		rig_assert_nothing(rig);
	}
	rig_assert_count(rig, icrc_dropped, frame.length - FRAME_HEADER_BYTES);

	/* A truncated frame is also damaged. */
	struct roce_frame cut = frame;
	cut.length--;
	rig_put(rig, 1, &cut);
	rig_assert_nothing(rig);
	rig_assert_count(rig, icrc_dropped, frame.length - FRAME_HEADER_BYTES + 1);

	/* A packet of an unknown flow: the aggregator does not check it. */
	struct roce_frame stranger = frame;
	stranger.bytes[49] ^= 1;
	rig_put(rig, 1, &stranger);
	rig_assert_passed(rig, 1, &stranger);
	complete(rig, 1);
	assert_int_equal(rig->emitted_count, 4);
}

/* Bytes after the iCRC do not belong to the packet: it is taken without them. That also holds for a
 * JOIN. */
static void test_trailed(void **state)
{
	static const unsigned counts[] = {1, 4, 63, 300};
	struct rig *rig = *state;

	for (unsigned rank = 0; rank < 4; rank++) {
		struct roce_frame join = rig_control(rig, rank, 0, INA_WIRE_JOIN);

		join.length += 8;
		rig_put(rig, rank, &join);
	}
	assert_int_equal(rig->emitted_count, 4);
	for (unsigned index = 1; index <= 4; index++) {
		for (unsigned rank = 0; rank < 4; rank++) {
			struct roce_frame data =
			        rig_data(rig, rank, index, element_of(rank, index));

			memset(data.bytes + data.length, 0x5A, counts[index - 1]);
			data.length += rank % 2 ? counts[index - 1] : 0;
			rig_put(rig, rank, &data);
		}
		assert_int_equal(rig->emitted_count, 4);
		for (unsigned rank = 0; rank < 4; rank++)
			assert_sum(rig, rank, rank, index);
	}
	rig_assert_count(rig, icrc_dropped, 0);
}

/* The fields of a flow: a packet that differs in one of them belongs to another flow. */
static void test_flow_key(void **state)
{
	struct rig *rig = *state;
	static const unsigned key_at[] = {29, 33, 47, 48, 49};

	rig_join_all(rig);
	for (size_t i = 0; i < sizeof(key_at) / sizeof(key_at[0]); i++) {
		struct roce_frame other = rig_data(rig, 0, 1, 1);

		other.bytes[key_at[i]] ^= 2;
		frame_seal(&other);
		rig_put(rig, 0, &other);
		rig_assert_passed(rig, 0, &other);
	}
	rig_assert_count(rig, packets_taken, 4);
}

/* A message of three packets in float32; the sum is computed with the host's arithmetic. */
static void test_message_of_packets(void **state)
{
	struct rig *rig = *state;
	enum { PACKET = 1024, ELEMENTS = 600 };
	static uint8_t messages[4][32 + ELEMENTS * 4 + 16];
	static float values[4][ELEMENTS];
	size_t length = 0;

	rig_join_all(rig);
	for (unsigned rank = 0; rank < 4; rank++) {
		struct ina_wire_header header = {
		        .magic = INA_WIRE_MAGIC,
		        .version = 1,
		        .type = INA_WIRE_DATA,
		        .number_type = INA_WIRE_FLOAT32,
		        .operation = INA_WIRE_SUM,
		        .rank_count = 4,
		        .job_id = RIG_JOB_ID,
		        .message_number = 1,
		        .length_bytes = sizeof(values[0]),
		        .exponent = (int32_t)rank * 3 - 7,
		};
		for (unsigned i = 0; i < ELEMENTS; i++)
			values[rank][i] = 1.0f / (float)(i + rank * 17 + 1);
		length = message_make(messages[rank], &header, values[rank], rank);
	}
	uint8_t sum[sizeof(messages[0])];
	for (unsigned at = 0, index = 1; at < length; at += PACKET, index++) {
		size_t bytes = length - at < PACKET ? length - at : PACKET;
		uint8_t opcode = at == 0                ? SEND_FIRST
		                 : at + bytes == length ? SEND_LAST
		                                        : SEND_MIDDLE;

		for (unsigned rank = 0; rank < 4; rank++) {
			struct roce_frame frame =
			        rig_frame(rig, rank, index, opcode, messages[rank] + at, bytes);
			rig_put(rig, rank, &frame);
		}
		assert_int_equal(rig->emitted_count, 4);
		memcpy(sum + at, rig->emitted[2].frame.bytes + FRAME_HEADER_BYTES, bytes);
	}
	assert_memory_equal(sum, messages[0], 28);
	int32_t exponent;
	memcpy(&exponent, sum + 28, 4);
	assert_int_equal(exponent, 2);
	for (unsigned i = 0; i < ELEMENTS; i++) {
		float want = (values[0][i] + values[1][i]) + (values[2][i] + values[3][i]);

		assert_memory_equal(sum + 32 + i * 4, &want, 4);
	}
	struct ina_wire_trailer trailer;
	memcpy(&trailer, sum + length - 16, 16);
	assert_int_equal(trailer.contributors, 4);
	assert_int_equal(trailer.flags, 0);
	assert_int_equal(trailer.message_number, 1);
	assert_int_equal(trailer.rank, 3);
}

/* Messages of two packets, for the PSNs after the JOIN: 16 int32 between header and trailer. */
struct two_packets {
	uint32_t number;
	uint8_t bytes[32 + 64 + 16];
};

static struct two_packets two_packets(uint32_t number, const uint32_t elements[16])
{
	struct two_packets message = {.number = number};
	const struct ina_wire_header header = {
	        .magic = INA_WIRE_MAGIC,
	        .version = 1,
	        .type = INA_WIRE_DATA,
	        .number_type = INA_WIRE_INT32,
	        .operation = INA_WIRE_SUM,
	        .rank_count = 4,
	        .job_id = RIG_JOB_ID,
	        .message_number = number,
	        .length_bytes = 64,
	};

	message_make(message.bytes, &header, elements, 0);
	return message;
}

static void put_half(struct rig *rig, unsigned rank, const struct two_packets *message,
                     unsigned half)
{
	struct roce_frame frame =
	        rig_frame(rig, rank, message->number * 2 - 1 + half, half ? SEND_LAST : SEND_FIRST,
	                  message->bytes + half * 48, half ? 64 : 48);

	rig_put(rig, rank, &frame);
}

/* An overflow in the first packet is reported in the trailer of the last packet, and ends with the
 * message. */
static void test_overflow_is_sticky(void **state)
{
	struct rig *rig = *state;
	uint32_t elements[16] = {0x40000000}; /* four times: 2^32 */

	rig_join_all(rig);
	for (unsigned number = 1; number < 3; number++) {
		const struct two_packets message = two_packets(number, elements);

		for (unsigned half = 0; half < 2; half++)
			for (unsigned rank = 0; rank < 4; rank++)
				put_half(rig, rank, &message, half);
		assert_int_equal(rig->emitted_count, 4);
		const struct roce_frame *last = &rig->emitted[3].frame;
		assert_int_equal(last->bytes[last->length - 16], number == 1);
		elements[0] = 1;
	}
}

/* One of four is marked: all leave marked, with a correct IP checksum. */
static void test_congestion(void **state)
{
	struct rig *rig = *state;

	rig->tos = INA_WIRE_TRAFFIC_CLASS;
	rig_join_all(rig);
	for (unsigned marked = 0; marked < 4; marked++) {
		for (unsigned rank = 0; rank < 4; rank++) {
			rig->tos = rank == marked ? 0xAF : 0xAE;
			put_data(rig, rank, 1 + marked, (int32_t)rank);
		}
		assert_int_equal(rig->emitted_count, 4);
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(rig->emitted[i].frame.bytes[15], 0xAF);
			assert_int_equal(frame_ip_sum(rig->emitted[i].frame.bytes), 0xFFFF);
		}
	}
	rig_assert_count(rig, ecn_marked, 4 * 3);

	/* A retransmission is not marked because of others' congestion. */
	rig->tos = 0xAE;
	put_data(rig, 0, 4, 0);
	assert_int_equal(rig->emitted[0].frame.bytes[15], 0xAE);
}

static uint32_t flags_of(const struct roce_frame *frame)
{
	uint32_t flags;

	memcpy(&flags, frame->bytes + frame->length - 4 - 12, 4);
	return flags;
}

/* Bit 2 of the flags is set in the message whose packets met congestion, whichever packet it was,
 * and in no other. */
static void test_congestion_in_the_trailer(void **state)
{
	struct rig *rig = *state;
	const uint32_t elements[16] = {0};

	rig_join_all(rig);
	for (unsigned number = 1; number < 4; number++) {
		const struct two_packets message = two_packets(number, elements);

		for (unsigned half = 0; half < 2; half++)
			for (unsigned rank = 0; rank < 4; rank++) {
				rig->tos = number == 2 && half == 0 && rank == 3 ? 0xAF : 0xAE;
				put_half(rig, rank, &message, half);
			}
		assert_int_equal(rig->emitted_count, 4);
		for (unsigned i = 0; i < 4; i++)
			assert_int_equal(flags_of(&rig->emitted[i].frame), number == 2 ? 4 : 0);
	}
}

/*
 * RFC 3168, 5: a router marks only packets whose ends know ECN, which they say by ECT(0) or ECT(1).
 * Other packets stay unchanged, also next to packets that are marked.
 */
static void test_congestion_not_capable(void **state)
{
	struct rig *rig = *state;
	static const int tos[4] = {0xAF, 0xAC, 0xAD, 0xAE};
	static const uint8_t want[4] = {0xAF, 0xAC, 0xAF, 0xAF};

	rig_join_all(rig);
	for (unsigned rank = 0; rank < 4; rank++) {
		rig->tos = tos[rank];
		put_data(rig, rank, 1, (int32_t)rank);
	}
	assert_int_equal(rig->emitted_count, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(rig->emitted[i].frame.bytes[15], want[rig->emitted[i].port]);
		assert_int_equal(frame_ip_sum(rig->emitted[i].frame.bytes), 0xFFFF);
	}
	rig_assert_count(rig, ecn_marked, 2);
}

/* The update of the checksum, for every value that the checksum can have. */
static void test_congestion_checksums(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned index = 1; index < 3000; index++) {
		for (unsigned rank = 0; rank < 4; rank++) {
			struct roce_frame frame = rig_data(rig, rank, index, 0);

			frame.bytes[15] = rank == 3 ? 0x03 : 0x02;
			frame.bytes[18] = (uint8_t)(index * 22 >> 8); /* IP identification */
			frame.bytes[19] = (uint8_t)(index * 22);
			frame_seal(&frame);
			rig_put(rig, rank, &frame);
		}
		for (unsigned rank = 0; rank < 4; rank++)
			assert_int_equal(frame_ip_sum(rig->emitted[rank].frame.bytes), 0xFFFF);
	}
}

/* A packet of a flow that is known at one port is dropped at every other port, whatever its request
 * is. */
static void test_another_port(void **state)
{
	struct rig *rig = *state;
	static const uint8_t rdma_write_only = 0x0A;
	const uint8_t payload[32] = {0};
	struct roce_frame frames[] = {
	        rig_data(rig, 0, 1, 7),                             /* the next PSN */
	        rig_control(rig, 0, 0, INA_WIRE_JOIN),              /* a retransmission */
	        rig_data(rig, 0, 5, 7),                             /* past a gap */
	        rig_frame(rig, 0, 1, rdma_write_only, payload, 32), /* no contribution */
	};
	unsigned dropped = 0;

	rig_join_all(rig);
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		for (unsigned port = 1; port < 4; port++) {
			rig_put(rig, port, &frames[i]);
			rig_assert_nothing(rig);
			rig_assert_count(rig, elsewhere_dropped, ++dropped);
		}
		rig_put(rig, 0, &frames[1]); /* its host is alive */
		assert_int_equal(rig->emitted_count, 1);
	}
	rig_assert_count(rig, frames_passed, 0);
	rig_assert_count(rig, joins_refused, 0);
	for (unsigned rank = 0; rank < 4; rank++)
		put_data(rig, rank, 1, (int32_t)rank);
	assert_int_equal(rig->emitted_count, 4);

	/* Such a packet does not end the flow's silence. When the job has expired, the flow is
	 * known at no port. */
	aggregator_age(rig->aggregator);
	rig_put(rig, 1, &frames[0]);
	rig_assert_count(rig, elsewhere_dropped, dropped + 1);
	aggregator_age(rig->aggregator);
	rig_assert_count(rig, jobs_expired, 1);
	rig_put(rig, 1, &frames[0]);
	rig_assert_passed(rig, 1, &frames[0]);
}

/* Frames that are not aggregation traffic pass unchanged, whatever their length. */
static void test_passing(void **state)
{
	struct rig *rig = *state;
	struct roce_frame frame = {0};
	unsigned seed = 3, put = 0;

	for (frame.length = 1; frame.length <= ROCE_FRAME_BYTES_MAX; frame.length += 37, put++) {
		for (size_t i = 0; i < frame.length; i++)
			frame.bytes[i] = (uint8_t)(rand_r(&seed) >> 7);
		rig_put(rig, put % 4, &frame);
		rig_assert_passed(rig, put % 4, &frame);
	}
	rig_assert_count(rig, frames_in, put);
	rig_assert_count(rig, frames_passed, put);
}

static void test_config(void **state)
{
	static const struct aggregator_config wrong[] = {
#define SIZES(port_count, job_count, slots, mtu)                                                   \
	{.ports = port_count, .jobs = job_count, .window_packets = slots, .mtu_bytes = mtu}
	        SIZES(1, 4, 8, 0),    SIZES(33, 4, 8, 0),  SIZES(4, 0, 8, 0),
	        SIZES(4, 65, 8, 0),   SIZES(4, 4, 0, 0),   SIZES(4, 4, 1, 0),
	        SIZES(4, 4, 4097, 0), SIZES(4, 4, 8, 128), SIZES(4, 4, 8, 1000),
	        SIZES(4, 4, 8, 8192),
#define PLACE(own_level, up_ports)                                                                 \
	{                                                                                          \
		.ports = 4, .jobs = 4, .window_packets = 8, .place = {                             \
			.level = own_level,                                                        \
			.uplinks = up_ports                                                        \
		}                                                                                  \
	}
	        PLACE(4, 0),          PLACE(1, 0xF),       PLACE(1, 0x10),
#define MEMORY(packets, window, grain)                                                             \
	{.ports = 4,                                                                               \
	 .jobs = 4,                                                                                \
	 .memory_packets = packets,                                                                \
	 .window_packets = window,                                                                 \
	 .grain_packets = grain}
	        MEMORY(64, 12, 4),    MEMORY(4, 8, 4),     MEMORY(66, 8, 4),
	        MEMORY(63, 8, 3),     MEMORY(64, 8, 16),   MEMORY(32769, 8, 1),
	        MEMORY(12, 8, 4),
#undef MEMORY
#undef PLACE
#undef SIZES
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		errno = 0;
		assert_null(aggregator_open(&wrong[i], NULL, NULL));
		assert_int_equal(errno, EINVAL);
	}
	aggregator_close(NULL);
}

/* Any number of slots works: a ring of five wraps again and again, and so does the history. */
static void test_whole_history(void **state)
{
	struct rig *rig = rig_open(2, 4);

	(void)state;
	for (unsigned rank = 0; rank < 2; rank++) {
		struct roce_frame join = rig_control(rig, rank, 0, INA_WIRE_JOIN);

		rig_put(rig, rank, &join);
	}
	for (unsigned index = 1; index < 40; index++) {
		for (unsigned rank = 0; rank < 2; rank++) {
			struct roce_frame data =
			        rig_data(rig, rank, index, (int32_t)(index + rank));

			rig_put(rig, rank, &data);
		}
		assert_int_equal(rig->emitted_count, 2);
		for (unsigned back = 0; back < 4 && back < index; back++) {
			struct roce_frame again = rig_data(rig, 0, index - back, 7);

			rig_put(rig, 0, &again);
			assert_int_equal(rig->emitted_count, 1);
			assert_int_equal(rig_element(&rig->emitted[0].frame),
			                 2 * (index - back) + 1);
		}
	}
	rig_close(rig);
}

/* A packet with a payload above the MTU cannot be summed. */
static void test_small_mtu(void **state)
{
	struct aggregator_config config = {
	        .ports = 2, .jobs = 1, .window_packets = 8, .mtu_bytes = 256};
	struct rig *rig = rig_open(2, 8);
	uint8_t payload[272] = {0};

	(void)state;
	aggregator_close(rig->aggregator);
	rig->aggregator = aggregator_open(&config, rig_collect, rig);
	assert_non_null(rig->aggregator);
	rig_join_all(rig);
	struct roce_frame large = rig_frame(rig, 0, 1, 1, payload, sizeof(payload));
	rig_put(rig, 0, &large);
	rig_assert_nothing(rig);
	rig_assert_count(rig, suspects_dropped, 1);
	struct roce_frame fits = rig_frame(rig, 0, 1, 1, payload, 256);
	rig_put(rig, 0, &fits);
	rig_assert_count(rig, packets_taken, 3);
	rig_close(rig);
}

#define with_four(test) cmocka_unit_test_setup_teardown(test, open_four, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        with_four(test_sum_waits_for_all),
	        with_four(test_no_room),
	        with_four(test_gap),
	        with_four(test_each_psn_has_one_payload),
	        with_four(test_waiting),
	        with_four(test_answered),
	        with_four(test_older_than_the_join),
	        with_four(test_answered_while_others_wait),
	        with_four(test_wrong_icrc),
	        with_four(test_trailed),
	        with_four(test_flow_key),
	        with_four(test_message_of_packets),
	        with_four(test_overflow_is_sticky),
	        with_four(test_congestion),
	        with_four(test_congestion_in_the_trailer),
	        with_four(test_congestion_not_capable),
	        with_four(test_congestion_checksums),
	        with_four(test_another_port),
	        with_four(test_passing),
	        cmocka_unit_test(test_whole_history),
	        cmocka_unit_test(test_small_mtu),
	        cmocka_unit_test(test_config),
	};
	return cmocka_run_group_tests_name("aggregator", tests, NULL, NULL);
}
