/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that cannot be a flow's own: suspects, and the flow that they evict; retransmissions of
 * another length; the quiet time after a reset (docs/protocol.md, PSNs, Suspects, Reset).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rig.h"

enum {
	SEND_FIRST = 0,
	SEND_ONLY = 4,
	WINDOW = 8,
	OPCODE_AT = 42,
	QPN_LOW_AT = 49,
	MESSAGE_AT = FRAME_HEADER_BYTES,
	RANK_COUNT_AT = MESSAGE_AT + 6,
	JOB_ID_AT = MESSAGE_AT + 8,
	PROBE_OFFSET = 1 << 22,
};

static int open_three(void **state)
{
	*state = rig_open(3, WINDOW);
	return 0;
}

/* With a quiet time, which tick() ends, and with patience. */
static int open_quiet(void **state)
{
	const struct aggregator_config config = {.ports = 3,
	                                         .jobs = 4,
	                                         .window_packets = WINDOW,
	                                         .has_quiet_time = true,
	                                         .has_patience = true};
	struct rig *rig = rig_open(3, WINDOW);

	aggregator_close(rig->aggregator);
	rig->aggregator = aggregator_open(&config, rig_collect, rig);
	assert_non_null(rig->aggregator);
	rig->tos = INA_WIRE_TRAFFIC_CLASS;
	*state = rig;
	return 0;
}

static int close_rig(void **state)
{
	rig_close(*state);
	return 0;
}

static void tick(struct rig *rig, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		aggregator_tick(rig->aggregator);
}

static void end_patience(struct rig *rig, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		aggregator_patience(rig->aggregator);
}

static void complete(struct rig *rig, unsigned index)
{
	for (unsigned rank = 0; rank < rig->ranks; rank++) {
		struct roce_frame data = rig_data(rig, rank, index, 1);

		rig_put(rig, rank, &data);
	}
	assert_int_equal(rig->emitted_count, rig->ranks);
	assert_int_equal(rig_contributors(&rig->emitted[0].frame), rig->ranks);
}

/* A request of rank 2's connection that aggregation does not use, as packet `index`. */
static struct roce_frame write_of(const struct rig *rig, unsigned index)
{
	struct roce_frame write = rig_data(rig, 2, index, 5);

	write.bytes[OPCODE_AT] = 0x0A; /* RDMA WRITE Only */
	frame_seal(&write);
	return write;
}

/* A JOIN of another job on rank 2's connection. */
static struct roce_frame other_join(const struct rig *rig, unsigned index)
{
	struct roce_frame join = rig_control(rig, 2, index, INA_WIRE_JOIN);

	join.bytes[JOB_ID_AT + 7] ^= 0x80;
	frame_seal(&join);
	return join;
}

static void assert_suspect(struct rig *rig, const struct roce_frame *frame)
{
	uint64_t before = aggregator_counters(rig->aggregator)->suspects_dropped;

	rig_put(rig, 2, frame);
	rig_assert_nothing(rig);
	rig_assert_count(rig, suspects_dropped, before + 1);
}

/* ... or, if a packet of the job waited, only that comes out. */
static void assert_suspect_of(struct rig *rig, const struct roce_frame *frame, unsigned waiting)
{
	uint64_t before = aggregator_counters(rig->aggregator)->suspects_dropped;

	rig_put(rig, 2, frame);
	assert_int_equal(rig->emitted_count, waiting);
	rig_assert_count(rig, suspects_dropped, before + 1);
}

/* Ranks 0 and 2 of a job of two join. Returns the JOIN of rank 2. */
static struct roce_frame join_two(struct rig *rig)
{
	const uint16_t two = 2;
	struct roce_frame join;

	for (unsigned rank = 0; rank <= 2; rank += 2) {
		join = rig_control(rig, rank, 0, INA_WIRE_JOIN);
		memcpy(join.bytes + RANK_COUNT_AT, &two, sizeof(two));
		frame_seal(&join);
		rig_put(rig, rank, &join);
	}
	assert_int_equal(rig->emitted_count, 2);
	return join;
}

/* A probe came out on port 2, and nothing else. */
static void assert_probe(struct rig *rig, unsigned index)
{
	assert_int_equal(rig->emitted_count, 1);
	assert_int_equal(rig->emitted[0].port, 2);
	const uint8_t *bytes = rig->emitted[0].frame.bytes;
	const uint32_t psn = (uint32_t)bytes[51] << 16 | (uint32_t)bytes[52] << 8 | bytes[53];

	assert_int_equal(psn, (RIG_FIRST_PSN + index + PROBE_OFFSET) & 0xFFFFFF);
	for (size_t at = MESSAGE_AT; at + 4 < rig->emitted[0].frame.length; at++)
		assert_int_equal(bytes[at], 0);
}

/* The first and last PSNs that a window can reach, from both sides. */
static void test_how_far(void **state)
{
	struct rig *rig = *state;
	const unsigned next = 3;

	rig_join_all(rig);
	complete(rig, 1);
	complete(rig, 2);
	struct roce_frame ahead = rig_data(rig, 2, next + WINDOW - 1, 5);
	rig_put(rig, 2, &ahead);
	assert_probe(rig, next + WINDOW - 1);
	struct roce_frame far = rig_data(rig, 2, next + WINDOW, 5);
	assert_suspect(rig, &far);
	far = rig_data(rig, 2, next + 0x7FFFFF, 5);
	assert_suspect(rig, &far);
	far = rig_data(rig, 2, next - 0x800000, 5);
	assert_suspect(rig, &far);
	/* A LEAVE follows two windows: its receiver may still lack the first packet of these. */
	struct roce_frame behind = rig_data(rig, 2, next - 2 * WINDOW - 1, 5);
	rig_put(rig, 2, &behind);
	assert_probe(rig, next - 2 * WINDOW - 1);
	rig_assert_count(rig, duplicates_old, 1);
	far = rig_data(rig, 2, next - 2 * WINDOW - 2, 5);
	assert_suspect(rig, &far);
	rig_assert_count(rig, jobs_broken, 0);
	complete(rig, next);
}

/* One foreign packet, or ten, in each form: the job continues. */
static void test_strangers_break_nothing(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned index = 1; index <= 10; index++) {
		struct roce_frame far = rig_data(rig, 2, index + 1000 * index, 5);
		struct roce_frame write = write_of(rig, index);
		struct roce_frame join = other_join(rig, index);

		assert_suspect(rig, &far);
		assert_suspect(rig, &write);
		assert_suspect(rig, &join);
		complete(rig, index);
	}
	rig_assert_count(rig, jobs_broken, 0);
}

/* A JOIN with another job id, at any distance, even if its place is in the queue or history. */
static void test_join_of_another_job(void **state)
{
	struct rig *rig = *state;

	tick(rig, 2);
	rig_join_all(rig);
	complete(rig, 1);
	struct roce_frame waits = rig_data(rig, 2, 2, 5);
	rig_put(rig, 2, &waits);
	rig_assert_nothing(rig);
	for (unsigned index = 0; index < 6; index++) { /* history, queue, next, past a gap */
		struct roce_frame join = other_join(rig, index);

		assert_suspect(rig, &join);
	}
	/* The flow's own JOIN is answered from the history. */
	struct roce_frame own = rig_control(rig, 2, 0, INA_WIRE_JOIN);
	rig_put(rig, 2, &own);
	assert_int_equal(rig->emitted_count, 1);
	assert_int_equal(rig_contributors(&rig->emitted[0].frame), 3);
}

/* The first packet of a message has a job id, at any distance; other packets may have any bytes
 * there. */
static void test_message_of_another_job(void **state)
{
	static const uint8_t starts[] = {SEND_FIRST, SEND_ONLY};
	struct rig *rig = *state;

	tick(rig, 2);
	rig_join_all(rig);
	complete(rig, 1);
	for (unsigned index = 0; index < 6; index++)
		for (unsigned i = 0; i < 2; i++) {
			struct roce_frame other = rig_data(rig, 2, index, 9);

			other.bytes[OPCODE_AT] = starts[i];
			other.bytes[JOB_ID_AT + index % 8] ^= 0x04;
			frame_seal(&other);
			assert_suspect(rig, &other);
		}
	for (unsigned opcode = 1; opcode <= 2; opcode++) {
		struct roce_frame other = rig_data(rig, 2, 2, 9);

		other.bytes[OPCODE_AT] = (uint8_t)opcode;
		other.bytes[JOB_ID_AT] ^= 0x04;
		frame_seal(&other);
		rig_put(rig, 2, &other);
		rig_assert_count(rig, suspects_dropped, 12);
	}
	rig_assert_count(rig, jobs_broken, 0);
}

/* A request that cannot be a contribution cannot be the flow's own, at any distance. */
static void test_other_requests(void **state)
{
	struct rig *rig = *state;

	tick(rig, 2);
	rig_join_all(rig);
	complete(rig, 1);
	struct roce_frame waits = rig_data(rig, 2, 2, 5);
	rig_put(rig, 2, &waits);
	for (unsigned index = 0; index < 6; index++) {
		struct roce_frame write = write_of(rig, index);
		struct roce_frame odd = rig_frame(rig, 2, index, SEND_ONLY, "0123456789", 10);
		struct roce_frame padded = rig_data(rig, 2, index, 5);

		padded.bytes[OPCODE_AT + 1] |= 0x10;
		frame_seal(&padded);
		assert_suspect(rig, &write);
		assert_suspect(rig, &odd);
		assert_suspect(rig, &padded);
	}
	struct roce_frame own = rig_control(rig, 2, 0, INA_WIRE_JOIN);
	rig_put(rig, 2, &own);
	assert_int_equal(rig->emitted_count, 1);
	rig_assert_count(rig, jobs_broken, 0);
}

/* Without the mark a packet belongs to no flow, whatever its addresses. */
static void test_unmarked_of_a_flow(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	for (unsigned index = 0; index < 6; index++) {
		rig->tos = 0;
		struct roce_frame data = rig_data(rig, 2, index, 5), join = other_join(rig, index);

		rig->tos = INA_WIRE_TRAFFIC_CLASS;
		rig_put(rig, 2, &data);
		rig_assert_passed(rig, 2, &data);
		rig_put(rig, 1, &data); /* by another port */
		rig_assert_passed(rig, 1, &data);
		rig_put(rig, 2, &join);
		rig_assert_passed(rig, 2, &join);
	}
	rig_assert_count(rig, suspects_dropped, 0);
	rig_assert_count(rig, elsewhere_dropped, 0);
	complete(rig, 1);
}

/* A damaged packet counts as damaged, not as a suspect. */
static void test_damaged(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	struct roce_frame far = rig_data(rig, 2, 1000, 5);
	struct roce_frame join = other_join(rig, 1);
	far.bytes[far.length - 1] ^= 1;
	join.bytes[join.length - 1] ^= 1;
	for (unsigned i = 0; i < 8; i++) {
		rig_put(rig, 2, &far);
		rig_assert_nothing(rig);
		rig_put(rig, 2, &join);
		rig_assert_nothing(rig);
	}
	rig_assert_count(rig, suspects_dropped, 0);
	rig_assert_count(rig, icrc_dropped, 16);
	complete(rig, 1);
}

/* Only the fourth suspect in a row evicts a flow; any packet of the flow starts the count again. */
static void test_fourth(void **state)
{
	struct rig *rig = *state;
	struct roce_frame write, again;

	rig_join_all(rig);
	again = rig_control(rig, 2, 0, INA_WIRE_JOIN);
	for (unsigned index = 1; index <= 4; index++) {
		write = write_of(rig, index);
		for (unsigned i = 0; i < 3; i++)
			assert_suspect(rig, &write);
		rig_put(rig, 2, &again); /* a retransmission will do */
		for (unsigned i = 0; i < 3; i++)
			assert_suspect(rig, &write);
		complete(rig, index);
	}
	rig_assert_count(rig, jobs_broken, 0);

	/* Packets of the flow and of others that wait leave unchanged. */
	struct roce_frame own = rig_data(rig, 2, 5, 52), others = rig_data(rig, 0, 5, 50);
	rig_put(rig, 2, &own);
	rig_put(rig, 0, &others);
	write = write_of(rig, 6);
	for (unsigned i = 0; i < 3; i++)
		assert_suspect(rig, &write);
	rig_put(rig, 2, &write);
	assert_int_equal(rig->emitted_count, 2);
	assert_int_equal(rig->emitted[0].port, 0);
	assert_memory_equal(rig->emitted[0].frame.bytes, others.bytes, others.length);
	assert_int_equal(rig->emitted[1].port, 2);
	assert_memory_equal(rig->emitted[1].frame.bytes, own.bytes, own.length);
	rig_assert_count(rig, jobs_broken, 1);

	/* If it is sent again, it is a packet of an unknown flow. */
	rig_put(rig, 2, &write);
	rig_assert_passed(rig, 2, &write);

	/* The flow counts as one that has left: the LEAVEs of the other two end the job. */
	for (unsigned rank = 0; rank < 2; rank++) {
		struct roce_frame leave = rig_control(rig, rank, rank ? 5 : 6, INA_WIRE_LEAVE);

		rig_assert_count(rig, jobs_closed, 0);
		rig_put(rig, rank, &leave);
	}
	rig_assert_count(rig, jobs_closed, 1);
}

/* A host that came back: its new connection with the old key joins when the old flow is evicted. */
static void test_connection_that_ended(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	complete(rig, 1);
	struct roce_frame join = other_join(rig, 0x1234);
	for (unsigned i = 0; i < 4; i++)
		assert_suspect(rig, &join);
	rig_assert_count(rig, jobs_broken, 1);
	rig_put(rig, 2, &join);
	rig_assert_nothing(rig); /* it waits for its peers */
	rig_assert_count(rig, jobs_opened, 2);

	/* It has its own PSNs: no packet is answered with a sum of the old job. */
	struct roce_frame data = rig_data(rig, 2, 1, 9);
	rig_put(rig, 2, &data);
	rig_assert_nothing(rig);
	rig_assert_count(rig, duplicates_answered, 0);
}

/* All flows of a job are evicted: the job ends. */
static void test_all_are_gone(void **state)
{
	struct rig *rig = *state;
	struct roce_frame leave = rig_control(rig, 0, 1, INA_WIRE_LEAVE);

	join_two(rig);
	rig_put(rig, 0, &leave);
	struct roce_frame write = write_of(rig, 1);
	for (unsigned i = 0; i < 4; i++)
		assert_suspect_of(rig, &write, i == 3); /* the LEAVE, raw */
	rig_assert_count(rig, jobs_closed, 1);
	rig_put(rig, 2, &write);
	rig_assert_passed(rig, 2, &write);
}

/* The same in a broken job. */
static void test_in_a_broken_job(void **state)
{
	struct rig *rig = *state;

	rig_join_all(rig);
	struct roce_frame brief = rig_brief(rig, 1, 1, SEND_ONLY, 32);
	rig_put(rig, 1, &brief);
	rig_assert_count(rig, jobs_broken, 1);
	struct roce_frame near = rig_data(rig, 2, WINDOW, 5), far = rig_data(rig, 2, WINDOW + 1, 5);
	rig_put(rig, 2, &near);
	rig_assert_passed(rig, 2, &near);
	for (unsigned i = 0; i < 4; i++)
		assert_suspect(rig, &far);
	rig_put(rig, 2, &near); /* the flow is evicted */
	rig_assert_passed(rig, 2, &near);
	rig_put(rig, 2, &far);
	rig_assert_passed(rig, 2, &far);
	rig_assert_count(rig, jobs_broken, 1);
}

/* A flow that is alive cannot be evicted, however many suspects come. A flow that was silent for a
 * whole patience can. */
static void test_alive(void **state)
{
	struct rig *rig = *state;

	tick(rig, 2);
	rig_join_all(rig);
	struct roce_frame write = write_of(rig, 1);
	for (unsigned i = 0; i < 100; i++)
		assert_suspect(rig, &write);
	tick(rig, 10); /* ticks do not count for patience */
	for (unsigned i = 0; i < 100; i++)
		assert_suspect(rig, &write);
	end_patience(rig, 1); /* perhaps a moment later */
	for (unsigned i = 0; i < 100; i++)
		assert_suspect(rig, &write);
	rig_assert_count(rig, jobs_broken, 0);
	complete(rig, 1);
	end_patience(rig, 1);
	write = write_of(rig, 2);
	for (unsigned i = 0; i < 5; i++)
		assert_suspect(rig, &write);
	end_patience(rig, 1);
	rig_assert_count(rig, jobs_broken, 0);
	assert_suspect(rig, &write); /* no longer the fourth suspect, but the first of the
	                              * silence */
	rig_assert_count(rig, jobs_broken, 1);
	rig_put(rig, 2, &write);
	rig_assert_passed(rig, 2, &write);
}

/* A silent flow is also evicted only by the fourth suspect. */
static void test_silent(void **state)
{
	struct rig *rig = *state;

	tick(rig, 2);
	rig_join_all(rig);
	end_patience(rig, 5);
	struct roce_frame write = write_of(rig, 1);
	for (unsigned i = 0; i < 3; i++)
		assert_suspect(rig, &write);
	rig_assert_count(rig, jobs_broken, 0);
	assert_suspect(rig, &write);
	rig_assert_count(rig, jobs_broken, 1);
}

static void assert_elsewhere(struct rig *rig, const struct roce_frame *frame, unsigned emitted)
{
	uint64_t before = aggregator_counters(rig->aggregator)->elsewhere_dropped;

	rig_put(rig, 1, frame);
	assert_int_equal(rig->emitted_count, emitted);
	rig_assert_count(rig, elsewhere_dropped, before + 1);
}

/*
 * Only packets at its own port end a flow's silence. Packets at another port break its job after
 * one silence, and evict the flow after a second one. No packet is summed during the second one.
 */
static void test_by_another_port(void **state)
{
	struct rig *rig = *state;
	struct roce_frame data, others;

	tick(rig, 2);
	rig_join_all(rig);
	for (unsigned index = 1; index <= 3; index++) {
		data = rig_data(rig, 2, index, 1);
		for (unsigned i = 0; i < 20; i++)
			assert_elsewhere(rig, &data, 0);
		end_patience(rig, 1);
		assert_elsewhere(rig, &data, 0);
		complete(rig, index);
	}
	end_patience(rig, 1);
	others = rig_data(rig, 0, 4, 50);
	rig_put(rig, 0, &others);
	end_patience(rig, 1);
	data = write_of(rig, 4);
	for (unsigned i = 0; i < 3; i++)
		assert_elsewhere(rig, &data, 0);
	rig_assert_count(rig, jobs_broken, 0);
	assert_elsewhere(rig, &data, 1);
	assert_memory_equal(rig->emitted[0].frame.bytes, others.bytes, others.length);
	rig_assert_count(rig, jobs_broken, 1);

	/* The second silence is equally long, and a packet of the flow ends it. */
	for (unsigned i = 0; i < 20; i++)
		assert_elsewhere(rig, &data, 0);
	end_patience(rig, 1);
	struct roce_frame again = rig_data(rig, 2, 3, 1);
	rig_put(rig, 2, &again);
	for (unsigned turn = 0; turn < 2; turn++) {
		for (unsigned i = 0; i < 20; i++)
			assert_elsewhere(rig, &data, 0);
		end_patience(rig, 2);
		assert_elsewhere(rig, &data, 0);
	}
	rig_put(rig, 1, &data);
	rig_assert_passed(rig, 1, &data);
	rig_assert_count(rig, suspects_dropped, 0);

	/* The flow has left: the others' LEAVEs end the job. */
	for (unsigned rank = 0; rank < 2; rank++) {
		struct roce_frame leave = rig_control(rig, rank, rank ? 4 : 5, INA_WIRE_LEAVE);

		rig_assert_count(rig, jobs_closed, 0);
		rig_put(rig, rank, &leave);
	}
	rig_assert_count(rig, jobs_closed, 1);
}

/* After a reset, marked SENDs of each opcode and form are dropped until a whole period has
 * passed. */
static void test_quiet_time(void **state)
{
	struct rig *rig = *state;
	uint64_t dropped = 0;

	for (unsigned ticks = 0; ticks <= 2; ticks++) {
		for (unsigned form = 0; form < 4; form++) {
			rig->forms[0] = frame_forms[form];
			for (unsigned opcode = 0; opcode < 24; opcode++) {
				struct roce_frame data = rig_data(rig, 0, 1, 5);
				unsigned bth_at = frame_bth_at(rig->forms[0]);

				if (opcode >= 0x0D && opcode <= 0x12)
					continue; /* answers */
				data.bytes[bth_at] = (uint8_t)opcode;
				frame_seal(&data);
				rig_put(rig, 0, &data);
				if (ticks < 2 && opcode <= 5) {
					rig_assert_nothing(rig);
					dropped++;
				} else {
					rig_assert_passed(rig, 0, &data);
				}
				rig_assert_count(rig, quiet_dropped, dropped);
			}
		}
		rig->forms[0] = (struct frame_form){false, false};
		struct roce_frame join = rig_control(rig, 0, 0, INA_WIRE_JOIN);
		rig_put(rig, 0, &join);
		rig_assert_nothing(rig);
		dropped += ticks < 2;
		rig_assert_count(rig, quiet_dropped, dropped);
		rig_assert_count(rig, joins_granted, ticks == 2);
		tick(rig, 1);
	}
}

/* Unmarked packets are not dropped, whatever their congestion bits are. Only the DSCP marks a
 * packet. */
static void test_unmarked(void **state)
{
	struct rig *rig = *state;

	for (unsigned tos = 0; tos < 256; tos++) {
		rig->tos = (uint8_t)tos;
		for (unsigned form = 0; form < 4; form++) {
			rig->forms[0] = frame_forms[form];
			struct roce_frame data = rig_data(rig, 0, 1, 5);
			rig_put(rig, 0, &data);
			if (tos >> 2 == 43)
				rig_assert_nothing(rig);
			else
				rig_assert_passed(rig, 0, &data);
		}
	}
	rig_assert_count(rig, quiet_dropped, 16);
}

/*
 * Another tenant's job has had the context before, and its bytes are still in the history. A host
 * that retransmits a short packet as a long one, or a long one as a short one, gets nothing.
 */
static void test_history_of_another_tenant(void **state)
{
	struct rig *rig = *state;
	uint8_t secret[4096];

	rig_join_all(rig);
	memset(secret, 0xA5, sizeof(secret));
	for (unsigned index = 1; index <= WINDOW; index++)
		for (unsigned rank = 0; rank < 3; rank++) {
			struct roce_frame data = rig_data(rig, rank, index, 1);

			memcpy(secret, data.bytes + MESSAGE_AT, 32);
			struct roce_frame whole =
			        rig_frame(rig, rank, index, SEND_ONLY, secret, sizeof(secret));
			rig_put(rig, rank, &whole);
		}
	rig_assert_count(rig, packets_joined, 3 * (WINDOW + 1));
	for (unsigned rank = 0; rank < 3; rank++) {
		struct roce_frame leave = rig_control(rig, rank, WINDOW + 1, INA_WIRE_LEAVE);

		rig_put(rig, rank, &leave);
	}
	rig_assert_count(rig, jobs_closed, 1);

	struct roce_frame join = join_two(rig);
	memset(secret, 0, sizeof(secret));
	memcpy(secret, join.bytes + MESSAGE_AT, 16);
	struct roce_frame longer = rig_frame(rig, 2, 0, SEND_ONLY, secret, sizeof(secret));
	rig_put(rig, 2, &longer);
	rig_assert_nothing(rig);
	struct roce_frame shorter = rig_frame(rig, 2, 0, 1, secret, 16);
	rig_put(rig, 2, &shorter);
	rig_assert_nothing(rig);
	rig_assert_count(rig, answers_differ, 2);
	rig_assert_count(rig, duplicates_answered, 0);
	rig_put(rig, 2, &join);
	assert_int_equal(rig->emitted_count, 1);
	rig_assert_count(rig, duplicates_answered, 1);
}

#define with_three(test) cmocka_unit_test_setup_teardown(test, open_three, close_rig)
#define with_quiet(test) cmocka_unit_test_setup_teardown(test, open_quiet, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        with_three(test_how_far),
	        with_three(test_strangers_break_nothing),
	        with_quiet(test_join_of_another_job),
	        with_quiet(test_message_of_another_job),
	        with_quiet(test_other_requests),
	        with_three(test_unmarked_of_a_flow),
	        with_three(test_damaged),
	        with_three(test_fourth),
	        with_three(test_connection_that_ended),
	        with_three(test_all_are_gone),
	        with_three(test_in_a_broken_job),
	        with_quiet(test_alive),
	        with_quiet(test_silent),
	        with_quiet(test_by_another_port),
	        with_quiet(test_quiet_time),
	        with_quiet(test_unmarked),
	        with_three(test_history_of_another_tenant),
	};
	return cmocka_run_group_tests_name("suspects", tests, NULL, NULL);
}
