/* SPDX-License-Identifier: Apache-2.0 */
#include "path.h"

#include <math.h>

#include "lifecycle.h"

static bool is_cut(const struct virtual_time *time, unsigned port)
{
	return fabric_is_cut(time->fabric, port, time->now_ns);
}

/* The time at which the host's processor has finished with a frame that it gets now. */
static uint64_t host_done_ns(struct virtual_time *time, unsigned port, const struct frame *frame)
{
	const double cost_ns =
	        time->config->host_packet_ns + time->config->host_byte_ns * frame->length;

	if (cost_ns == 0)
		return time->now_ns;
	time->busy_until_ns[port] = fmax(time->busy_until_ns[port], (double)time->now_ns) + cost_ns;
	return (uint64_t)ceil(time->busy_until_ns[port]);
}

/* From the host to the switch. */

static void arrive_at_switch(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;

	time->now_ns = time_ns;
	fabric_receive(time->fabric, (unsigned)id, time_ns, frame);
}

static void send_up(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;
	uint64_t arrival_ns;

	time->now_ns = time_ns;
	if (is_cut(time, (unsigned)id) ||
	    !cable_send(&time->fabric->cables[id].wires[LINK_UP], time_ns, frame->length,
	                &arrival_ns) ||
	    !virtual_plan(time, arrival_ns, arrive_at_switch, frame, (unsigned)id))
		frame_drop(frame);
}

static void take_from_host(struct virtual_time *time, unsigned port, struct frame *frame)
{
	struct guest *guest = &time->guests[port];

	if (muster_is_for_us(frame)) {
		virtual_follow_muster(time, muster_hear(&time->muster, port, frame));
		frame_drop(frame);
		return;
	}
	time->frames++;
	guest->counts.rx_frames++;
	guest->counts.rx_bytes += frame->length;
	uint64_t done_ns = host_done_ns(time, port, frame);
	if (done_ns == time->now_ns)
		send_up(time, done_ns, frame, port);
	else if (!virtual_plan(time, done_ns, send_up, frame, port))
		frame_drop(frame);
}

void virtual_empty_queue(struct virtual_time *time, unsigned port)
{
	struct guest *guest = &time->guests[port];
	bool dropped, any = false;

	if (guest->state == GUEST_GONE)
		return;
	for (;;) {
		struct frame *frame = vhost_take(&guest->device, time->pool, &dropped);

		if (frame)
			take_from_host(time, port, frame);
		else if (dropped)
			guest->counts.dropped_no_memory++;
		else
			break;
		any = true;
	}
	if (any)
		virtual_call(time, guest, VHOST_QUEUE_TX);
	if (guest->device.error) {
		virtual_fail(time, "host %u: %s", port, guest->device.error);
		guest_end(guest);
	}
}

/* From the switch's port to the host. */

/* An event: the host's processor has finished with the frame. */
static void put_before_host(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;
	struct guest *guest = &time->guests[id];

	time->now_ns = time_ns;
	if (guest->state == GUEST_GONE || is_cut(time, guest->port)) {
		guest->counts.dropped_closed++;
	} else if (!vhost_put(&guest->device, frame)) {
		guest->counts.dropped_queue_full++;
	} else {
		time->frames++;
		guest->counts.tx_frames++;
		guest->counts.tx_bytes += frame->length;
		virtual_call(time, guest, VHOST_QUEUE_RX);
	}
	frame_drop(frame);
}

static void arrive_at_host(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;

	time->now_ns = time_ns;
	uint64_t done_ns = host_done_ns(time, (unsigned)id, frame);
	if (done_ns == time_ns)
		put_before_host(context, time_ns, frame, id);
	else if (!virtual_plan(time, done_ns, put_before_host, frame, (unsigned)id))
		frame_drop(frame);
}

bool virtual_transmit(void *context, unsigned port, uint64_t time_ns, struct frame *frame)
{
	struct virtual_time *time = context;
	struct cable *cable = &time->fabric->cables[port].wires[LINK_DOWN];
	struct guest *guest = &time->guests[port];
	const uint64_t marking_bytes = time->fabric->config->cables[port].marking_bytes;
	const uint64_t queued = cable_queued_bytes(cable, time_ns);
	uint64_t arrival_ns;

	time->now_ns = time_ns;
	if (guest->state == GUEST_GONE || is_cut(time, port)) {
		guest->counts.dropped_closed++;
	} else if (!cable_send(cable, time_ns, frame->length, &arrival_ns)) {
		guest->counts.dropped_queue_full++;
	} else {
		if (marking_bytes && queued > marking_bytes)
			time->marked_frames += roce_mark_congestion(&frame->roce, frame->bytes);
		if (virtual_plan(time, arrival_ns, arrive_at_host, frame, port))
			return true;
	}
	frame_drop(frame);
	return false;
}
