/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The speed of the C model without any sockets: a job of four hosts, from memory.
 *
 *     model_alone PAYLOAD_BYTES MESSAGES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "job_frames.h"
#include "model/aggregator.h"

struct output {
	const struct job_frames *frames;
	unsigned payload_bytes;
	unsigned place; /* of the packet that is being put */
	uint64_t sums, wrong;
};

/* Implements aggregator_emit. */
static void take(void *context, unsigned port, const uint8_t *frame, size_t length)
{
	struct output *output = context;

	(void)port;
	if (length != JOB_HEADER_BYTES + output->payload_bytes + JOB_ICRC_BYTES)
		return; /* the JOIN's */
	output->sums++;
	output->wrong += !job_elements_are(frame + JOB_HEADER_BYTES, output->payload_bytes,
	                                   output->place, output->frames->sum[output->place]);
}

static void put(struct aggregator *aggregator, unsigned port, struct job_frame *frame, uint32_t psn)
{
	const uint32_t icrc = job_frame_icrc(frame, psn);

	job_frame_put_psn(frame->bytes, psn);
	memcpy(frame->bytes + frame->length - JOB_ICRC_BYTES, &icrc, JOB_ICRC_BYTES);
	aggregator_put(aggregator, port, frame->bytes, frame->length);
}

int main(int argc, char **argv)
{
	static struct job_frames frames;
	const unsigned payload_bytes = argc == 3 ? (unsigned)atoi(argv[1]) : 0;
	struct output output = {.frames = &frames, .payload_bytes = payload_bytes};
	const struct aggregator_config config = {
	        .ports = JOB_HOSTS, .jobs = 1, .window_packets = JOB_WINDOW};
	struct aggregator *aggregator = aggregator_open(&config, take, &output);
	uint32_t psn = 1;

	if (payload_bytes != 1024 && payload_bytes != 4096) {
		fprintf(stderr, "usage: model_alone 1024|4096 MESSAGES\n");
		return 2;
	}
	job_frames_make(&frames, payload_bytes);
	for (unsigned host = 0; host < JOB_HOSTS; host++)
		put(aggregator, host, &frames.join[host], 0);
	const int64_t begin_ns = ina_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	for (int message = 0; message < atoi(argv[2]); message++)
		for (output.place = 0; output.place < JOB_MESSAGE_PACKETS; output.place++, psn++)
			for (unsigned host = 0; host < JOB_HOSTS; host++)
				put(aggregator, host, &frames.data[host][output.place],
				    psn & 0xFFFFFF);
	const double cpu_s = (double)(ina_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns) / 1e9;

	printf("{\"frames\": %llu, \"bytes\": %llu, \"wrong\": %llu, \"cpu_s\": %.6f}\n",
	       (unsigned long long)output.sums,
	       (unsigned long long)output.sums * frames.data[0][0].length,
	       (unsigned long long)output.wrong, cpu_s);
	aggregator_close(aggregator);
	return output.wrong != 0;
}
