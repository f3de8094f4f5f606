/* SPDX-License-Identifier: Apache-2.0 */
/* The cables, in the order in which a frame passes them; then time. */
#include "fabric.h"

#include <assert.h>
#include <stdlib.h>

#include "common/headers.h"
#include "sources.h"

enum { CALENDAR_EVENTS = 65536 };

/*
 * A capture's interfaces: that of host 0 is 0. The interfaces of the cables between switches follow
 * those of the hosts: two for each cable, the lower end first.
 */
static unsigned interface_of(const struct fabric *fabric, unsigned cable, enum link_side end)
{
	const unsigned hosts = fabric->topology->host_count;

	return cable < hosts ? cable : hosts + 2 * (cable - hosts) + (end == LINK_DOWN);
}

/* `end`: LINK_UP is the lower end, where upward frames enter; LINK_DOWN the upper end. */
static void capture(struct fabric *fabric, unsigned cable, enum link_side end, uint64_t time_ns,
                    enum capture_direction direction, const struct frame *frame)
{
	const unsigned interface = interface_of(fabric, cable, end);
	struct capture *of_cable = fabric->cables[cable].capture;

	if (fabric->capture && fabric->config->is_captured[cable])
		capture_frame(fabric->capture, time_ns, interface, direction, frame);
	if (of_cable && end == LINK_DOWN)
		capture_frame(of_cable, time_ns, interface, direction, frame);
}

/* A frame has gone up a host's cable and enters the switch. */
static void enter(struct fabric *fabric, unsigned cable, uint64_t time_ns, struct frame *frame)
{
	const struct topology_cable *at = fabric->cables[cable].at;
	struct bridge *bridge = &fabric->bridges[at->upper];

	capture(fabric, cable, LINK_DOWN, time_ns, CAPTURE_IN, frame);
	const int before =
	        forwarding_learn(&fabric->hosts, frame->bytes + PACKET_SOURCE_MAC_AT, at->lower);

	if (before != FORWARDING_FLOOD && before != (int)at->lower)
		sights_take_move(&fabric->sights, (unsigned)before, at->lower, time_ns, frame);
	const bool is_foreign = !sources_admit(&fabric->sources, at->lower, frame);

	sights_take(&fabric->sights, at->lower, time_ns, is_foreign, frame);
	if (is_foreign) {
		bridge->foreign_joins++;
		frame_drop(frame);
		return;
	}
	bridge_enter(bridge, at->upper_port, time_ns, frame);
}

/* A frame has gone down a host's cable: fabric_transmit carries it to the host. */
static void leave(struct fabric *fabric, unsigned cable, uint64_t time_ns, struct frame *frame)
{
	/* transmit() takes a reference, and the capture needs the frame after that. */
	frame_share(frame);
	if (fabric->transmit(fabric->transmit_context, fabric->cables[cable].at->lower, time_ns,
	                     frame))
		capture(fabric, cable, LINK_DOWN, time_ns, CAPTURE_OUT, frame);
	frame_drop(frame);
}

bool fabric_is_cut(const struct fabric *fabric, unsigned cable, uint64_t time_ns)
{
	const struct cable_config *config = &fabric->config->cables[cable];

	return fabric->hosts_start_ns != CALENDAR_NEVER && config->cut_ns != CALENDAR_NEVER &&
	       time_ns >= fabric->hosts_start_ns + config->cut_ns &&
	       time_ns - fabric->hosts_start_ns < config->mend_ns;
}

/* Returns true, and drops the frame, if the cable is out. */
static bool is_lost_in_cut(struct fabric *fabric, unsigned cable, enum link_side side,
                           uint64_t time_ns, struct frame *frame)
{
	if (!fabric_is_cut(fabric, cable, time_ns))
		return false;
	fabric->cables[cable].counts[side].dropped_cut++;
	frame_drop(frame);
	return true;
}

/*
 * An event: a frame arrives at the far end of a cable between switches, after going up (LINK_UP)
 * or down. It is an event because the receiving switch may be in the middle of sending. `id` is
 * LINK_SIDES times the cable, plus the side.
 */
static void arrive(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct fabric *fabric = context;
	const unsigned cable = (unsigned)(id / LINK_SIDES);
	const enum link_side side = (enum link_side)(id % LINK_SIDES);
	const struct topology_cable *at = fabric->cables[cable].at;

	if (is_lost_in_cut(fabric, cable, side, time_ns, frame))
		return;
	capture(fabric, cable, side == LINK_UP ? LINK_DOWN : LINK_UP, time_ns, CAPTURE_IN, frame);
	if (side == LINK_UP)
		bridge_enter(&fabric->bridges[at->upper], at->upper_port, time_ns, frame);
	else
		bridge_enter(&fabric->bridges[at->lower], at->lower_port, time_ns, frame);
}

/* After the link's faults, the frame enters the queue of a cable between switches. */
static void send_on(struct fabric *fabric, unsigned number, enum link_side side, uint64_t time_ns,
                    struct frame *frame)
{
	struct fabric_cable *cable = &fabric->cables[number];
	struct trunk_counts *counts = &cable->counts[side];
	const uint64_t since_start_ns = time_ns - fabric->start_ns;
	const uint64_t queued = cable_queued_bytes(&cable->wires[side], since_start_ns);
	struct event event = {
	        .run = arrive,
	        .context = fabric,
	        .frame = frame,
	        .id = (uint64_t)number * LINK_SIDES + side,
	};

	if (is_lost_in_cut(fabric, number, side, time_ns, frame))
		return;
	if (!cable_send(&cable->wires[side], since_start_ns, frame->length, &event.time_ns)) {
		counts->dropped_queue_full++;
		frame_drop(frame);
		return;
	}
	if (cable->config->marking_bytes && queued > cable->config->marking_bytes)
		counts->marked += roce_mark_congestion(&frame->roce, frame->bytes);
	counts->frames++;
	counts->bytes += frame->length;
	capture(fabric, number, side, time_ns, CAPTURE_OUT, frame);
	event.time_ns += fabric->start_ns;
	if (!calendar_add(&fabric->calendar, &event)) {
		counts->no_memory++;
		frame_drop(frame);
	}
}

static void deliver_up(void *context, unsigned cable, uint64_t time_ns, struct frame *frame)
{
	struct fabric *fabric = context;

	if (fabric->cables[cable].at->has_host)
		enter(fabric, cable, time_ns, frame);
	else
		send_on(fabric, cable, LINK_UP, time_ns, frame);
}

static void deliver_down(void *context, unsigned cable, uint64_t time_ns, struct frame *frame)
{
	struct fabric *fabric = context;

	if (fabric->cables[cable].at->has_host)
		leave(fabric, cable, time_ns, frame);
	else
		send_on(fabric, cable, LINK_DOWN, time_ns, frame);
}

static enum link_side side_of(const struct topology_switch *from, unsigned port)
{
	return port < from->first_uplink ? LINK_DOWN : LINK_UP;
}

/* Implements bridge_is_congested. */
static bool is_congested(void *context, const struct bridge *bridge, unsigned port,
                         uint64_t time_ns)
{
	const struct fabric *fabric = context;
	const struct topology_switch *from = &fabric->topology->switches[bridge->number];
	const struct fabric_cable *cable = &fabric->cables[from->cables[port]];
	const uint64_t mark = cable->config->marking_bytes;

	return mark && cable_queued_bytes(&cable->wires[side_of(from, port)],
	                                  time_ns - fabric->start_ns) > mark;
}

/* Implements bridge_send. */
static void send_out(void *context, const struct bridge *bridge, unsigned port, uint64_t time_ns,
                     struct frame *frame)
{
	struct fabric *fabric = context;
	const struct topology_switch *from = &fabric->topology->switches[bridge->number];

	link_put(&fabric->cables[from->cables[port]].links[side_of(from, port)], time_ns, frame);
}

void fabric_receive(struct fabric *fabric, unsigned host, uint64_t time_ns, struct frame *frame)
{
	assert(frame->length >= FRAME_BYTES_MIN);
	frame_read(frame);
	link_put(&fabric->cables[host].links[LINK_UP], time_ns, frame);
}

void fabric_close_host(struct fabric *fabric, unsigned host)
{
	forwarding_forget_port(&fabric->hosts, host);
	forwarding_forget_port(&fabric->sources, host);
}

static void open_cable(struct fabric *fabric, unsigned number)
{
	struct fabric_cable *cable = &fabric->cables[number];

	cable->at = &fabric->topology->cables[number];
	cable->config = &fabric->config->cables[number];
	for (unsigned side = 0; side < LINK_SIDES; side++) {
		link_init(&cable->links[side], number, (enum link_side)side, fabric->config->seed,
		          &cable->config->faults[side], &fabric->calendar,
		          side == LINK_UP ? deliver_up : deliver_down, fabric);
		/* A host's own queue is unbounded: its device waits. */
		cable->wires[side] = (struct cable){
		        .bits_per_second = cable->config->bits_per_second,
		        .delay_ns = cable->config->delay_ns,
		        .limit_bytes = cable->at->has_host && side == LINK_UP
		                               ? 0
		                               : cable->config->queue_bytes,
		};
	}
}

/*
 * How long a cable must be out until all switches avoid it. Routing protocols need about this
 * long, and moving a plug from one socket to another takes less.
 */
#define REROUTE_NS 250000000u

/* Implements bridge_is_avoided. */
static bool is_avoided(void *context, unsigned cable, uint64_t time_ns)
{
	const struct fabric *fabric = context;

	return fabric_is_cut(fabric, cable, time_ns) &&
	       time_ns - fabric->hosts_start_ns - fabric->config->cables[cable].cut_ns >=
	               REROUTE_NS;
}

static bool may_be_cut(const struct fabric_config *config, unsigned cables)
{
	for (unsigned i = 0; i < cables; i++)
		if (config->cables[i].cut_ns != CALENDAR_NEVER)
			return true;
	return false;
}

int fabric_open(struct fabric *fabric, const struct fabric_config *config, struct frame_pool *pool,
                fabric_transmit *transmit, void *transmit_context)
{
	const struct topology *topology = config->topology;

	*fabric = (struct fabric){
	        .config = config,
	        .topology = topology,
	        .transmit = transmit,
	        .transmit_context = transmit_context,
	        .hosts_start_ns = CALENDAR_NEVER,
	};
	fabric->bridges = calloc(topology->switch_count, sizeof(*fabric->bridges));
	fabric->cables = calloc(topology->cable_count, sizeof(*fabric->cables));
	if (!fabric->bridges || !fabric->cables ||
	    topology_routes_open(&fabric->routes, topology) != 0 ||
	    calendar_open(&fabric->calendar, CALENDAR_EVENTS) != 0) {
		fabric_close(fabric);
		return -1;
	}
	fabric->network = (struct bridge_network){
	        .pool = pool,
	        .calendar = &fabric->calendar,
	        .hosts = &fabric->hosts,
	        .routes = &fabric->routes,
	        .is_virtual = config->is_virtual,
	        .send = send_out,
	        .is_congested = is_congested,
	        .is_avoided = may_be_cut(config, topology->cable_count) ? is_avoided : NULL,
	        .send_context = fabric,
	};
	for (unsigned i = 0; i < topology->switch_count; i++)
		bridge_open(&fabric->bridges[i], &config->bridges[i], i, &fabric->network);
	for (unsigned i = 0; i < topology->cable_count; i++)
		open_cable(fabric, i);
	return 0;
}

void fabric_close(struct fabric *fabric)
{
	for (unsigned i = 0; fabric->cables && i < fabric->topology->cable_count; i++)
		for (unsigned side = 0; side < LINK_SIDES; side++)
			link_close(&fabric->cables[i].links[side]);
	calendar_close(&fabric->calendar);
	topology_routes_close(&fabric->routes);
	free(fabric->cables);
	free(fabric->bridges);
	fabric->cables = NULL;
	fabric->bridges = NULL;
}

void fabric_start(struct fabric *fabric, uint64_t time_ns)
{
	fabric->start_ns = time_ns;
	for (unsigned i = 0; i < fabric->topology->switch_count; i++)
		bridge_start(&fabric->bridges[i], time_ns);
}

void fabric_reset_engines(struct fabric *fabric, unsigned number, uint64_t time_ns)
{
	for (unsigned i = 0; i < fabric->topology->switch_count; i++)
		if (fabric->bridges[i].engine && (number == i || number == TOPOLOGY_NONE))
			bridge_reset_engine(&fabric->bridges[i], time_ns);
}

static void keep_ageing(struct fabric *fabric)
{
	for (unsigned i = 0; i < fabric->topology->switch_count; i++)
		bridge_keep_ageing(&fabric->bridges[i]);
}

bool fabric_advance(struct fabric *fabric, uint64_t time_ns)
{
	bool has_more = false;

	fabric->network.now_ns = time_ns;
	keep_ageing(fabric);
	calendar_run(&fabric->calendar, time_ns);
	for (unsigned i = 0; i < fabric->topology->switch_count; i++)
		has_more |= bridge_work(&fabric->bridges[i], time_ns);
	/* Frames that one aggregator has emitted may already be due at another switch. */
	return has_more || calendar_next(&fabric->calendar) <= time_ns;
}

/* True if the bridge's engine has a clock that advance() turns. */
static bool is_clocked(const struct bridge *bridge)
{
	return bridge->engine && bridge->engine->operations->advance;
}

/*
 * Turns the clocks of all busy aggregators, for at most the time in which no frame that one of
 * them emits can reach another aggregator or a port. Returns the end of this time.
 */
static uint64_t turn_clocks(struct fabric *fabric, uint64_t until_ns)
{
	uint64_t first_ns = CALENDAR_NEVER, span_ns = CALENDAR_NEVER;

	for (unsigned i = 0; i < fabric->topology->switch_count; i++) {
		const struct bridge *bridge = &fabric->bridges[i];

		if (!is_clocked(bridge))
			continue;
		const uint64_t next_ns = bridge->engine->operations->next(bridge->engine);

		if (next_ns < first_ns)
			first_ns = next_ns;
		if (bridge->config.forwarding_ns < span_ns)
			span_ns = bridge->config.forwarding_ns;
	}
	if (first_ns >= until_ns)
		return until_ns;
	if (span_ns == 0)
		span_ns = 1;
	if (until_ns - first_ns > span_ns)
		until_ns = first_ns + span_ns;
	for (unsigned i = 0; i < fabric->topology->switch_count; i++) {
		struct engine *engine = fabric->bridges[i].engine;

		if (is_clocked(&fabric->bridges[i]))
			while (engine->operations->advance(engine, until_ns) < until_ns)
				;
	}
	return until_ns;
}

static uint64_t step(struct fabric *fabric, uint64_t until_ns, bool has_events_of_end)
{
	keep_ageing(fabric);
	if (calendar_next(&fabric->calendar) < until_ns) {
		until_ns = calendar_next(&fabric->calendar);
		has_events_of_end = true;
	}
	const uint64_t reached_ns = turn_clocks(fabric, until_ns);

	if (reached_ns != CALENDAR_NEVER)
		fabric->network.now_ns = reached_ns;
	if (reached_ns == until_ns && until_ns != CALENDAR_NEVER && has_events_of_end)
		calendar_run(&fabric->calendar, until_ns);
	return reached_ns;
}

uint64_t fabric_step(struct fabric *fabric, uint64_t until_ns)
{
	return step(fabric, until_ns, true);
}

uint64_t fabric_step_before(struct fabric *fabric, uint64_t until_ns)
{
	return step(fabric, until_ns, false);
}

void fabric_finish(struct fabric *fabric)
{
	/* Enough rounds for a frame to go all the way up and down again. */
	for (unsigned turn = 0; turn < 2 * TOPOLOGY_LEVELS_MAX; turn++) {
		for (unsigned i = 0; i < fabric->topology->switch_count; i++)
			bridge_finish(&fabric->bridges[i]);
		calendar_run(&fabric->calendar, fabric->network.now_ns);
	}
}

const char *fabric_error(const struct fabric *fabric)
{
	for (unsigned i = 0; i < fabric->topology->switch_count; i++) {
		const struct engine *engine = fabric->bridges[i].engine;

		if (engine && engine->error[0])
			return engine->error;
	}
	return NULL;
}
