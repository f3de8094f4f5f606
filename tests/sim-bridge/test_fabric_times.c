/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual time over several switches, with the times that the test gives: cables, cuts, and clocks
 * next to each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/headers.h"
#include "common/topology/open.h"
#include "sim-bridge/switch/fabric.h"
#include "wire/ina_wire.h"

/* A frame of 126 bytes, with preamble, FCS and gap 150, at 10 Gb/s. */
enum { FRAME_BYTES = 126, WIRE_NS = 120, DELAY_NS = 20000, FORWARDING_NS = 7000, CAME_MAX = 16 };

/* From one leaf's port to the other's: leaf, cable, spine, cable, leaf. */
enum { ACROSS_NS = 3 * FORWARDING_NS + 2 * (WIRE_NS + DELAY_NS) };

#define MS 1000000u

struct rig {
	struct frame_pool pool;
	struct fabric_config config;
	struct fabric fabric;
	unsigned came;
	uint64_t came_ns[CAME_MAX];
	unsigned came_to[CAME_MAX];
};

static bool on_transmit(void *context, unsigned host, uint64_t time_ns, struct frame *frame)
{
	struct rig *rig = context;

	assert_true(rig->came < CAME_MAX);
	rig->came_to[rig->came] = host;
	rig->came_ns[rig->came++] = time_ns;
	frame_drop(frame);
	return true;
}

/* Two leaves with a host each, under a spine. */
static int set_up(void **state)
{
	static struct rig rig;
	char error[TOPOLOGY_ERROR_BYTES];

	memset(&rig, 0, sizeof(rig));
	rig.config.topology = topology_open("leaf-spine:2x1", error);
	rig.config.is_virtual = true;
	for (unsigned i = 0; i < TOPOLOGY_SWITCHES_MAX; i++)
		rig.config.bridges[i].forwarding_ns = FORWARDING_NS;
	for (unsigned i = 0; i < TOPOLOGY_CABLES_MAX; i++)
		rig.config.cables[i] = (struct cable_config){
		        .bits_per_second = 10000000000,
		        .delay_ns = DELAY_NS,
		        .cut_ns = CALENDAR_NEVER,
		        .mend_ns = CALENDAR_NEVER,
		};
	*state = &rig;
	return frame_pool_open(&rig.pool, 64) != 0 ||
	       fabric_open(&rig.fabric, &rig.config, &rig.pool, on_transmit, &rig) != 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	fabric_close(&rig->fabric);
	frame_pool_close(&rig->pool);
	topology_close(rig->config.topology);
	return 0;
}

static void run_until(struct rig *rig, uint64_t until_ns)
{
	while (fabric_step(&rig->fabric, until_ns) < until_ns)
		;
}

static void send(struct rig *rig, unsigned from, const char *destination, uint64_t time_ns)
{
	struct frame *frame = frame_new(&rig->pool);

	run_until(rig, time_ns);
	frame->length = FRAME_BYTES;
	memset(frame->bytes, 0, FRAME_BYTES);
	memcpy(frame->bytes, destination, PACKET_MAC_BYTES);
	memcpy(frame->bytes + PACKET_SOURCE_MAC_AT, from ? "\2host1" : "\2host0", PACKET_MAC_BYTES);
	fabric_receive(&rig->fabric, from, time_ns, frame);
}

/* Each way, and a second frame after the first: it waits for it once, at the first cable. */
static void test_way(void **state)
{
	struct rig *rig = *state;

	send(rig, 1, "\2host0", 0); /* unknown destination: flooded, and delivered to the right
	                             * host */
	run_until(rig, MS);
	assert_int_equal(rig->came, 1);
	assert_int_equal(rig->came_to[0], 0);
	assert_int_equal(rig->came_ns[0], ACROSS_NS);
	send(rig, 0, "\2host1", MS);
	send(rig, 0, "\2host1", MS);
	run_until(rig, 2 * MS);
	assert_int_equal(rig->came, 3);
	assert_int_equal(rig->came_ns[1], MS + ACROSS_NS);
	assert_int_equal(rig->came_ns[2], MS + ACROSS_NS + WIRE_NS);
	assert_int_equal(rig->came_to[2], 1);
}

static void test_cable_of_its_own(void **state)
{
	struct rig *rig = *state;
	struct fabric_cable *cable = &rig->fabric.cables[3]; /* leaf1:up0 */

	assert_string_equal(cable->at->name, "leaf1:up0");
	cable->wires[LINK_DOWN].bits_per_second = 1000000000;
	cable->wires[LINK_DOWN].limit_bytes = 300; /* room for two frames */
	for (unsigned i = 0; i < 3; i++)
		send(rig, 0, "\2host1", 0);
	run_until(rig, MS);
	assert_int_equal(rig->came, 2);
	assert_int_equal(rig->came_ns[0], ACROSS_NS + 9 * WIRE_NS);
	assert_int_equal(rig->came_ns[1], ACROSS_NS + 19 * WIRE_NS);
	assert_int_equal(cable->counts[LINK_DOWN].dropped_queue_full, 1);
}

/* Frames that are on the cable when it is cut are lost, too. */
static void test_cut(void **state)
{
	struct rig *rig = *state;
	const unsigned spare_ns = WIRE_NS; /* so that none waits for another */
	/* A frame is on leaf1:up0 from when it leaves the spine. */
	const uint64_t begins_ns = 2 * FORWARDING_NS + WIRE_NS + DELAY_NS;
	const uint64_t ends_ns = begins_ns + WIRE_NS + DELAY_NS;
	struct cable_config *cable = &rig->config.cables[3];

	cable->cut_ns = 5 * MS;
	cable->mend_ns = 6 * MS;
	send(rig, 0, "\2host1", 0); /* before the hosts' start nothing is cut */
	run_until(rig, 3 * MS);
	assert_int_equal(rig->came, 1);
	rig->fabric.hosts_start_ns = 5 * MS; /* so the cable is cut from 10 to 11 ms */
	const struct {
		uint64_t time_ns;
		unsigned came;
	} sent[] = {
	        {10 * MS - ends_ns - spare_ns, 2},   {10 * MS - ends_ns + spare_ns, 2},
	        {10 * MS - begins_ns + spare_ns, 2}, {11 * MS - begins_ns - spare_ns, 2},
	        {11 * MS - begins_ns + spare_ns, 3},
	};

	for (unsigned i = 0; i < sizeof(sent) / sizeof(*sent); i++)
		send(rig, 0, "\2host1", sent[i].time_ns);
	run_until(rig, 20 * MS);
	assert_int_equal(rig->came, 3);
	assert_int_equal(rig->came_ns[1], sent[0].time_ns + ACROSS_NS);
	assert_int_equal(rig->came_ns[2], sent[4].time_ns + ACROSS_NS);
	assert_int_equal(rig->fabric.cables[3].counts[LINK_DOWN].dropped_cut, 3);
}

/* Makes a frame a SEND of a reliable connection, over IPv4. */
static void make_send(uint8_t *frame)
{
	uint8_t *ip = frame + PACKET_ETHERNET_BYTES;

	packet_put_be16(frame + PACKET_ETHERTYPE_AT, PACKET_ETHERTYPE_IPV4);
	ip[0] = PACKET_IPV4_WITHOUT_OPTIONS;
	ip[PACKET_IPV4_PROTOCOL_AT] = PACKET_PROTOCOL_UDP;
	packet_put_be16(ip + PACKET_IPV4_BYTES + PACKET_UDP_DPORT_AT, INA_WIRE_UDP_PORT);
}

/* Keeps the ECN of the frames that it gets. */
struct ecn_engine {
	struct engine engine;
	unsigned count;
	unsigned ecn[CAME_MAX];
};

static void ecn_put(struct engine *engine, unsigned port, const uint8_t *frame, size_t length)
{
	struct ecn_engine *ecn = (struct ecn_engine *)engine;

	(void)length;
	assert_int_equal(port, 0);
	assert_true(ecn->count < CAME_MAX);
	ecn->ecn[ecn->count++] =
	        frame[PACKET_ETHERNET_BYTES + PACKET_IPV4_TOS_AT] & PACKET_ECN_MASK;
}

/*
 * A frame that enters an aggregator by a port is marked if the queue of that port, to which its sum
 * will go, is above the threshold. The queue of host 0 has 0, 150, 300 and 450 bytes, one after the
 * other.
 */
static void test_marked_on_entry(void **state)
{
	static const struct engine_operations operations = {.put = ecn_put};
	struct rig *rig = *state;
	struct cable *wire = &rig->fabric.cables[0].wires[LINK_DOWN];
	struct ecn_engine ecn = {.engine.operations = &operations};
	uint64_t ignored_ns;

	rig->config.cables[0].marking_bytes = 300;
	rig->fabric.bridges[0].engine = &ecn.engine;
	rig->fabric.bridges[0].config.steering = BRIDGE_STEER_ALL;
	for (unsigned queued = 0; queued < 4; queued++) {
		struct frame *frame = frame_new(&rig->pool);

		frame->length = FRAME_BYTES;
		memset(frame->bytes, 0, FRAME_BYTES);
		make_send(frame->bytes);
		frame->bytes[PACKET_ETHERNET_BYTES + PACKET_IPV4_TOS_AT] = INA_WIRE_TRAFFIC_CLASS;
		fabric_receive(&rig->fabric, 0, 0, frame);
		assert_true(cable_send(wire, 0, FRAME_BYTES, &ignored_ns));
	}
	run_until(rig, 10);
	assert_int_equal(ecn.count, 4);
	for (unsigned queued = 0; queued < 4; queued++)
		assert_int_equal(ecn.ecn[queued], queued * 150 > 300 ? 3 : 2);
	assert_int_equal(rig->fabric.bridges[0].congested_frames, 1);
	rig->fabric.bridges[0].engine = NULL;
}

/*
 * Aggregators with a clock of 4 ns. The one at leaf 0 emits a frame at its first edge. The one at
 * leaf 1 runs its clock all the time, and receives this frame.
 */
enum { EDGE_NS = 4, EDGES = 50000 };

struct clock_engine {
	struct engine engine;
	struct bridge *bridge;
	uint64_t next_ns;
	unsigned left; /* edges */
	bool emits;
	uint64_t put_ns;
};

static uint64_t clock_next(const struct engine *engine)
{
	const struct clock_engine *clock = (const struct clock_engine *)engine;

	return clock->left ? clock->next_ns : UINT64_MAX;
}

static uint64_t clock_advance(struct engine *engine, uint64_t until_ns)
{
	struct clock_engine *clock = (struct clock_engine *)engine;
	uint8_t frame[FRAME_BYTES] = "\2host1\2host0";

	make_send(frame);
	while (clock->left && clock->next_ns < until_ns) {
		engine->time_ns = clock->next_ns;
		clock->next_ns += EDGE_NS;
		clock->left--;
		if (clock->emits) {
			bridge_aggregated(clock->bridge, 0, frame, sizeof(frame));
			return engine->time_ns;
		}
	}
	return until_ns;
}

/* Its clock is neither ahead of the time of the frame that comes in, nor more than an edge late. */
static void clock_put(struct engine *engine, unsigned port, const uint8_t *frame, size_t length)
{
	struct clock_engine *clock = (struct clock_engine *)engine;

	(void)frame;
	assert_int_equal(port, 1);
	assert_int_equal(length, FRAME_BYTES);
	clock->put_ns = engine->time_ns;
	assert_true(clock->next_ns >= clock->put_ns && clock->next_ns < clock->put_ns + EDGE_NS);
}

static void test_clocks_side_by_side(void **state)
{
	static const struct engine_operations operations = {
	        .put = clock_put, .advance = clock_advance, .next = clock_next};
	struct rig *rig = *state;
	struct clock_engine clocks[2];

	for (unsigned i = 0; i < 2; i++) {
		clocks[i] = (struct clock_engine){
		        .engine.operations = &operations,
		        .bridge = &rig->fabric.bridges[i],
		        .next_ns = MS,
		        .left = i ? EDGES : 1,
		        .emits = i == 0,
		};
		rig->fabric.bridges[i].engine = &clocks[i].engine;
		rig->fabric.bridges[i].config.steering = BRIDGE_STEER_ALL;
	}
	run_until(rig, MS + EDGES * EDGE_NS);
	/* The last leaf forwards the frame when it has been summed. */
	assert_int_equal(clocks[1].put_ns, MS + ACROSS_NS - FORWARDING_NS);
	assert_int_equal(clocks[1].left, 0);
	for (unsigned i = 0; i < 2; i++)
		rig->fabric.bridges[i].engine = NULL;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	        TEST(test_way),
	        TEST(test_cable_of_its_own),
	        TEST(test_cut),
	        TEST(test_marked_on_entry),
	        TEST(test_clocks_side_by_side),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
