/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina-bridge replay: any file as the capture IN, through a switch with a model of the aggregator.
 *
 * A file that is refused gets one line. Frames of a file that is taken have ports and times in
 * order, no more of them come out than a file holds, and no memory is lost.
 */
#define _GNU_SOURCE /* memfd_create() */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/topology/open.h"
#include "fuzz.h"
#include "sim-bridge/replay/replay.h"

enum { PORTS_MAX = 16, POOL_FRAMES = 16, RECORD_BYTES_LEAST = 16 };

static bool is_line(const char *text)
{
	return text[0] && !strchr(text, '\n');
}

/* A second reader of the file: what it must say of every frame. */
static uint64_t read_all(struct recording *recording)
{
	const struct frame *frame;
	unsigned port;
	uint64_t time_ns, last_ns = 0, frames = 0;
	char report[1024];

	while ((frame = recording_next(recording, &port, &time_ns))) {
		FUZZ_CHECK(frame->length >= FRAME_BYTES_MIN && frame->length <= FRAME_BYTES_MAX);
		FUZZ_CHECK(port < recording_ports(recording));
		FUZZ_CHECK(time_ns >= last_ns && time_ns >= recording_start_ns(recording));
		last_ns = time_ns;
		frames++;
	}
	FUZZ_CHECK(recording_is_whole(recording, report, sizeof(report)) || is_line(report));
	return frames;
}

static unsigned free_frames(struct frame_pool *pool)
{
	unsigned count = 0;

	while (frame_new(pool))
		count++;
	return count;
}

static uint64_t run(struct recording *recording, unsigned ports)
{
	static struct replay replay;
	static struct fabric fabric;
	struct frame_pool pool;
	struct fabric_config *config = calloc(1, sizeof(*config));
	char error[200] = "";
	uint64_t frames = 0;

	FUZZ_CHECK(config && frame_pool_open(&pool, POOL_FRAMES) == 0);
	config->topology = topology_open_single(ports);
	config->is_virtual = true;
	FUZZ_CHECK(config->topology);
	for (unsigned i = 0; i < ports; i++)
		config->cables[i].cut_ns = CALENDAR_NEVER;
	replay_open(&replay, recording, &pool);
	FUZZ_CHECK(fabric_open(&fabric, config, &pool, replay_transmit, &replay) == 0);
	fabric.bridges[0].engine =
	        model_aggregator_open(&(struct engine_config){.ports = ports}, bridge_aggregated,
	                              &fabric.bridges[0], error, sizeof(error));
	FUZZ_CHECK(fabric.bridges[0].engine);
	replay.fabric = &fabric;
	replay_run(&replay);
	FUZZ_CHECK(calendar_next(&fabric.calendar) == CALENDAR_NEVER);
	for (unsigned i = 0; i < ports; i++)
		frames += replay.counts[i].rx_frames;
	fabric.bridges[0].engine->operations->close(fabric.bridges[0].engine);
	fabric_close(&fabric);
	FUZZ_CHECK(free_frames(&pool) == POOL_FRAMES);
	frame_pool_close(&pool);
	topology_close(config->topology);
	free(config);
	return frames;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	char error[1024] = "", path[64];
	const int fd = memfd_create("recording", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0 && write(fd, input, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	struct recording *recording = recording_open(path, error, sizeof(error));

	if (!recording) {
		FUZZ_CHECK(is_line(error));
		close(fd);
		return 0;
	}
	const uint64_t frames = read_all(recording);
	const unsigned ports = recording_ports(recording);

	FUZZ_CHECK(frames > 0 && frames <= size / RECORD_BYTES_LEAST && ports > 0);
	recording_close(recording);
	recording = recording_open(path, error, sizeof(error));
	FUZZ_CHECK(recording && recording_ports(recording) == ports);
	if (ports >= 2 && ports <= PORTS_MAX)
		FUZZ_CHECK(run(recording, ports) == frames);
	recording_close(recording);
	close(fd);
	return 0;
}
