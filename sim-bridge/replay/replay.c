/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <string.h>

#define NS_PER_S UINT64_C(1000000000)

/*
 * Longer than any frame waits in a switch or on a cable: the longest --delay is 10 s in each
 * direction.
 */
#define AFTER_LAST_NS (30 * NS_PER_S)

void replay_open(struct replay *replay, struct recording *recording, struct frame_pool *pool)
{
	*replay = (struct replay){
	        .recording = recording,
	        .pool = pool,
	        .epoch_ns = recording_start_ns(recording) / NS_PER_S * NS_PER_S,
	};
}

bool replay_transmit(void *context, unsigned host, uint64_t time_ns, struct frame *frame)
{
	struct replay *replay = context;
	struct port_counts *counts = &replay->counts[host];
	struct cable *cable = &replay->fabric->cables[host].wires[LINK_DOWN];
	const uint64_t since_start_ns = time_ns - replay->fabric->start_ns;
	const uint64_t marking_bytes = replay->fabric->config->cables[host].marking_bytes;
	const uint64_t queued = cable_queued_bytes(cable, since_start_ns);
	uint64_t arrival_ns;
	const bool is_sent = cable_send(cable, since_start_ns, frame->length, &arrival_ns);

	if (is_sent) {
		if (marking_bytes && queued > marking_bytes)
			roce_mark_congestion(&frame->roce, frame->bytes);
		counts->tx_frames++;
		counts->tx_bytes += frame->length;
	} else {
		counts->dropped_queue_full++;
	}
	frame_drop(frame);
	return is_sent;
}

static void receive(struct replay *replay, unsigned host, uint64_t time_ns,
                    const struct frame *recorded)
{
	struct port_counts *counts = &replay->counts[host];
	struct frame *frame = frame_new(replay->pool);

	if (!frame) {
		counts->dropped_no_memory++;
		return;
	}
	counts->rx_frames++;
	counts->rx_bytes += recorded->length;
	frame->length = recorded->length;
	memcpy(frame->bytes, recorded->bytes, recorded->length);
	fabric_receive(replay->fabric, host, time_ns, frame);
}

void replay_run(struct replay *replay)
{
	struct fabric *fabric = replay->fabric;
	const struct frame *frame;
	unsigned port;
	uint64_t time_ns = recording_start_ns(replay->recording) - replay->epoch_ns;

	fabric_start(fabric, time_ns);
	while (!fabric_error(fabric) &&
	       (frame = recording_next(replay->recording, &port, &time_ns))) {
		time_ns -= replay->epoch_ns;
		while (fabric_step_before(fabric, time_ns) < time_ns && !fabric_error(fabric))
			;
		/* In the capture of a fabric, higher numbers are cables between switches. */
		if (port < fabric->topology->host_count)
			receive(replay, port, time_ns, frame);
	}
	time_ns += AFTER_LAST_NS;
	while (fabric_step(fabric, time_ns) < time_ns && !fabric_error(fabric))
		;
}
