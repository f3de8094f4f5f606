/* SPDX-License-Identifier: Apache-2.0 */
/* Times grow in powers of two, from nothing to about 8 ms: past every limit of the switch. */
#include "switch_frames.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "traffic.h"

struct switch_frames {
	struct traffic traffic;
};

struct switch_frames *switch_frames_open(const uint8_t *input, size_t length)
{
	struct switch_frames *frames = malloc(sizeof(*frames));

	FUZZ_CHECK(frames);
	traffic_start(&frames->traffic, input, length);
	return frames;
}

void switch_frames_close(struct switch_frames *frames)
{
	free(frames);
}

bool switch_frames_left(const struct switch_frames *frames)
{
	return frames->traffic.left > 0;
}

struct switch_step switch_frames_step(struct switch_frames *frames)
{
	uint8_t byte = traffic_take(&frames->traffic);
	unsigned time = byte >> 2 & 0xF;
	struct switch_step step = {
	        .what = (enum switch_what)(byte & 3),
	        .time_ns = time ? UINT64_C(256) << time : 0,
	};

	if (step.what == SWITCH_CLOSES)
		step.port = traffic_take(&frames->traffic);
	return step;
}

unsigned switch_frames_frame(struct switch_frames *frames, uint8_t *bytes, unsigned *port)
{
	struct frame frame = {0};

	do { /* the switch has its own clock */
		if (!traffic_next(&frames->traffic, &frame, port))
			return 0;
	} while (frame.length == 0);
	memcpy(bytes, frame.bytes, frame.length);
	return (unsigned)frame.length;
}
