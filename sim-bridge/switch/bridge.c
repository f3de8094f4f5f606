/* SPDX-License-Identifier: Apache-2.0 */
/* The functions follow a frame's way through the switch, from the last step to the first. */
#include "bridge.h"

#include <assert.h>
#include <string.h>

#include "common/random.h"
#include "wire/ina_wire.h"
#include "flow.h"

/*
 * How long the engine may hold frames back to wait for frames of other ports. Hosts that share a
 * core run for some milliseconds each. The cost is that a lost packet's retransmission, which
 * comes alone, waits for this long.
 */
#define HOLD_NS 4000000u

/* An event: the frame has reached its port, `id`. */
static void send_now(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct bridge *bridge = context;

	bridge->time_ns = time_ns;
	bridge->network->send(bridge->network->send_context, bridge, (unsigned)id, time_ns, frame);
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
	} else if (!calendar_add(bridge->network->calendar, &event)) {
		bridge->no_memory_frames++;
		frame_drop(frame);
	}
}

static void flood(struct bridge *bridge, unsigned ingress, struct frame *frame)
{
	const struct topology_routes *routes = bridge->network->routes;
	const unsigned *cables = routes->topology->switches[bridge->number].cables;

	bridge->flooded_frames++;
	for (unsigned port = 0; port < bridge->ports; port++)
		if (port != ingress && routes->in_tree[cables[port]])
			send_to(bridge, port, frame_share(frame));
	frame_drop(frame);
}

/* True for a SEND that is meant for aggregators, whether or not this switch has one. */
static bool is_for_aggregation(const struct bridge *bridge, const struct frame *frame)
{
	return frame->roce.is_send &&
	       (bridge->config.steering == BRIDGE_STEER_ALL || frame->roce.is_marked);
}

/*
 * True if a frame that leaves by this port can reach the host without a cable that switches avoid.
 * The recursion is shallow, since paths only go up and then down.
 */
static bool leads_to(const struct bridge_network *network, unsigned number, unsigned port,
                     unsigned host, uint64_t time_ns)
{
	const struct topology *topology = network->routes->topology;
	const struct topology_switch *from = &topology->switches[number];
	const struct topology_cable *cable = &topology->cables[from->cables[port]];

	if (network->is_avoided(network->send_context, from->cables[port], time_ns))
		return false;
	if (cable->has_host)
		return true;
	const unsigned next = port >= from->first_uplink ? cable->upper : cable->lower;
	const struct topology_route *route = topology_route(network->routes, next, host);

	for (unsigned i = 0; i < route->count; i++)
		if (leads_to(network, next, route->ports[i], host, time_ns))
			return true;
	return false;
}

/* Removes the ports that do not lead to the host at present, unless no port would be left. */
static void leave_out(const struct bridge *bridge, unsigned host, struct topology_route *route)
{
	struct topology_route left = {0};

	for (unsigned i = 0; i < route->count; i++)
		if (leads_to(bridge->network, bridge->number, route->ports[i], host,
		             bridge->time_ns))
			left.ports[left.count++] = route->ports[i];
	if (left.count)
		*route = left;
}

/*
 * True for aggregation traffic and its acknowledgements. So an acknowledgement shares its queues
 * only with messages of the same tree.
 */
static bool follows_tree(const struct bridge *bridge, const struct frame *frame)
{
	return is_for_aggregation(bridge, frame) ||
	       (frame->roce.is_answer && frame->roce.is_marked);
}

/*
 * If several ports lead to a host by paths of the same length, all frames of a flow take the same
 * one. The flows of a job must meet, so the port of aggregation traffic does not depend on
 * addresses.
 */
static unsigned choose_port(const struct bridge *bridge, const struct topology_route *route,
                            const struct frame *frame)
{
	if (route->count == 1)
		return route->ports[0];
	if (follows_tree(bridge, frame))
		return route->ports[frame->roce.source_port % route->count];
	return route->ports[ina_mix(flow_of(frame) + bridge->number) % route->count];
}

/* Forwards by the destination address, as if the frame had just come in on port `ingress`. */
static void forward(struct bridge *bridge, unsigned ingress, struct frame *frame)
{
	const int host = forwarding_find(bridge->network->hosts, frame->bytes);

	if (host == FORWARDING_FLOOD) {
		flood(bridge, ingress, frame);
		return;
	}
	struct topology_route route =
	        *topology_route(bridge->network->routes, bridge->number, (unsigned)host);

	if (route.count > 1 && bridge->network->is_avoided)
		leave_out(bridge, (unsigned)host, &route);
	const unsigned port = route.count ? choose_port(bridge, &route, frame) : ingress;

	if (port == ingress) {
		bridge->filtered_frames++;
		frame_drop(frame);
	} else {
		send_to(bridge, port, frame);
	}
}

void bridge_aggregated(void *context, unsigned port, const uint8_t *bytes, size_t length)
{
	struct bridge *bridge = context;
	struct frame *frame = frame_new(bridge->network->pool);

	assert(length >= FRAME_BYTES_MIN && length <= FRAME_BYTES_MAX);
	if (bridge->network->is_virtual)
		bridge->time_ns = bridge->engine->time_ns;
	if (!frame) {
		bridge->no_memory_frames++;
		return;
	}
	frame->length = (unsigned)length;
	memcpy(frame->bytes, bytes, length);
	frame_read(frame);
	forward(bridge, port, frame);
}

void bridge_report(void *context, const struct report_event *event)
{
	const struct bridge *bridge = context;

	if (bridge->network->tell)
		bridge->network->tell(bridge->network->tell_context, bridge, event);
}

bool bridge_find_job(const struct bridge *bridge, uint64_t job_id, struct report_job *job)
{
	const struct engine *engine = bridge->engine;

	if (!engine || !engine->operations->read_job)
		return false;
	for (unsigned i = 0; i < engine->jobs; i++)
		if (engine->operations->read_job(engine, i, job) && job->job_id == job_id)
			return true;
	return false;
}

/* True if the frame is the JOIN of a job that has no context. */
static bool is_new_job(const struct bridge *bridge, const struct frame *frame)
{
	struct ina_wire_header join;
	struct report_job job;

	if (!frame->roce.is_join || !bridge->engine->operations->read_job)
		return false;
	memcpy(&join, frame->bytes + frame->roce.payload_at, sizeof(join));
	return !bridge_find_job(bridge, join.job_id, &job);
}

static bool is_steered(struct bridge *bridge, const struct frame *frame)
{
	uint64_t off_after = bridge->config.off_after;

	if (off_after && bridge->steered_frames >= off_after)
		return false;
	if (!bridge->engine || !is_for_aggregation(bridge, frame))
		return false;
	if (!bridge->network->is_draining || !is_new_job(bridge, frame))
		return true;
	bridge->drained_joins++;
	return false;
}

static void run_engine(struct bridge *bridge)
{
	bridge->engine->operations->run(bridge->engine);
	memset(bridge->is_waiting, 0, sizeof(bridge->is_waiting));
}

/*
 * Quiet times and patience end at multiples of their interval. So after two such ends, every
 * time that was running has ended.
 */
enum { ENDS = 2 };

static uint64_t ends_until(uint64_t interval_ns, uint64_t time_ns)
{
	return interval_ns ? time_ns / interval_ns : 0;
}

/* Counts all ends until `time_ns` as known to the engine. */
static void begin_ticks(struct bridge *bridge, uint64_t time_ns)
{
	bridge->quiet_ends = ends_until(bridge->config.quiet_ns, time_ns);
	bridge->patience_ends = ends_until(bridge->config.patience_ns, time_ns);
}

/*
 * Tells the engine about the ends since the last frame. The engine does not need them before a
 * frame comes, so an idle switch never has to wake for them. More than two make no difference.
 */
static void catch_up(struct bridge *bridge, uint64_t time_ns)
{
	const struct engine_operations *operations = bridge->engine->operations;
	const uint64_t quiet_ends = bridge->quiet_ends, patience_ends = bridge->patience_ends;

	begin_ticks(bridge, time_ns);
	for (unsigned i = 0; i < ENDS && i < bridge->quiet_ends - quiet_ends; i++)
		operations->tick(bridge->engine);
	for (unsigned i = 0; i < ENDS && i < bridge->patience_ends - patience_ends; i++)
		operations->patience(bridge->engine);
}

void bridge_update(struct bridge *bridge, uint64_t time_ns)
{
	if (!bridge->engine)
		return;
	bridge->time_ns = time_ns;
	run_engine(bridge);
	catch_up(bridge, time_ns);
}

void bridge_set_times(struct bridge *bridge, const struct bridge_config *from, uint64_t time_ns)
{
	bridge_update(bridge, time_ns);
	bridge->config.job_ttl_ns = from->job_ttl_ns;
	bridge->config.idle_ttl_ns = from->idle_ttl_ns;
	bridge->config.quiet_ns = from->quiet_ns;
	bridge->config.patience_ns = from->patience_ns;
	begin_ticks(bridge, time_ns);
}

void bridge_reset_engine(struct bridge *bridge, uint64_t time_ns)
{
	struct engine *engine = bridge->network->renew(bridge->network->renew_context, bridge);

	if (!engine)
		return;
	bridge->engine = engine;
	begin_ticks(bridge, time_ns);
	bridge->lacked = 0;
	bridge->engine_resets++;
	bridge->hold_end_ns = CALENDAR_NEVER;
	memset(bridge->is_waiting, 0, sizeof(bridge->is_waiting));
}

static void end_hold(void *context, uint64_t time_ns, struct frame *frame, uint64_t id);

static void plan_end_of_hold(struct bridge *bridge, uint64_t time_ns)
{
	const struct event event = {.time_ns = time_ns, .run = end_hold, .context = bridge};

	bridge->is_holding = calendar_add(bridge->network->calendar, &event);
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

bool bridge_work(struct bridge *bridge, uint64_t time_ns)
{
	bridge->time_ns = time_ns;
	if (!bridge->engine)
		return false;
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

/* An RC request that is not steered must not overtake steered SENDs of its connection. */
static void keep_order(struct bridge *bridge, unsigned port, const struct frame *frame)
{
	if (bridge->is_waiting[port] && frame->roce.is_rc && !frame->roce.is_answer)
		run_engine(bridge);
}

void bridge_enter(struct bridge *bridge, unsigned port, uint64_t time_ns, struct frame *frame)
{
	bridge->time_ns = time_ns;
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
	/* The sum leaves by this port, and its receiver could not see a mark set there. */
	if (bridge->network->is_congested(bridge->network->send_context, bridge, port, time_ns))
		bridge->congested_frames += roce_mark_congestion(&frame->roce, frame->bytes);
	catch_up(bridge, time_ns);
	bridge->is_waiting[port] = !bridge->network->is_virtual;
	bridge->engine->time_ns = time_ns;
	bridge->engine->operations->put(bridge->engine, port, frame->bytes, frame->length);
	frame_drop(frame);
}

void bridge_open(struct bridge *bridge, const struct bridge_config *config, unsigned number,
                 struct bridge_network *network)
{
	*bridge = (struct bridge){
	        .config = *config,
	        .number = number,
	        .ports = network->routes->topology->switches[number].ports,
	        .network = network,
	        .hold_end_ns = CALENDAR_NEVER,
	};
}

void bridge_start(struct bridge *bridge, uint64_t time_ns)
{
	begin_ticks(bridge, time_ns);
	bridge->aged_ns = time_ns;
}

/* Processes the packets that wait in the engine first, so they count for their jobs. */
static void age_jobs(struct bridge *bridge, uint64_t time_ns)
{
	bridge->time_ns = time_ns;
	run_engine(bridge);
	bridge->engine->time_ns = time_ns;
	bridge->engine->operations->age(bridge->engine);
	bridge->aged_ns = bridge->network->now_ns;
}

static uint64_t end_of_ttl(const struct bridge *bridge)
{
	return bridge->aged_ns + bridge->config.job_ttl_ns;
}

static void plan_ageing(struct bridge *bridge);

/*
 * An event: a time-to-live has ended. Jobs age if the longer time-to-live has passed, or if JOINs
 * have found no free context since the last event.
 */
static void look_at_age(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct bridge *bridge = context;
	struct ina_counters counters;

	(void)frame;
	(void)id;
	bridge->engine->operations->read_counters(bridge->engine, &counters);
	if (counters.contexts_lacked != bridge->lacked ||
	    bridge->network->now_ns >= end_of_ttl(bridge))
		age_jobs(bridge, time_ns);
	bridge->lacked = counters.contexts_lacked;
	plan_ageing(bridge);
}

/*
 * Plans the next end of a time-to-live. It counts from now: if the bridge was itself held up for
 * longer than that, it must not conclude that the hosts were silent.
 */
static void plan_ageing(struct bridge *bridge)
{
	const uint64_t look_ns = bridge->network->now_ns + bridge->config.idle_ttl_ns;
	const uint64_t end_ns = end_of_ttl(bridge);
	const bool is_idle_first = bridge->config.idle_ttl_ns > 0 && look_ns < end_ns;

	bridge->is_ageing =
	        calendar_add(bridge->network->calendar,
	                     &(struct event){.time_ns = is_idle_first ? look_ns : end_ns,
	                                     .run = look_at_age,
	                                     .context = bridge});
}

/* Also plans the event again if the calendar was full at the last attempt. */
void bridge_keep_ageing(struct bridge *bridge)
{
	if (bridge->engine && bridge->config.job_ttl_ns && !bridge->is_ageing)
		plan_ageing(bridge);
}

void bridge_finish(struct bridge *bridge)
{
	if (bridge->engine)
		run_engine(bridge);
}
