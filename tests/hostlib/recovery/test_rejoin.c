/* SPDX-License-Identifier: Apache-2.0 */
/* When the job asks for an aggregator or leaves it, and the JOIN on a fresh connection, on a fake
 * device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/deadline.h"
#include "fake_device.h"
#include "hostlib/rdma/connection.h"
#include "hostlib/recovery/rejoin.h"

#define RANKS 3

/* Rank 0 of three, whose JOIN is under way. */
static struct ina_network network;
static struct ina_control control;
static struct ina_settings settings;
static struct ina_rejoin rejoin;
static struct ina_turn turn;
static struct ina_stats stats;
static struct ina_log silent;
static const struct ina_recovery_context context = {.control = &control,
                                                    .network = &network,
                                                    .settings = &settings,
                                                    .log = &silent,
                                                    .stats = &stats,
                                                    .turn = &turn};

static int open_joining(void **state)
{
	const struct ina_transfer nothing = {0};
	struct ina_options options;
	struct ina_failure failure;

	(void)state;
	rejoin = (struct ina_rejoin){.join = {.context = &context,
	                                      .goal = INA_JOIN_AGAIN,
	                                      .stage = INA_JOIN_WAIT,
	                                      .deadline_ms = INT64_MAX,
	                                      .end_ms = INT64_MAX}};
	network = (struct ina_network){0};
	turn.deadline_ms = INT64_MAX;
	stats = (struct ina_stats){0};
	ina_options_init(&options);
	options.rank = 0;
	options.ranks = RANKS;
	options.root = "127.0.0.1";
	fake_open(&network.transport, 0, RANKS);
	assert_int_equal(ina_settings_make(&settings, &options, &failure), INA_OK);
	ina_control_init(&control, 0, RANKS);
	assert_int_equal(ina_network_open(&network, &control, &settings, 7, &failure), INA_OK);
	ina_innet_start(&network.innet, INA_WIRE_JOIN, -8, &nothing);
	assert_int_equal(ina_innet_advance(&network.innet, &failure), INA_OK);
	return 0;
}

static int close_joining(void **state)
{
	(void)state;
	ina_memory_close(&network.memory);
	ina_control_close(&control);
	fake_close();
	return 0;
}

/* Takes in completions and frames, and makes one step. */
static enum ina_join_result step(void)
{
	struct ina_failure failure;
	int count;

	assert_int_equal(ina_completions_poll(&network.completions, &count, &failure), INA_OK);
	return ina_rejoin_step(&rejoin, &context, &failure);
}

/* docs/protocol.md, A connection's life: DATA only after the rank's own JOIN is acknowledged. */
static void a_join_is_over_when_it_is_acknowledged(void **state)
{
	(void)state;
	fake_sum(0, RANKS);
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	assert_int_equal(rejoin.join.stage, INA_JOIN_WAIT);
	fake_complete(fake.tx[INA_PURPOSE_AGGREGATE].ids[0], IBV_WC_SUCCESS, 0);
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	assert_int_equal(rejoin.join.stage, INA_JOIN_CHECK);
	assert_int_equal(rejoin.join.vote, 8); /* packets, from the sum of the JOINs */
}

static void a_join_that_nobody_acknowledges_is_refused_in_time(void **state)
{
	(void)state;
	fake_sum(0, RANKS);
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	rejoin.join.deadline_ms = ina_now_ms();
	assert_int_equal(step(), INA_JOIN_REFUSED);
}

/* The others have voted, so no later message would end a wait. */
static void the_last_one_to_vote_decides_at_once(void **state)
{
	struct ina_votes votes = {.phase = control.phase + 1, .least = {8, 1}, .most = {8, 2}};

	(void)state;
	ina_ranks_add(&votes.voted, 1);
	ina_ranks_add(&votes.voted, 2);
	ina_control_take_votes(&control, &votes);
	fake_sum(0, RANKS);
	fake_complete(fake.tx[INA_PURPOSE_AGGREGATE].ids[0], IBV_WC_SUCCESS, 0);
	assert_int_equal(step(), INA_JOIN_GRANTED);
	assert_int_equal(stats.rejoins, 1);
}

/* This rank's JOIN may have been granted a moment later, and wait at the aggregator forever. */
static void another_ranks_join_that_comes_raw_ends_the_attempt(void **state)
{
	(void)state;
	fake_sum(0, 1);
	assert_int_equal(step(), INA_JOIN_REFUSED);
}

static void who_hears_that_another_join_was_refused_does_not_wait(void **state)
{
	struct ina_votes votes = {.status = INA_ERR_AGGREGATOR, .failed_rank = 2};

	(void)state;
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	/* From the previous agreement, which has ended. */
	ina_control_take_votes(&control, &votes);
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	votes.phase = control.phase + 1;
	ina_control_take_votes(&control, &votes);
	assert_int_equal(step(), INA_JOIN_REFUSED);
}

/* Only rank 0 reads it, and only if the job has had its context for a second. */
static void a_context_is_given_when_the_turn_is_over(void **state)
{
	static struct ina_network network;
	const struct {
		int rank;
		enum ina_algorithm algorithm;
		bool asked;
		int64_t held_ms;
		bool yields;
	} cases[] = {
	        {0, INA_ALGORITHM_AUTO, true, 2000, true},
	        {0, INA_ALGORITHM_AUTO, true, 500, false},
	        {0, INA_ALGORITHM_AUTO, false, 2000, false},
	        {1, INA_ALGORITHM_AUTO, true, 2000, false},
	        {0, INA_ALGORITHM_INA, true, 2000, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ina_settings settings = {
		        .options = {.rank = cases[i].rank, .algorithm = cases[i].algorithm}};
		struct ina_stats stats = {0};
		const struct ina_recovery_context context = {
		        .network = &network, .settings = &settings, .stats = &stats};
		struct ina_rejoin rejoin = {.granted_ms = ina_now_ms() - cases[i].held_ms};

		network.innet.asked = cases[i].asked;
		ina_rejoin_heed(&rejoin, &context);
		assert_int_equal(network.innet.says_leave, cases[i].yields);
		assert_false(network.innet.asked);
		ina_rejoin_lost(&rejoin, &context, true);
		assert_in_range(rejoin.next_ms - ina_now_ms(), 500, 1000);
	}
}

/* The pause grows if the aggregator fails again and again, but not if the job was only silent. */
static void a_job_that_computed_for_long_asks_again_as_soon_each_time(void **state)
{
	const struct {
		int64_t silent_ms, lost_after_ms, least_ms, most_ms;
	} cases[] = {
	        {5000, 20, 500, 1000},     /* forgotten in the time between */
	        {10, 20, 20000, 30000},    /* lost in the middle of work */
	        {5000, 7000, 20000, 30000} /* asked again, but the aggregator swallowed
	                                    * everything */
	};

	(void)state;
	stats = (struct ina_stats){0};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rejoin = (struct ina_rejoin){0};
		for (int times = 0; times < 10; times++) {
			const int64_t now_ms = ina_now_ms();

			turn.began_ms = now_ms - cases[i].lost_after_ms;
			rejoin.summed_ms = turn.began_ms - cases[i].silent_ms;
			ina_rejoin_lost(&rejoin, &context, false);
		}
		assert_in_range(rejoin.next_ms - ina_now_ms(), cases[i].least_ms, cases[i].most_ms);
	}
}

/* Again and again: soon if a known switch could have summed, otherwise after growing pauses. */
static void a_job_that_is_refused_asks_again(void **state)
{
	(void)state;
	rejoin = (struct ina_rejoin){0};
	stats = (struct ina_stats){0};
	network.tree.verdict = INA_TREE_SUMS;
	network.innet.received = 1;
	network.innet.contributors = 1;
	for (int i = 0; i < 10; i++) {
		ina_rejoin_refused(&rejoin, &context);
		assert_in_range(rejoin.next_ms - ina_now_ms(), 100, 250);
	}
	network.innet.received = 0; /* it did not come back */
	ina_rejoin_refused(&rejoin, &context);
	assert_in_range(rejoin.next_ms - ina_now_ms(), 500, 1000);
	network.innet.received = 1;
	network.tree.verdict = INA_TREE_UNKNOWN;
	for (int i = 0; i < 9; i++)
		ina_rejoin_refused(&rejoin, &context);
	assert_in_range(rejoin.next_ms - ina_now_ms(), 20000, 30000);
}

/* The lookout: no switch has filled a slot, and the ring is in use. */

static int open_looking(void **state)
{
	static struct ina_endpoint endpoints[RANKS];

	open_joining(state);
	network.transport.endpoints = endpoints;
	settings.options.algorithm = INA_ALGORITHM_AUTO;
	ina_innet_reset(&network.innet);
	for (int p = 0; p < INA_PURPOSE_COUNT; p++)
		ina_transport_set_rank_order(&network.transport, (enum ina_purpose)p);
	rejoin = (struct ina_rejoin){0};
	assert_true(ina_rejoin_look_out(&rejoin, &context));
	return 0;
}

static const struct fake_queue *tx = &fake.tx[INA_PURPOSE_AGGREGATE];
static const struct fake_queue *rx = &fake.rx[INA_PURPOSE_AGGREGATE];

static bool asks(void)
{
	ina_rejoin_ask(&rejoin, &context);
	return network.hosts.ask_rejoin;
}

/* A ring all-reduce ends; in its messages rank 0 has asked. */
static void note_asked(void)
{
	network.hosts.rejoin = true;
	ina_rejoin_note(&rejoin, &context);
}

/* The predecessor's TRACE comes, with the switch that it has passed at the first level. */
static void trace_comes(uint64_t id)
{
	const struct ibv_sge *sges = rx->sges[rx->posted - 1];
	struct ina_wire_trace_slot *met = (struct ina_wire_trace_slot *)(uintptr_t)sges[1].addr;
	struct ina_wire_trailer *trailer =
	        (struct ina_wire_trailer *)(uintptr_t)(sges[2].addr + sges[2].length) - 1;

	fake_sum(rx->posted - 1, 1);
	trailer->rank = RANKS - 1;
	met->id = id;
	met->port = RANKS - 1;
	fake_complete(tx->ids[tx->posted - 1], IBV_WC_SUCCESS, 0);
}

static int completions(void)
{
	struct ina_failure failure;
	int count;

	assert_int_equal(ina_completions_poll(&network.completions, &count, &failure), INA_OK);
	return count;
}

/* All ranks learn which switches the TRACEs have passed: this rank's as it reported, `id` for the
 * other two, or their losses. */
static enum ina_join_result share(uint64_t id, enum ina_path_lost lost)
{
	struct ina_ring *ring = &network.hosts.ring;

	assert_true(rejoin.due);
	ina_rejoin_begin(&rejoin, &context);
	assert_int_equal(step(), INA_JOIN_UNDER_WAY);
	assert_int_equal(rejoin.join.stage, INA_JOIN_SHARE);
	for (int r = 0; r < RANKS - 1; r++) {
		network.tree.paths[r].slots[0] =
		        (struct ina_wire_trace_slot){.id = id, .port = (uint32_t)r};
		network.tree.paths[r].lost = lost;
	}
	/* As if all messages of the ring had come and gone. */
	ring->in.index = ring->in_count;
	ring->out.index = ring->sent = ring->out_count;
	ring->credit_sends = 0;
	return step();
}

/* Calls continue while the TRACEs are under way. */
static void a_lookout_holds_no_call_up(void **state)
{
	int sent = tx->posted;

	(void)state;
	assert_int_equal(rx->ids[rx->posted - 1] >> 32, INA_WORK_LOOKOUT_RECEIVE);
	rejoin.next_ms = ina_now_ms() + 1000;
	assert_false(asks());
	rejoin.next_ms = ina_now_ms();
	assert_true(asks());
	note_asked();
	assert_false(rejoin.due);
	assert_int_equal(tx->posted, sent + 1);
	assert_int_equal(tx->ids[sent] >> 32, INA_WORK_LOOKOUT_SEND);
	/* Rank 0 asks again when it has the answer, or when the answer is late. */
	assert_false(asks());
	rejoin.next_ms = ina_now_ms() - settings.options.join_timeout_ms;
	assert_true(asks());
	rejoin.next_ms = ina_now_ms();
	trace_comes(0);
	assert_int_equal(completions(), 2);
	assert_true(asks());
	note_asked();
	assert_true(rejoin.due);
}

static void look(uint64_t id)
{
	note_asked();
	trace_comes(id);
	completions();
	note_asked();
}

static void where_no_switch_answers_the_connection_stays(void **state)
{
	int posted = rx->posted;

	(void)state;
	look(0);
	assert_int_equal(share(0, INA_PATH_CAME), INA_JOIN_REFUSED);
	assert_true(rejoin.looks && !rejoin.has_sent);
	assert_ptr_equal(network.transport.connections[INA_PURPOSE_AGGREGATE].tx, &tx->id);
	assert_int_equal(rx->posted, posted + 1);
	assert_true(rejoin.next_ms > ina_now_ms());
}

static void a_switch_that_answers_everybody_is_asked(void **state)
{
	(void)state;
	look(7);
	assert_int_equal(share(7, INA_PATH_CAME), INA_JOIN_UNDER_WAY);
	assert_int_equal(rejoin.join.stage, INA_JOIN_GATHER);
	assert_false(rejoin.looks);
	assert_null(network.transport.connections[INA_PURPOSE_AGGREGATE].tx);
}

static void a_switch_that_answers_some_is_not(void **state)
{
	(void)state;
	look(7);
	assert_int_equal(share(0, INA_PATH_CAME), INA_JOIN_REFUSED);
	assert_true(rejoin.looks && !rejoin.has_sent);
}

/* The ranks still wait for the same TRACEs: a rank whose TRACE has come keeps it. */
static void a_late_trace_is_waited_for(void **state)
{
	int posted = rx->posted;

	(void)state;
	look(7);
	assert_int_equal(share(0, INA_PATH_LATE), INA_JOIN_REFUSED);
	assert_true(rejoin.looks && rejoin.has_sent);
	assert_int_equal(rx->posted, posted);
	note_asked();
	assert_int_equal(share(7, INA_PATH_CAME), INA_JOIN_UNDER_WAY);
	assert_int_equal(rejoin.join.stage, INA_JOIN_GATHER);
}

static void a_failed_connection_is_no_fault_and_not_used_again(void **state)
{
	(void)state;
	note_asked();
	fake_complete(tx->ids[tx->posted - 1], IBV_WC_RETRY_EXC_ERR, 0);
	completions();
	assert_true(asks());
	note_asked();
	assert_int_equal(share(0, INA_PATH_CAME), INA_JOIN_REFUSED);
	assert_false(rejoin.looks);
	assert_null(network.transport.connections[INA_PURPOSE_AGGREGATE].tx);
	/* Its later completions do not concern the next one. */
	ina_lookout_renew(&network.lookout);
	fake_complete(rx->ids[rx->posted - 1], IBV_WC_WR_FLUSH_ERR, 0);
	completions();
	assert_false(ina_lookout_is_over(&network.lookout));
	note_asked();
	assert_true(rejoin.due);
}

/* It is not the predecessor's TRACE: this connection is not reliable. */
static void what_comes_instead_is_a_failure(void **state)
{
	(void)state;
	note_asked();
	fake_sum(rx->posted - 1, 1); /* its sender is rank 0 */
	completions();
	assert_true(network.lookout.has_failed);
}

/*
 * Also at open and in attempts: a TRACE does not use the ring's memory, because it may come long
 * after the ring has taken over.
 */
static void a_trace_has_memory_of_its_own(void **state)
{
	const struct ibv_sge *sge = &rx->sges[rx->posted - 1][1];
	const struct ina_connection_context *ring = &network.hosts.ring.connection;
	uintptr_t staging = (uintptr_t)ring->staging;
	size_t bytes = 2 * (size_t)ring->window * ring->limit_bytes;

	(void)state;
	assert_int_equal(sge->length, sizeof(network.tree.paths->slots));
	assert_false(sge->addr + sge->length > staging && sge->addr < staging + bytes);
}

/* A switch without an id can still sum. */
static void a_silent_switch_is_asked_now_and_then(void **state)
{
	(void)state;
	for (int times = 1; times < 10; times++) {
		look(0);
		assert_int_equal(share(0, INA_PATH_CAME), INA_JOIN_REFUSED);
	}
	look(0);
	assert_int_equal(share(0, INA_PATH_CAME), INA_JOIN_UNDER_WAY);
	assert_int_equal(rejoin.join.stage, INA_JOIN_GATHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(a_join_is_over_when_it_is_acknowledged,
	                                        open_joining, close_joining),
	        cmocka_unit_test_setup_teardown(a_join_that_nobody_acknowledges_is_refused_in_time,
	                                        open_joining, close_joining),
	        cmocka_unit_test_setup_teardown(another_ranks_join_that_comes_raw_ends_the_attempt,
	                                        open_joining, close_joining),
	        cmocka_unit_test_setup_teardown(
	                who_hears_that_another_join_was_refused_does_not_wait, open_joining,
	                close_joining),
	        cmocka_unit_test_setup_teardown(the_last_one_to_vote_decides_at_once, open_joining,
	                                        close_joining),
#define LOOKING(test) cmocka_unit_test_setup_teardown(test, open_looking, close_joining)
	        LOOKING(a_lookout_holds_no_call_up),
	        LOOKING(where_no_switch_answers_the_connection_stays),
	        LOOKING(a_switch_that_answers_everybody_is_asked),
	        LOOKING(a_switch_that_answers_some_is_not),
	        LOOKING(a_late_trace_is_waited_for),
	        LOOKING(a_failed_connection_is_no_fault_and_not_used_again),
	        LOOKING(what_comes_instead_is_a_failure),
	        LOOKING(a_trace_has_memory_of_its_own),
	        LOOKING(a_silent_switch_is_asked_now_and_then),
	        cmocka_unit_test(a_context_is_given_when_the_turn_is_over),
	        cmocka_unit_test(a_job_that_computed_for_long_asks_again_as_soon_each_time),
	        cmocka_unit_test(a_job_that_is_refused_asks_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
