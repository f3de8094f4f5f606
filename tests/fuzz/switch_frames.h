/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events at a switch, from a fuzzer's bytes: steps of time, and frames of traffic.h. This is
 * separate from fuzz_bridge.c, because both sim-bridge and tests/model have a `struct frame`.
 *
 *   step = time and event: 1 byte (enum switch_what in bits 0-1, time in the others); for a port
 *   that
 *          closes 1 byte more; for a frame as in traffic.h
 */
#ifndef INA_FUZZ_SWITCH_FRAMES_H
#define INA_FUZZ_SWITCH_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum switch_what { SWITCH_FRAME, SWITCH_FRAME_TOO, SWITCH_WAITS, SWITCH_CLOSES };

struct switch_step {
	enum switch_what what;
	uint64_t time_ns; /* passed since the last step */
	unsigned port;    /* the port that closes */
};

struct switch_frames;

/* `input` must outlive it. Never NULL: without memory the program ends. */
struct switch_frames *switch_frames_open(const uint8_t *input, size_t length);
void switch_frames_close(struct switch_frames *frames);
bool switch_frames_left(const struct switch_frames *frames);
struct switch_step switch_frames_step(struct switch_frames *frames);

/* Writes the step's frame into `bytes`, which has room for 9216, and its port; returns its length,
 * or 0. */
unsigned switch_frames_frame(struct switch_frames *frames, uint8_t *bytes, unsigned *port);

#endif
