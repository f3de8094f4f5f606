/* SPDX-License-Identifier: Apache-2.0 */
/* The JOIN and the messages after it, and which completions end which step, on a fake device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_device.h"
#include "hostlib/algorithms/trace.h"

#define RANKS 3

static struct ina_network network;
static struct ina_control control;
static struct ina_settings settings;

static int open_network(void **state)
{
	struct ina_options options;
	struct ina_failure failure;

	(void)state;
	ina_options_init(&options);
	options.rank = 0;
	options.ranks = RANKS;
	options.root = "127.0.0.1";
	options.poll_count = 100; /* so that no test sleeps */
	memset(&network, 0, sizeof(network));
	fake_open(&network.transport, 0, RANKS);
	ina_control_init(&control, 0, RANKS);
	if (ina_settings_make(&settings, &options, &failure) != INA_OK)
		return -1;
	return ina_network_open(&network, &control, &settings, 7, &failure) == INA_OK ? 0 : -1;
}

static int close_network(void **state)
{
	(void)state;
	ina_memory_close(&network.memory);
	ina_control_close(&control);
	fake_close();
	return 0;
}

static int (*real_poll)(struct ibv_cq *cq, int room, struct ibv_wc *wc);
static int acknowledged_at; /* the look at which the JOIN's send has completed */

/* The JOIN comes back at the first look after it was sent, and is acknowledged later. */
static int answer_join(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	if (fake.tx[INA_PURPOSE_AGGREGATE].posted == 1 && fake.wc_end == 0)
		fake_sum(0, RANKS);
	if (fake.looks == acknowledged_at)
		fake_complete(fake.tx[INA_PURPOSE_AGGREGATE].ids[0], IBV_WC_SUCCESS, 0);
	return real_poll(cq, room, wc);
}

/* Sends a JOIN; its send completes at this look. */
static void join(int look)
{
	static const struct ina_transfer nothing;
	struct ina_failure failure;
	int count;

	acknowledged_at = look;
	ina_innet_start(&network.innet, INA_WIRE_JOIN, -(int32_t)network.window_packets, &nothing);
	do {
		assert_int_equal(ina_innet_advance(&network.innet, &failure), INA_OK);
		assert_int_equal(ina_completions_poll(&network.completions, &count, &failure),
		                 INA_OK);
	} while (!ina_network_join_is_over(&network) && fake.looks < 1000);
	assert_true(ina_innet_is_joined(&network.innet));
	ina_innet_stop(&network.innet);
}

/* docs/protocol.md, A connection's life: DATA only after the rank's own JOIN is acknowledged. */
static void a_join_is_over_when_it_is_acknowledged(void **state)
{
	(void)state;
	real_poll = fake.context.ops.poll_cq;
	fake.context.ops.poll_cq = answer_join;
	join(50);
	assert_int_equal(ina_innet_acknowledged(&network.innet), 1);
	assert_int_equal(fake.tx[INA_PURPOSE_AGGREGATE].posted, 1);
	assert_in_range(fake.looks, 50, 51);
}

#define OWN_PLACE    (1u << 24 | 2u << 8 | 3u)
#define OTHERS_PLACE (2u << 24 | 2u << 8 | 2u)

static struct ina_wire_header *header_at(const struct fake_queue *queue, int number)
{
	return (struct ina_wire_header *)(uintptr_t)queue->sges[number][0].addr;
}

/* The sum has the largest of the ranks' places. */
static int answer_join_of_another(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	int count = answer_join(cq, room, wc);

	if (fake.wc_end > 0)
		header_at(&fake.rx[INA_PURPOSE_AGGREGATE], 0)->remaining_bytes = OTHERS_PLACE;
	return count;
}

/* docs/protocol.md, JOIN and LEAVE at several switches: the lane of `remaining`, by MAX. */
static void a_join_says_where_its_rank_is(void **state)
{
	const struct ina_wire_header *sent = NULL;

	(void)state;
	network.innet.place = OWN_PLACE;
	real_poll = fake.context.ops.poll_cq;
	fake.context.ops.poll_cq = answer_join_of_another;
	join(50);
	sent = header_at(&fake.tx[INA_PURPOSE_AGGREGATE], 0);
	assert_int_equal(sent->type, INA_WIRE_JOIN);
	assert_int_equal(sent->message_number, 0);
	assert_int_equal(sent->remaining_bytes, OWN_PLACE);
}

/* Otherwise the context of a job that has ended would stay taken for its time-to-live. */
static void a_leave_goes_whatever_is_not_acknowledged(void **state)
{
	const struct fake_queue *queue = &fake.tx[INA_PURPOSE_AGGREGATE];
	const struct ina_wire_header *sent;

	(void)state;
	real_poll = fake.context.ops.poll_cq;
	fake.context.ops.poll_cq = answer_join;
	join(50);
	network.innet.unacknowledged = network.innet.connection.window;
	ina_innet_abandon(&network.innet, false);
	assert_int_equal(queue->posted, 2);
	sent = header_at(queue, 1);
	assert_int_equal(sent->type, INA_WIRE_LEAVE);
	for (uint32_t i = 0; i < network.innet.connection.window; i++)
		assert_ptr_not_equal(sent, &network.innet.connection.tx_slots[i].header);
}

/* A TRACE needs a receive at its receiver before any rank sends it. */
static void a_trace_is_expected_before_it_is_sent(void **state)
{
	(void)state;
	ina_lookout_expect(&network.lookout);
	assert_int_equal(fake.rx[INA_PURPOSE_AGGREGATE].posted, 1);
	assert_int_equal(fake.tx[INA_PURPOSE_AGGREGATE].posted, 0);
	assert_false(ina_lookout_is_over(&network.lookout));
}

/* If a ring's completion comes together with the aggregated connection's error, it is not lost. */
static void an_error_does_not_swallow_what_came_with_it(void **state)
{
	struct ina_failure failure = {INA_OK, ""};
	int count;

	(void)state;
	network.hosts.ring.credit_sends = 2;
	fake_complete(ina_work_id(INA_WORK_WINDOW_SEND, 0), IBV_WC_SUCCESS, 0);
	network.innet.unacknowledged = 1;
	network.innet.operation_count = 1;
	fake_complete(ina_work_id(INA_WORK_WINDOW_SEND, 0), IBV_WC_RETRY_EXC_ERR, 0);
	fake_complete(ina_work_id(INA_WORK_CREDIT_SEND, 0), IBV_WC_SUCCESS, 0);
	fake_complete(ina_work_id(INA_WORK_WINDOW_RECEIVE, 0), IBV_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(ina_completions_poll(&network.completions, &count, &failure),
	                 INA_ERR_AGGREGATOR);
	assert_non_null(strstr(failure.text, "transport retry counter exceeded"));
	assert_int_equal(count, 4);
	assert_int_equal(network.innet.unacknowledged, 0);
	assert_int_equal(network.hosts.ring.credit_sends, 1);
}

/* A rank can continue without the aggregator, but not without the ring. */
static void an_error_of_the_ring_counts_more(void **state)
{
	struct ina_failure failure = {INA_OK, ""};
	int count;

	(void)state;
	network.innet.operation_count = 1;
	fake_complete(ina_work_id(INA_WORK_WINDOW_SEND, 0), IBV_WC_RETRY_EXC_ERR, 0);
	fake_complete(ina_work_id(INA_WORK_RING_RECEIVE, 0), IBV_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(ina_completions_poll(&network.completions, &count, &failure),
	                 INA_ERR_DEVICE);
}

static int look_a_few_times(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	if (fake.looks > 1000)
		fail_msg("a wait turns round without end");
	return real_poll(cq, room, wc);
}

/* The kernel closes the channel of a lost device: from then on poll() returns immediately. */
static void the_end_of_the_device_ends_a_wait(void **state)
{
	struct ina_failure failure = {INA_OK, ""};
	int count;

	(void)state;
	real_poll = fake.context.ops.poll_cq;
	fake.context.ops.poll_cq = look_a_few_times;
	close(fake.channel_ends[1]);
	fake.channel_ends[1] = -1;
	assert_int_equal(ina_completions_wait(&network.completions, 1000, &count, &failure),
	                 INA_ERR_DEVICE);
	assert_non_null(strstr(failure.text, "fake0"));
}

static enum ina_status wait_after(struct rdma_cm_event *manager, struct ibv_async_event *device)
{
	struct ina_failure failure;
	int count;

	fake.manager_event = manager;
	fake.device_event = device;
	fake_tell();
	return ina_completions_wait(&network.completions, 1000, &count, &failure);
}

static void a_device_that_fails_is_heard_of(void **state)
{
	struct ibv_async_event fatal = {.event_type = IBV_EVENT_DEVICE_FATAL};
	struct ibv_async_event queue = {.event_type = IBV_EVENT_CQ_ERR, .element.cq = &fake.cq};
	struct rdma_cm_event removal = {.event = RDMA_CM_EVENT_DEVICE_REMOVAL,
	                                .id = &fake.listener};

	(void)state;
	assert_int_equal(wait_after(NULL, &fatal), INA_ERR_DEVICE);
	assert_int_equal(wait_after(NULL, &queue), INA_ERR_DEVICE);
	assert_int_equal(wait_after(&removal, NULL), INA_ERR_DEVICE);
}

/* A port that is down for a while, an event of another communicator's queue, a neighbour that
 * disconnects. */
static void other_events_are_no_failures(void **state)
{
	struct ibv_cq other = {.context = &fake.context};
	struct ibv_async_event port = {.event_type = IBV_EVENT_PORT_ERR};
	struct ibv_async_event queue = {.event_type = IBV_EVENT_CQ_ERR, .element.cq = &other};
	struct rdma_cm_event end = {.event = RDMA_CM_EVENT_DISCONNECTED,
	                            .id = &fake.tx[INA_PURPOSE_AGGREGATE].id};

	(void)state;
	network.transport.connections[INA_PURPOSE_AGGREGATE].tx_ready = true;
	assert_int_equal(wait_after(NULL, &port), INA_OK);
	assert_int_equal(wait_after(NULL, &queue), INA_OK);
	assert_int_equal(wait_after(&end, NULL), INA_OK);
	assert_null(fake.manager_event);
}

/* The error of rdma_rxe if the address that a connection sends from no longer exists, or has
 * changed. */
static void an_address_that_is_gone_is_named(void **state)
{
	struct ina_failure failure = {INA_OK, ""};
	int count;

	(void)state;
	fake_complete(ina_work_id(INA_WORK_RING_SEND, 0), IBV_WC_LOC_QP_OP_ERR, 0);
	assert_int_equal(ina_completions_poll(&network.completions, &count, &failure),
	                 INA_ERR_DEVICE);
	assert_non_null(strstr(failure.text, "the ring connection to rank "));
	assert_non_null(strstr(failure.text, "can no longer send from its address"));
	/* if it does not exist, the cause is certain */
	fake.gid.raw[15]++;
	fake_complete(ina_work_id(INA_WORK_RING_SEND, 0), IBV_WC_LOC_QP_OP_ERR, 0);
	assert_int_equal(ina_completions_poll(&network.completions, &count, &failure),
	                 INA_ERR_DEVICE);
	assert_non_null(strstr(failure.text, "the ring connection to rank "));
	assert_non_null(strstr(failure.text, "fake0 was removed or changed"));
}

static void a_device_that_has_changed_is_found(void **state)
{
	struct ina_failure failure = {INA_OK, ""};

	(void)state;
	assert_int_equal(ina_transport_look(&network.transport, &failure), INA_OK);
	fake.active_mtu = IBV_MTU_1024;
	assert_int_equal(ina_transport_look(&network.transport, &failure), INA_ERR_DEVICE);
	assert_non_null(strstr(failure.text, "path MTU of fake0 fell from 4096 to 1024"));
	network.transport.path_mtu = 1024; /* another rank had a smaller one */
	assert_int_equal(ina_transport_look(&network.transport, &failure), INA_OK);
	fake.gid = (union ibv_gid){{0}};
	assert_int_equal(ina_transport_look(&network.transport, &failure), INA_ERR_DEVICE);
	network.transport.gid = fake.gid; /* the device did not report it */
	assert_int_equal(ina_transport_look(&network.transport, &failure), INA_OK);
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, open_network, close_network)
	const struct CMUnitTest tests[] = {
	        TEST(a_join_is_over_when_it_is_acknowledged),
	        TEST(a_leave_goes_whatever_is_not_acknowledged),
	        TEST(a_join_says_where_its_rank_is),
	        TEST(a_trace_is_expected_before_it_is_sent),
	        TEST(an_error_does_not_swallow_what_came_with_it),
	        TEST(an_error_of_the_ring_counts_more),
	        TEST(an_address_that_is_gone_is_named),
	        TEST(a_device_that_has_changed_is_found),
	        TEST(the_end_of_the_device_ends_a_wait),
	        TEST(a_device_that_fails_is_heard_of),
	        TEST(other_events_are_no_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
