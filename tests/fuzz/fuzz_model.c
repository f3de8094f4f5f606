/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of the aggregator under any traffic of two ports (traffic.h): no crash, no read past a
 * frame, and consistent counters after each frame.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/aggregator.h"
#include "fuzz.h"
#include "traffic.h"

enum {
	HEADERS_BYTES_MAX = 14 + 4 + 40 + 8 + 12, /* Ethernet, VLAN tag, IPv6, UDP, BTH */
	PAYLOAD_BYTES_MAX = 4096,
	ICRC_BYTES = 4,
	QUAD_BYTES = 16,
};

struct watch {
	const struct roce_frame *input; /* the frame that was put in last */
	uint64_t frames_in;
	uint64_t emitted;
	unsigned port;
};

/* A frame that leaves with a payload made by the aggregator is one that a receiver accepts. */
static void check_made(const struct roce_frame *frame)
{
	const unsigned payload_at = frame_payload_at(frame_form_of(frame->bytes));

	FUZZ_CHECK(frame_is_intact(frame->bytes, frame->length));
	FUZZ_CHECK((frame->length - payload_at - ICRC_BYTES) % QUAD_BYTES == 0);
}

static void on_frame(void *context, unsigned port, const uint8_t *bytes, size_t length)
{
	struct watch *watch = context;
	struct roce_frame frame = {.length = length};

	FUZZ_CHECK(port < TRAFFIC_PORTS);
	watch->emitted++;
	if (port == watch->port && length == watch->input->length &&
	    memcmp(bytes, watch->input->bytes, length) == 0)
		return;
	FUZZ_CHECK(length <= HEADERS_BYTES_MAX + PAYLOAD_BYTES_MAX + ICRC_BYTES);
	memcpy(frame.bytes, bytes, length);
	check_made(&frame);
}

static void check_counters(const struct ina_counters *c, const struct watch *watch)
{
	uint64_t gone = c->packets_joined + c->packets_raw;

	FUZZ_CHECK(c->frames_in == watch->frames_in);
	uint64_t others = c->duplicates_answered + c->duplicates_old;

	/* Every frame that comes out is of one kind. A packet past a gap is replaced by a probe, or
	 * passes. */
	FUZZ_CHECK(watch->emitted <= c->frames_passed + gone + others + c->gaps);
	FUZZ_CHECK(watch->emitted >= c->frames_passed + gone + others);
	/* Each packet that was taken has left, or waits, or was forgotten with its job. */
	FUZZ_CHECK(c->packets_taken >= gone);
	FUZZ_CHECK(c->packets_taken <=
	           gone + (c->jobs_closed + TRAFFIC_CONTEXTS) * TRAFFIC_PORTS * TRAFFIC_WINDOW);
	FUZZ_CHECK(c->bytes_joined % QUAD_BYTES == 0);
	FUZZ_CHECK(c->bytes_joined >= c->packets_joined * QUAD_BYTES);
	FUZZ_CHECK(c->bytes_joined <= c->packets_joined * PAYLOAD_BYTES_MAX);
	FUZZ_CHECK(c->jobs_closed <= c->jobs_opened);
	FUZZ_CHECK(c->jobs_opened <= c->jobs_closed + TRAFFIC_CONTEXTS);
	FUZZ_CHECK(c->jobs_broken <= c->jobs_opened);
	FUZZ_CHECK(c->joins_granted >= c->jobs_opened);
	FUZZ_CHECK(c->joins_granted <= c->jobs_opened * TRAFFIC_PORTS);
	FUZZ_CHECK(c->ecn_marked <= gone + others + c->gaps);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	static struct traffic traffic;
	static struct roce_frame frame;
	struct aggregator_config config = traffic_aggregator_config(input, size);
	struct watch watch = {.input = &frame};
	struct aggregator *aggregator = aggregator_open(&config, on_frame, &watch);

	FUZZ_CHECK(aggregator);
	traffic_start(&traffic, input, size);
	while (traffic_next(&traffic, &frame, &watch.port)) {
		if (frame.length == 0) {
			(watch.port ? aggregator_tick : aggregator_age)(aggregator);
			if (watch.port)
				aggregator_patience(aggregator);
			continue;
		}
		/* Memory of exactly this size: the sanitizer notices reads past the end. */
		uint8_t *exact = malloc(frame.length);

		FUZZ_CHECK(exact);
		memcpy(exact, frame.bytes, frame.length);
		watch.frames_in++;
		aggregator_put(aggregator, watch.port, exact, frame.length);
		free(exact);
		check_counters(aggregator_counters(aggregator), &watch);
	}
	aggregator_close(aggregator);
	return 0;
}
