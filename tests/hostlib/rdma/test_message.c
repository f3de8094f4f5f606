/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting, framing and checking messages, compared with docs/protocol.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "hostlib/rdma/message.h"

static const struct ina_message_context CONTEXT = {
        .job_id = 0x1122334455667788,
        .rank_count = 4,
        .rank = 2,
        .type = INA_WIRE_DATA,
        .number_type = INA_WIRE_FLOAT32,
        .operation = INA_WIRE_SUM,
};

static void cuts(void **state)
{
	(void)state;
	assert_int_equal(ina_message_count(0, 64), 1);
	assert_int_equal(ina_message_count(4, 64), 1);
	assert_int_equal(ina_message_count(64, 64), 1);
	assert_int_equal(ina_message_count(68, 64), 2);
	assert_int_equal(ina_message_length(0, 64, 0), 0);
	assert_int_equal(ina_message_length(68, 64, 0), 64);
	assert_int_equal(ina_message_length(68, 64, 1), 4);
	assert_int_equal(ina_message_length(128, 64, 1), 64);
	assert_int_equal(ina_message_length((1ull << 40) + 4, 1u << 16, 1ull << 24), 4);
}

static void sizes(void **state)
{
	(void)state;
	assert_int_equal(ina_message_bytes(0), 48);
	assert_int_equal(ina_message_bytes(4), 64);
	assert_int_equal(ina_message_bytes(16), 64);
	assert_int_equal(ina_message_bytes(20), 80);
	/* 16 full packets of 4096 bytes. */
	assert_int_equal(ina_message_bytes(16 * 4096 - 48), 16 * 4096);
}

/* The bytes of a header and a trailer, written from the tables. */
static void frame(void **state)
{
	static const uint8_t header[32] = {
	        0x49, 0x4E, 1,    2,                            /* magic, version, DATA */
	        2,    1,    4,    0,                            /* float32, sum, 4 ranks */
	        0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* job */
	        7,    0,    0,    0,    20,   0,    0,    0,    /* message 7, 20 bytes */
	        0x04, 0x03, 0x02, 0x01, 0,    0,    0,    0,    /* remaining, exponent */
	};
	static const uint8_t trailer[16] = {1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0};
	struct ina_slot slot;

	(void)state;
	memset(&slot, 0, sizeof(slot));
	ina_message_frame(&slot, &CONTEXT, 7, 20, 0x01020304, 0);
	assert_memory_equal(&slot.header, header, sizeof(header));
	assert_memory_equal(&slot.trailer, trailer, sizeof(trailer));
}

static void gathers(void **state)
{
	(void)state;
	for (uint32_t length = 0; length <= 64; length += 4) {
		struct ina_slot slot;
		struct ibv_sge sges[INA_MESSAGE_SGES];
		uint32_t elements[16];
		int count = ina_message_sges(sges, &slot, 11, elements, 22, length);
		const struct ibv_sge *last = &sges[count - 1];
		uint32_t total = 0;

		assert_int_equal(count, length > 0 ? 3 : 2);
		for (int i = 0; i < count; i++)
			total += sges[i].length;
		assert_int_equal(total, ina_message_bytes(length));
		assert_int_equal(total % INA_WIRE_ALIGNMENT, 0);
		assert_int_equal(sges[0].lkey, 11);
		assert_int_equal(last->lkey, 11);
		assert_true(last->addr + last->length == (uintptr_t)&slot + sizeof(slot));
		if (length > 0) {
			assert_int_equal(sges[1].lkey, 22);
			assert_true(sges[1].addr == (uintptr_t)elements);
		}
	}
}

/* A sum of four ranks is valid; with a change in any byte of header or trailer, or of the length,
 * it is not.
 */
static void checks(void **state)
{
	struct ina_wire_header expected = ina_message_header(&CONTEXT, 7, 20, 100);
	struct ina_slot sum = {
	        .header = expected,
	        .trailer = {.contributors = 4, .message_number = 7, .rank = 3},
	};

	(void)state;
	assert_int_equal(ina_message_check(&sum, 80, &expected, 4, 3), INA_MESSAGE_GOOD);
	assert_int_equal(ina_message_check(&sum, 64, &expected, 4, 3), INA_MESSAGE_FOREIGN);
	for (size_t i = 0; i < sizeof(sum.header); i++) {
		struct ina_slot changed = sum;

		((uint8_t *)&changed.header)[i] ^= 0x10;
		assert_int_equal(ina_message_check(&changed, 80, &expected, 4, 3),
		                 INA_MESSAGE_FOREIGN);
	}
	for (size_t i = 0; i < sizeof(sum.trailer); i++) {
		struct ina_slot changed = sum;
		bool flags = i >= offsetof(struct ina_wire_trailer, flags) &&
		             i < offsetof(struct ina_wire_trailer, message_number);

		((uint8_t *)&changed.trailer)[i] ^= 1;
		assert_int_equal(ina_message_check(&changed, 80, &expected, 4, 3),
		                 flags ? INA_MESSAGE_GOOD : INA_MESSAGE_RAW);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(cuts),    cmocka_unit_test(sizes),  cmocka_unit_test(frame),
	        cmocka_unit_test(gathers), cmocka_unit_test(checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
