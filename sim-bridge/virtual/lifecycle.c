/* SPDX-License-Identifier: Apache-2.0 */
#include "lifecycle.h"

/* The start is at a whole second, so results do not depend on what the hosts did before. */
#define START_AT_NS 1000000000u

void virtual_lose_host(struct virtual_time *time, unsigned port)
{
	if (time->guests[port].device.error)
		virtual_fail(time, "host %u: %s", port, time->guests[port].device.error);
	guest_end(&time->guests[port]);
	fabric_close_host(time->fabric, port);
	virtual_follow_muster(time, muster_forget(&time->muster, port));
}

/* An event: the host's power is cut. */
static void kill_host(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;

	(void)frame;
	time->now_ns = time_ns;
	if (time->guests[id].state != GUEST_GONE)
		virtual_lose_host(time, (unsigned)id);
}

/* An event; `id` is the switch. */
static void reset_aggregator(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct virtual_time *time = context;

	(void)frame;
	time->now_ns = time_ns;
	fabric_reset_engines(time->fabric, (unsigned)id, time_ns);
}

/* An event: a host that has booted receives `go`, so it starts its command. */
static void let_go(void *context, uint64_t time_ns, struct frame *none, uint64_t id)
{
	struct virtual_time *time = context;
	struct frame *frame = frame_new(time->pool);

	(void)none;
	time->now_ns = time_ns;
	if (!frame) {
		virtual_fail(time, "no memory for a frame");
		return;
	}
	muster_write_go(&time->muster, (unsigned)id, frame);
	if (time->guests[id].state != GUEST_GONE && vhost_put(&time->guests[id].device, frame))
		virtual_call(time, &time->guests[id], VHOST_QUEUE_RX);
	frame_drop(frame);
}

void virtual_follow_muster(struct virtual_time *time, enum muster_news news)
{
	if (news == MUSTER_ALL_ENDED)
		virtual_stop(time);
	if (news != MUSTER_ALL_UP || time->start_ns != GUEST_NEVER)
		return;
	time->start_ns = (time->now_ns / START_AT_NS + 1) * START_AT_NS;
	time->fabric->hosts_start_ns = time->start_ns;
	for (unsigned i = 0; i < time->config->reset_count; i++)
		virtual_plan(time, time->start_ns + time->config->resets[i].at_ns, reset_aggregator,
		             NULL, time->config->resets[i].number);
	for (unsigned port = 0; port < time->count; port++) {
		const struct virtual_faults *faults = &time->config->faults[port];

		/* From now on its devices send no more setup messages. */
		time->guests[port].may_hurry = true;
		virtual_plan(time, time->start_ns + faults->start_delay_ns, let_go, NULL, port);
		if (faults->kill_ns != GUEST_NEVER)
			virtual_plan(time, time->start_ns + faults->kill_ns, kill_host, NULL, port);
	}
}
