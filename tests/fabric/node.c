/* SPDX-License-Identifier: Apache-2.0 */
/* A switch: data frames go through its aggregator, and then all frames leave towards their host. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bed.h"

static void forward(struct node *node, struct frame *frame)
{
	unsigned to = frame->kind == FRAME_DATA ? frame_to(frame) : frame->to;

	if (to >= node->bed->host_count)
		frame_free(node->bed, frame);
	else
		cable_send(node->bed, &node->out[node->route[to]], frame);
}

static void show(const struct node *node, const char *way, unsigned port, const struct frame *frame)
{
	printf("%llu: switch %u of level %u: %-3s port %u: ", (unsigned long long)node->bed->frames,
	       (unsigned)node->config.place.id, node->level, way, port);
	frame_show(node->bed, frame);
}

static void forget_entering(struct node *node)
{
	for (unsigned port = 0; port < PORTS_MAX; port++) {
		if (node->entering[port])
			frame_free(node->bed, node->entering[port]);
		node->entering[port] = NULL;
	}
	node->entering_count = 0;
}

/* Handles all frames that have come. */
static void enter(struct node *node)
{
	struct engine_frame frames[PORTS_MAX];
	unsigned count = 0;

	for (unsigned port = 0; port < PORTS_MAX; port++)
		if (node->entering[port])
			frames[count++] = (struct engine_frame){
			        .port = port,
			        .bytes = node->entering[port]->bytes,
			        .length = node->entering[port]->length,
			};
	if (count > 0)
		engine_put(node->engine, frames, count);
	forget_entering(node);
}

static void enter_now(struct bed *bed, void *who, uint32_t argument, struct frame *frame)
{
	(void)bed, (void)argument, (void)frame;
	enter(who);
}

static void emit(void *context, unsigned port, const uint8_t *bytes, size_t length)
{
	struct node *node = context;
	const struct frame *entering = node->entering[port];
	struct frame *frame;

	/* The forged frame broke a job, and must not reach a host. */
	if (entering && entering->forged && length == entering->length &&
	    memcmp(bytes, entering->bytes, length) == 0)
		return;
	frame = frame_new(node->bed);
	if (length > sizeof(frame->bytes))
		abort();
	frame->length = (uint16_t)length;
	memcpy(frame->bytes, bytes, length);
	if (node->bed->traces)
		show(node, "out", port, frame);
	watch_out(node, frame);
	forward(node, frame);
}

void node_open(struct bed *bed, struct node *node)
{
	node->bed = bed;
	node->engine = engine_open(&node->config, emit, node, bed->seed);
}

void node_close(struct node *node)
{
	forget_entering(node);
	engine_close(node->engine);
}

void node_receive(struct bed *bed, void *who, uint32_t port, struct frame *frame)
{
	struct node *node = who;

	if (frame->kind != FRAME_DATA) {
		forward(node, frame);
		return;
	}
	bed->frames++;
	faults_strike(bed);
	if (node->entering[port])
		enter(node);
	if (bed->traces)
		show(node, "in", port, frame);
	watch_in(node, port, frame);
	node->entering[port] = frame;
	node->entering_count++;
	if (node->entering_count >= bed->set.together)
		enter(node);
	else if (node->entering_count == 1)
		bed_at(bed, bed->now + FRAME_TIME, enter_now, node, 0, NULL);
}

void node_reset(struct bed *bed, void *who, uint32_t argument, struct frame *frame)
{
	struct node *node = who;

	(void)argument, (void)frame;
	enter(node);
	if (bed->verbose || bed->traces)
		printf("%llu: level %u, hosts %u to %u: reset\n", (unsigned long long)bed->now,
		       node->level, node->first_host, node->last_host);
	engine_reset(node->engine);
	watch_reset(node);
	bed->resets++;
}

void node_tick(struct bed *bed, void *who, uint32_t argument, struct frame *frame)
{
	struct node *node = who;

	(void)argument, (void)frame;
	enter(node);
	if (bed->traces)
		printf("switch %u: tick\n", (unsigned)node->config.place.id);
	engine_tick(node->engine);
	if (++node->ticks == bed->set.suspicion) {
		engine_patience(node->engine);
		node->ticks = 0;
	}
	watch_tick(node);
	bed_at(bed, bed->now + (uint64_t)bed->set.quiet * FRAME_TIME, node_tick, node, 0, NULL);
}

void node_age(struct bed *bed, void *who, uint32_t argument, struct frame *frame)
{
	struct node *node = who;
	unsigned interval = node->level > 1 ? bed->set.above_to_live : bed->set.time_to_live;

	(void)argument, (void)frame;
	enter(node);
	if (bed->traces)
		printf("switch %u: age\n", (unsigned)node->config.place.id);
	engine_age(node->engine);
	watch_age(node);
	bed_at(bed, bed->now + (uint64_t)interval * FRAME_TIME, node_age, node, 0, NULL);
}
