/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One switch, or several in a fabric with loops, with everything in it except sockets: its parser,
 * its table of addresses, faults, calendar, capture and statistics, and a model of the aggregator
 * at each. It gets any frames at any time.
 *
 *   input = faults and fabric (8 bytes), then steps
 *   step  = 1 byte: bits 0-1: event (enum switch_event); bits 2-5: time since the last step;
 *           then a frame as in traffic.h, or for SWITCH_CLOSES 1 byte: the port
 *
 * Times grow in powers of two, from nothing to about 8 ms: past every limit of the switch.
 *
 * No memory is lost: every frame is back in the pool at the end. The capture can be read back and
 * holds the frames that were counted; the statistics are JSON.
 */
#define _GNU_SOURCE /* memfd_create() */
#include <fcntl.h>
#include <jansson.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sanitizer/asan_interface.h>

#include "common/topology/open.h"
#include "sim-bridge/switch/fabric.h"
#include "fuzz.h"
#include "sim-bridge/cli/stats.h"
#include "traffic.h"

enum {
	PORTS = 3, /* one of them has no rank */
	POOL_FRAMES = 40,
	CAPTURE_BYTES_MAX = 1 << 16, /* small enough to get full */
	FAULT_BYTES = 8,
	STEPS_MAX = 300,
	INTERFACES_MAX = PORTS + 2 * 6, /* in the fabric below */
};

struct totals {
	struct frame_pool *pool;
	uint64_t transmitted;
	struct frame *kept; /* kept like the frames of a host that does not read */
};

struct frame *__real_frame_new(struct frame_pool *pool);
struct frame *__wrap_frame_new(struct frame_pool *pool);

/* A frame is in use again: all of it may be written. */
struct frame *__wrap_frame_new(struct frame_pool *pool)
{
	struct frame *frame = __real_frame_new(pool);

	if (frame)
		ASAN_UNPOISON_MEMORY_REGION(frame->bytes, sizeof(frame->bytes));
	return frame;
}

/* The sanitizer notices accesses past the frame's length, although the memory exists. */
static void fence(struct frame *frame)
{
	ASAN_POISON_MEMORY_REGION(frame->bytes + frame->length, FRAME_BYTES_MAX - frame->length);
}

static bool on_transmit(void *context, unsigned port, uint64_t time_ns, struct frame *frame)
{
	struct totals *totals = context;

	(void)time_ns;
	FUZZ_CHECK(port < PORTS);
	FUZZ_CHECK(frame->references > 0 && frame->pool == totals->pool);
	FUZZ_CHECK(frame->length >= FRAME_BYTES_MIN && frame->length <= FRAME_BYTES_MAX);
	totals->transmitted++;
	if (totals->transmitted % 5 == 0) { /* the host's queue is full */
		frame_drop(frame);
		return false;
	}
	if (totals->kept)
		frame_drop(totals->kept);
	totals->kept = frame;
	return true;
}

static double probability(uint8_t byte)
{
	return byte == 255 ? 1 : byte < 128 ? 0 : (byte - 128) / 256.0;
}

/* Two bytes for each side and fault would be more than necessary: both sides share them. */
static void configure(struct options *options, const uint8_t *bytes)
{
	struct link_faults faults = {
	        .loss = probability(bytes[0]),
	        .duplicate = probability(bytes[1]),
	        .reorder = probability(bytes[2]),
	        .corrupt = probability(bytes[3]),
	        .delay_ns = bytes[4] < 128 ? 0 : bytes[4] * 1000u,
	};

	char error[TOPOLOGY_ERROR_BYTES];
	struct fabric_config *fabric = &options->fabric;

	memset(options, 0, sizeof(*options));
	fabric->topology =
	        bytes[7] & 1 ? topology_open("clos:2x3x1", error) : topology_open_single(PORTS);
	FUZZ_CHECK(fabric->topology && fabric->topology->host_count == PORTS);
	fabric->seed = bytes[6];
	for (unsigned i = 0; i < fabric->topology->switch_count; i++)
		fabric->bridges[i].steering = bytes[5] & 1 ? BRIDGE_STEER_ALL : BRIDGE_STEER_MARKED;
	for (unsigned i = 0; i < fabric->topology->cable_count; i++) {
		fabric->cables[i] = (struct cable_config){.faults = {faults, faults}};
		fabric->is_captured[i] = true;
	}
}

/* Reads the capture back: it has as many records as were counted, each with a port and a time. */
static void check_capture(int fd, const struct capture_totals *totals)
{
	char error[PCAP_ERRBUF_SIZE];
	char path[64];
	struct pcap_pkthdr *header;
	const u_char *bytes;
	uint64_t frames = 0;
	int status;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	pcap_t *pcap =
	        pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, error);
	FUZZ_CHECK(pcap);
	FUZZ_CHECK(pcap_datalink(pcap) == DLT_LINUX_SLL2);
	while ((status = pcap_next_ex(pcap, &header, &bytes)) == 1) {
		FUZZ_CHECK(header->caplen == header->len && header->len >= 20);
		FUZZ_CHECK(bytes[7] >= 1 && bytes[7] <= INTERFACES_MAX); /* the interface */
		FUZZ_CHECK(bytes[10] == 0 || bytes[10] == 4);            /* in, or out */
		FUZZ_CHECK((uint64_t)header->ts.tv_usec < 1000000000u);  /* nanoseconds */
		frames++;
	}
	FUZZ_CHECK(status == PCAP_ERROR_BREAK);
	pcap_close(pcap);
	FUZZ_CHECK(frames == totals->frames);
	FUZZ_CHECK(totals->bytes <= CAPTURE_BYTES_MAX);
	FUZZ_CHECK((uint64_t)lseek(fd, 0, SEEK_END) == totals->bytes);
}

/* Writes the statistics and reads them back. */
static void check_stats(const struct options *options, const struct fabric *fabric)
{
	static const struct port_counts counts;
	const struct port_counts *ports[BRIDGE_PORTS_MAX];
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	FUZZ_CHECK(file);
	for (unsigned port = 0; port < PORTS; port++)
		ports[port] = &counts;
	FUZZ_CHECK(stats_write(file, options, fabric, ports, NULL));
	json_t *object = json_loads(text, 0, NULL);
	FUZZ_CHECK(object);
	FUZZ_CHECK(json_array_size(json_object_get(object, "ports")) == PORTS);
	uint64_t steered_frames = 0;
	for (unsigned i = 0; i < fabric->topology->switch_count; i++)
		steered_frames += fabric->bridges[i].steered_frames;
	FUZZ_CHECK((uint64_t)json_integer_value(json_object_get(object, "steered_frames")) ==
	           steered_frames);
	json_decref(object);
	free(text);
}

/* A frame that came from `port`: the fabric knows its source now, unless that cannot be learned. */
static void check_learned(const struct fabric *fabric, const uint8_t *mac, unsigned port)
{
	static const uint8_t nobody[6];

	if (!(mac[0] & 1) && memcmp(mac, nobody, sizeof(nobody)) != 0)
		FUZZ_CHECK(forwarding_find(&fabric->hosts, mac) == (int)port);
	else
		FUZZ_CHECK(forwarding_find(&fabric->hosts, mac) == FORWARDING_FLOOD);
}

static bool is_without_faults(const struct fabric *fabric)
{
	const struct link_faults *faults = &fabric->config->cables[0].faults[LINK_UP];

	return faults->loss == 0 && faults->duplicate == 0 && faults->reorder == 0 &&
	       faults->corrupt == 0 && faults->delay_ns == 0;
}

/* The next frame of the input. The ends of times in it mean nothing here: the switch has a clock.
 */
static struct frame *read_frame(struct frame_pool *pool, struct traffic *traffic, unsigned *port)
{
	struct frame *frame = frame_new(pool);
	struct roce_frame next = {.length = 0};

	if (!frame)
		return NULL; /* as port_read() would have dropped it */
	while (next.length == 0 && traffic_next(traffic, &next, port))
		;
	if (next.length < FRAME_BYTES_MIN) {
		frame_drop(frame);
		return NULL;
	}
	frame->length = (unsigned)next.length;
	memcpy(frame->bytes, next.bytes, next.length);
	return frame;
}

static void one_step(struct fabric *fabric, struct traffic *traffic, uint64_t *time_ns)
{
	const uint8_t step = traffic_take(traffic);
	const unsigned event = step & 3, time = step >> 2 & 0xF;

	*time_ns += time ? UINT64_C(256) << time : 0;
	if (event == SWITCH_CLOSES) {
		fabric_close_host(fabric, traffic_take(traffic) % PORTS);
	} else if (event == SWITCH_WAITS) {
		fabric_advance(fabric, *time_ns);
	} else {
		unsigned port = 0;
		struct frame *frame = read_frame(fabric->network.pool, traffic, &port);
		uint8_t source[6];

		if (!frame)
			return;
		memcpy(source, frame->bytes + 6, sizeof(source));
		fence(frame);
		fabric_receive(fabric, port % PORTS, *time_ns, frame);
		if (is_without_faults(fabric))
			check_learned(fabric, source, port % PORTS);
	}
	FUZZ_CHECK(!fabric_error(fabric));
}

static unsigned free_frames(struct frame_pool *pool)
{
	unsigned count = 0;

	while (frame_new(pool))
		count++;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	static struct options options;
	static struct fabric fabric;
	static struct traffic traffic;
	struct frame_pool pool;
	struct totals totals = {.pool = &pool};
	uint64_t time_ns = 0;
	char error[200] = "";
	char path[64];

	if (size < FAULT_BYTES)
		return 0;
	configure(&options, input);
	const unsigned switch_count = options.fabric.topology->switch_count;
	FUZZ_CHECK(frame_pool_open(&pool, POOL_FRAMES) == 0);
	FUZZ_CHECK(fabric_open(&fabric, &options.fabric, &pool, on_transmit, &totals) == 0);
	for (unsigned i = 0; i < switch_count; i++) {
		struct bridge *bridge = &fabric.bridges[i];

		bridge->engine =
		        model_aggregator_open(&(struct engine_config){.ports = PORTS},
		                              bridge_aggregated, bridge, error, sizeof(error));
		FUZZ_CHECK(bridge->engine);
	}
	int fd = memfd_create("capture", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fabric.capture =
	        capture_open(path, CAPTURE_COOKED, CAPTURE_BYTES_MAX, 0, error, sizeof(error));
	FUZZ_CHECK(fd >= 0 && fabric.capture);

	traffic_start(&traffic, input + FAULT_BYTES, size - FAULT_BYTES);
	for (unsigned steps = 0; traffic.left > 0 && steps < STEPS_MAX; steps++)
		one_step(&fabric, &traffic, &time_ns);
	fabric_advance(&fabric, time_ns + 1000000000u);
	FUZZ_CHECK(calendar_next(&fabric.calendar) == CALENDAR_NEVER);
	check_stats(&options, &fabric);

	struct capture_totals written = capture_totals(fabric.capture);
	FILE *saved = fuzz_silence();
	FUZZ_CHECK(capture_close(fabric.capture, error, sizeof(error)));
	stderr = saved;
	check_capture(fd, &written);
	close(fd);
	for (unsigned i = 0; i < switch_count; i++)
		fabric.bridges[i].engine->operations->close(fabric.bridges[i].engine);
	fabric_close(&fabric);
	topology_close(options.fabric.topology);
	if (totals.kept)
		frame_drop(totals.kept);
	FUZZ_CHECK(free_frames(&pool) == POOL_FRAMES);
	frame_pool_close(&pool);
	return 0;
}
