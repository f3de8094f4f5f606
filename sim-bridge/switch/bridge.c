/* SPDX-License-Identifier: Apache-2.0 */
/* In the order of a frame's way through the switch, from the last step to the first. */
#include "bridge.h"

#include <assert.h>
#include <string.h>

#include "common/headers.h"
#include "roce.h"

enum { CALENDAR_EVENTS = 65536 };

/*
 * How long the engine may hold frames back for those of other ports. Hosts that share one core run
 * some milliseconds each at a time; a lost packet's retransmission, which comes alone, waits that
 * long.
 */
#define HOLD_NS 4000000u

/* The far end of a down link: the host's socket. */
static void leave(void *context, unsigned port, uint64_t time_ns, struct frame *frame)
{
	struct bridge *bridge = context;

	/* It is the host's as soon as it is transmitted; the capture must see it all the same. */
	frame_share(frame);
	if (bridge->transmit(bridge->transmit_context, port, time_ns, frame) && bridge->capture)
		capture_frame(bridge->capture, time_ns, port, CAPTURE_OUT, frame);
	frame_drop(frame);
}

/* An event: the frame has come to its port, `id`. */
static void send_now(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct bridge *bridge = context;

	bridge->time_ns = time_ns;
	link_put(&bridge->links[id][LINK_DOWN], time_ns, frame);
}

static void send_to(struct bridge *bridge, unsigned port, struct frame *frame)
{
	const struct event event = {
	        .time_ns = bridge->time_ns + bridge->config.forwarding_ns,
	        .run = send_now,
	        .context = bridge,
	        .frame = frame,
	        .id = port,
	};

	if (bridge->config.forwarding_ns == 0) {
		send_now(bridge, bridge->time_ns, frame, port);
	} else if (!calendar_add(&bridge->calendar, &event)) {
		bridge->no_memory_frames++;
		frame_drop(frame);
	}
}

static void flood(struct bridge *bridge, unsigned ingress, struct frame *frame)
{
	bridge->flooded_frames++;
	for (unsigned port = 0; port < bridge->config.ports; port++)
		if (port != ingress)
			send_to(bridge, port, frame_share(frame));
	frame_drop(frame);
}

/* By the destination address, as if it had just come in on `ingress`. */
static void forward(struct bridge *bridge, unsigned ingress, struct frame *frame)
{
	int port = forwarding_find(&bridge->forwarding, frame->bytes);

	if (port == FORWARDING_FLOOD) {
		flood(bridge, ingress, frame);
	} else if (port == (int)ingress) {
		bridge->filtered_frames++;
		frame_drop(frame);
	} else {
		send_to(bridge, (unsigned)port, frame);
	}
}

void bridge_aggregated(void *context, unsigned port, const uint8_t *bytes, size_t length)
{
	struct bridge *bridge = context;
	struct frame *frame = frame_new(bridge->pool);

	assert(length >= FRAME_BYTES_MIN && length <= FRAME_BYTES_MAX);
	if (bridge->config.is_virtual)
		bridge->time_ns = bridge->engine->time_ns;
	if (!frame) {
		bridge->no_memory_frames++;
		return;
	}
	frame->length = (unsigned)length;
	memcpy(frame->bytes, bytes, length);
	forward(bridge, port, frame);
}

static bool is_steered(const struct bridge *bridge, const struct frame *frame)
{
	uint64_t off_after = bridge->config.off_after;

	if (off_after && bridge->steered_frames >= off_after)
		return false;
	return bridge->engine && roce_is_rc(frame) && roce_is_send(frame) &&
	       (bridge->config.steering == BRIDGE_STEER_ALL || roce_is_marked(frame));
}

static void run_engine(struct bridge *bridge)
{
	bridge->engine->operations->run(bridge->engine);
	memset(bridge->is_waiting, 0, sizeof(bridge->is_waiting));
}

/* Quiet times end at their multiples, so one takes two ends. */
enum { QUIET_TICKS = 2 };

static uint64_t ticks_until(const struct bridge *bridge, uint64_t time_ns)
{
	return bridge->config.quiet_ns ? time_ns / bridge->config.quiet_ns : 0;
}

/*
 * The engine learns of the ends of quiet times when a frame comes: before that it has no use for
 * them, so an idle switch need not wake for them. After two there is no quiet time left to end.
 */
static void catch_up(struct bridge *bridge, uint64_t time_ns)
{
	const uint64_t ticks = ticks_until(bridge, time_ns);

	for (unsigned i = 0; i < QUIET_TICKS && i < ticks - bridge->ticks; i++)
		bridge->engine->operations->tick(bridge->engine);
	bridge->ticks = ticks;
}

void bridge_reset_engine(struct bridge *bridge, uint64_t time_ns)
{
	struct engine *engine = bridge->renew(bridge->renew_context);

	if (!engine)
		return;
	bridge->engine = engine;
	bridge->ticks = ticks_until(bridge, time_ns);
	bridge->engine_resets++;
	bridge->hold_end_ns = CALENDAR_NEVER;
	memset(bridge->is_waiting, 0, sizeof(bridge->is_waiting));
}

static void end_hold(void *context, uint64_t time_ns, struct frame *frame, uint64_t id);

static void plan_end_of_hold(struct bridge *bridge, uint64_t time_ns)
{
	const struct event event = {.time_ns = time_ns, .run = end_hold, .context = bridge};

	bridge->is_holding = calendar_add(&bridge->calendar, &event);
	if (!bridge->is_holding)
		run_engine(bridge);
}

static void end_hold(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct bridge *bridge = context;

	(void)frame;
	(void)id;
	bridge->time_ns = time_ns;
	bridge->is_holding = false;
	if (bridge->hold_end_ns > time_ns && bridge->hold_end_ns != CALENDAR_NEVER)
		plan_end_of_hold(bridge, bridge->hold_end_ns);
	else if (bridge->hold_end_ns <= time_ns)
		run_engine(bridge);
}

/* True: there is more to do. */
static bool work(struct bridge *bridge)
{
	enum engine_state state = bridge->engine->operations->work(bridge->engine);

	if (state != ENGINE_HOLDING)
		bridge->hold_end_ns = CALENDAR_NEVER;
	else if (bridge->hold_end_ns == CALENDAR_NEVER)
		bridge->hold_end_ns = bridge->time_ns + HOLD_NS;
	if (state == ENGINE_IDLE)
		memset(bridge->is_waiting, 0, sizeof(bridge->is_waiting));
	if (state == ENGINE_HOLDING && !bridge->is_holding)
		plan_end_of_hold(bridge, bridge->hold_end_ns);
	return state == ENGINE_BUSY;
}

/* A request that is not steered must not overtake SENDs of its connection that are. */
static void keep_order(struct bridge *bridge, unsigned port, const struct frame *frame)
{
	if (bridge->is_waiting[port] && roce_is_rc(frame) && !roce_is_answer(frame))
		run_engine(bridge);
}

/* The far end of an up link: the switch. */
static void enter(void *context, unsigned port, uint64_t time_ns, struct frame *frame)
{
	struct bridge *bridge = context;

	bridge->time_ns = time_ns;
	if (bridge->capture)
		capture_frame(bridge->capture, time_ns, port, CAPTURE_IN, frame);
	forwarding_learn(&bridge->forwarding, frame->bytes + PACKET_SOURCE_MAC_AT, port);
	if (!is_steered(bridge, frame)) {
		keep_order(bridge, port, frame);
		forward(bridge, port, frame);
		return;
	}
	if (bridge->config.reset_every && bridge->steered_frames > 0 &&
	    bridge->steered_frames % bridge->config.reset_every == 0)
		bridge_reset_engine(bridge, time_ns);
	bridge->steered_frames++;
	if (bridge->config.stuck_after && bridge->steered_frames > bridge->config.stuck_after) {
		frame_drop(frame);
		return;
	}
	catch_up(bridge, time_ns);
	bridge->is_waiting[port] = !bridge->config.is_virtual;
	bridge->engine->time_ns = time_ns;
	bridge->engine->operations->put(bridge->engine, port, frame->bytes, frame->length);
	frame_drop(frame);
}

int bridge_open(struct bridge *bridge, const struct bridge_config *config, struct frame_pool *pool,
                bridge_transmit *transmit, void *transmit_context)
{
	assert(config->ports <= BRIDGE_PORTS_MAX);
	memset(bridge, 0, sizeof(*bridge));
	bridge->config = *config;
	bridge->pool = pool;
	bridge->hold_end_ns = CALENDAR_NEVER;
	bridge->transmit = transmit;
	bridge->transmit_context = transmit_context;
	if (calendar_open(&bridge->calendar, CALENDAR_EVENTS) != 0)
		return -1;
	for (unsigned port = 0; port < config->ports; port++) {
		link_init(&bridge->links[port][LINK_UP], port, LINK_UP, config->seed,
		          &config->faults[LINK_UP], &bridge->calendar, enter, bridge);
		link_init(&bridge->links[port][LINK_DOWN], port, LINK_DOWN, config->seed,
		          &config->faults[LINK_DOWN], &bridge->calendar, leave, bridge);
	}
	return 0;
}

void bridge_start(struct bridge *bridge, uint64_t time_ns)
{
	bridge->ticks = ticks_until(bridge, time_ns);
}

void bridge_close(struct bridge *bridge)
{
	for (unsigned port = 0; port < bridge->config.ports; port++)
		for (unsigned side = 0; side < LINK_SIDES; side++)
			link_close(&bridge->links[port][side]);
	calendar_close(&bridge->calendar);
}

void bridge_receive(struct bridge *bridge, unsigned port, uint64_t time_ns, struct frame *frame)
{
	assert(frame->length >= FRAME_BYTES_MIN);
	bridge->time_ns = time_ns;
	link_put(&bridge->links[port][LINK_UP], time_ns, frame);
}

void bridge_close_port(struct bridge *bridge, unsigned port)
{
	forwarding_forget_port(&bridge->forwarding, port);
}

static void plan_ageing(struct bridge *bridge);

/* An event. What is under way into the engine counts as heard. */
static void age_jobs(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct bridge *bridge = context;

	(void)frame;
	(void)id;
	bridge->time_ns = time_ns;
	run_engine(bridge);
	bridge->engine->time_ns = time_ns;
	bridge->engine->operations->age(bridge->engine);
	plan_ageing(bridge);
}

/*
 * The next end of a time-to-live, counted from now: a bridge that was held up for longer than
 * that must not take its own absence for the hosts' silence.
 */
static void plan_ageing(struct bridge *bridge)
{
	bridge->is_ageing =
	        calendar_add(&bridge->calendar,
	                     &(struct event){.time_ns = bridge->now_ns + bridge->config.job_ttl_ns,
	                                     .run = age_jobs,
	                                     .context = bridge});
}

/* Also where the calendar was too full for it. */
static void keep_ageing(struct bridge *bridge)
{
	if (bridge->engine && bridge->config.job_ttl_ns && !bridge->is_ageing)
		plan_ageing(bridge);
}

bool bridge_advance(struct bridge *bridge, uint64_t time_ns)
{
	bridge->now_ns = time_ns;
	keep_ageing(bridge);
	calendar_run(&bridge->calendar, time_ns);
	bridge->time_ns = time_ns;
	return bridge->engine && work(bridge);
}

uint64_t bridge_step(struct bridge *bridge, uint64_t until_ns)
{
	struct engine *engine = bridge->engine;

	keep_ageing(bridge);
	if (calendar_next(&bridge->calendar) < until_ns)
		until_ns = calendar_next(&bridge->calendar);
	if (engine && engine->operations->advance) {
		uint64_t reached_ns = engine->operations->advance(engine, until_ns);

		/* What it has emitted may come to something before until_ns. */
		if (reached_ns < until_ns)
			return bridge->now_ns = reached_ns;
	}
	if (until_ns != CALENDAR_NEVER) {
		bridge->now_ns = until_ns;
		calendar_run(&bridge->calendar, until_ns);
	}
	return until_ns;
}

void bridge_finish(struct bridge *bridge)
{
	if (bridge->engine)
		run_engine(bridge);
}
