/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of one job on four hosts, for benches of the switch: host h sends to host h + 1.
 * Messages are 16 packets of int32 elements, and all have message number 1.
 */
#ifndef INA_BENCH_JOB_FRAMES_H
#define INA_BENCH_JOB_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	JOB_HOSTS = 4,
	JOB_MESSAGE_PACKETS = 16,
	JOB_WINDOW = 64, /* packets that a host has under way */
	JOB_PAYLOAD_MAX = 4096,
	JOB_HEADER_BYTES = 54,
	JOB_ICRC_BYTES = 4,
	JOB_FRAME_MAX = JOB_HEADER_BYTES + JOB_PAYLOAD_MAX + JOB_ICRC_BYTES,
	JOB_PSN_BITS = 24,
	JOB_PSN_AT = 51,
};

/*
 * A frame with PSN 0. The iCRC is linear: with another PSN it differs by the exclusive or of
 * `icrc_of_bit` over the PSN's bits.
 */
struct job_frame {
	uint8_t bytes[JOB_FRAME_MAX];
	size_t length;
	uint32_t icrc;
	uint32_t icrc_of_bit[JOB_PSN_BITS];
};

struct job_frames {
	struct job_frame join[JOB_HOSTS];
	struct job_frame data[JOB_HOSTS][JOB_MESSAGE_PACKETS];
	struct job_frame acknowledgement[JOB_HOSTS];
	/* The payloads of the sums, except for headers and trailers. */
	uint8_t sum[JOB_MESSAGE_PACKETS][JOB_PAYLOAD_MAX];
};

/* `payload_bytes` is the path MTU, 1024 or 4096. */
void job_frames_make(struct job_frames *frames, unsigned payload_bytes);

/* The iCRC of the frame with this PSN. */
uint32_t job_frame_icrc(const struct job_frame *frame, uint32_t psn);

/* Writes a PSN into the headers of a frame. */
void job_frame_put_psn(uint8_t *headers, uint32_t psn);

/* True if the elements of packet `place` of a message are those that were sent, or their sum. */
bool job_elements_are(const uint8_t *payload, unsigned payload_bytes, unsigned place,
                      const uint8_t *expected);

#endif
