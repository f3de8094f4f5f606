/* SPDX-License-Identifier: Apache-2.0 */
/* Connections between all ranks on the loopback: who is missing, who is gone, who has left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "hostlib/bootstrap/mesh.h"

#define RANKS  5
#define JOB_ID 0x123456789ABCDEFu

struct rank {
	pthread_t thread;
	struct ina_control control;
	struct ina_roster roster;
	int listener;
	enum ina_status status;
	struct ina_failure failure;
};

static struct rank ranks[RANKS];

static void *run_rank(void *argument)
{
	struct rank *rank = argument;

	rank->status = ina_mesh_connect(&rank->control, &rank->roster, rank->listener, 5000,
	                                ina_now_ms() + 1000, &rank->failure);
	return NULL;
}

/* As after the bootstrap: each has a connection to rank 0, and knows where the others listen. */
static int meet(void **state)
{
	struct ina_roster roster = {.job_id = JOB_ID};

	(void)state;
	memset(ranks, 0, sizeof(ranks));
	for (int r = 0; r < RANKS; r++) {
		struct ina_endpoint *endpoint = &roster.endpoints[r];

		endpoint->address = htonl(INADDR_LOOPBACK);
		assert_int_equal(
		        ina_mesh_listen(&ranks[r].listener, &endpoint->tcp_port, &ranks[r].failure),
		        INA_OK);
		assert_int_equal(ina_control_init(&ranks[r].control, r, RANKS, &ranks[r].failure),
		                 INA_OK);
	}
	for (int r = 0; r < RANKS; r++)
		ranks[r].roster = roster;
	for (int r = 1; r < RANKS; r++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
		ranks[0].control.peers[r].link.fd = pair[0];
		ranks[r].control.peers[0].link.fd = pair[1];
	}
	return 0;
}

static int part(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++) {
		ina_control_close(&ranks[r].control);
		close(ranks[r].listener);
	}
	return 0;
}

static void connect_all_but(int missing)
{
	for (int r = 0; r < RANKS; r++) {
		if (r != missing)
			pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]);
	}
	for (int r = 0; r < RANKS; r++) {
		if (r != missing)
			pthread_join(ranks[r].thread, NULL);
	}
}

static void connect_all(void)
{
	connect_all_but(-1);
	for (int r = 0; r < RANKS; r++) {
		if (ranks[r].status != INA_OK)
			fail_msg("rank %d: %s", r, ranks[r].failure.text);
	}
}

/* What a rank makes of what has come so far. */
static void finds(int rank, enum ina_status status, const char *text)
{
	struct ina_failure failure = {INA_OK, ""};

	for (int i = 0; i < 20; i++)
		ina_control_pump(&ranks[rank].control, 5);
	assert_int_equal(ina_control_lost(&ranks[rank].control, &failure), status != INA_OK);
	assert_int_equal(failure.status, status);
	assert_string_equal(failure.text, text);
}

static void everybody_sees_who_is_gone(void **state)
{
	(void)state;
	connect_all();
	finds(3, INA_OK, "");
	ina_control_close(&ranks[2].control);
	for (int r = 0; r < RANKS; r++) {
		if (r != 2)
			finds(r, INA_ERR_PEER, "rank 2 is gone");
	}
	ina_control_close(&ranks[4].control);
	finds(1, INA_ERR_PEER, "ranks 2 and 4 are gone");
}

/* Rank 2 is gone; rank 1 says so and ends: that is not the death of rank 1. */
static void a_farewell_gives_the_reason(void **state)
{
	struct ina_failure failure;

	(void)state;
	connect_all();
	ina_fail(&failure, INA_ERR_PEER, "rank 2 is gone");
	ina_control_farewell(&ranks[1].control, &failure);
	ina_control_close(&ranks[1].control);
	finds(0, INA_ERR_PEER, "rank 2 is gone");
	finds(3, INA_ERR_PEER, "rank 2 is gone");
	assert_false(ranks[3].control.peers[1].gone);
	assert_true(ranks[3].control.peers[1].left);
}

/* Nobody closes before all have agreed to: no more is to come of it. */
static void a_rank_that_has_closed_is_not_lost(void **state)
{
	struct ina_failure none = {INA_OK, ""};

	(void)state;
	connect_all();
	ina_control_farewell(&ranks[1].control, &none);
	ina_control_close(&ranks[1].control);
	finds(0, INA_OK, "");
	finds(3, INA_OK, "");
	assert_true(ina_control_is_absent(&ranks[3].control, 1));
}

/* What only rank 0 has to say is not heard from others. */
static void no_diagnosis_but_of_rank_0(void **state)
{
	struct ina_control_frame frame;

	(void)state;
	connect_all();
	frame = ina_control_frame(&ranks[1].control, INA_CONTROL_DIAGNOSIS);
	frame.decision.status = INA_ERR_DEVICE;
	ina_control_broadcast(&ranks[1].control, &frame);
	finds(3, INA_OK, "");
	assert_false(ranks[3].control.has_diagnosis);
	frame = ina_control_frame(&ranks[0].control, INA_CONTROL_DIAGNOSIS);
	ina_control_broadcast(&ranks[0].control, &frame);
	finds(3, INA_OK, "");
	assert_true(ranks[3].control.has_diagnosis);
}

static void who_does_not_come_is_named(void **state)
{
	(void)state;
	connect_all_but(3);
	assert_int_equal(ranks[1].status, INA_ERR_TIMEOUT);
	assert_string_equal(ranks[1].failure.text, "rank 3 did not connect in time");
	assert_int_equal(ranks[4].status, INA_OK); /* the kernel of rank 3 has answered */
}

static void who_cannot_be_reached_is_named(void **state)
{
	(void)state;
	close(ranks[1].listener);
	ranks[1].listener = -1;
	connect_all_but(1);
	for (int r = 2; r < RANKS; r++) {
		assert_int_equal(ranks[r].status, INA_ERR_TIMEOUT);
		assert_non_null(strstr(ranks[r].failure.text, "rank 1 could not be reached at "));
		assert_non_null(strstr(ranks[r].failure.text, "Connection refused"));
	}
}

/* Who knows the port but not the job, is another rank's namesake, or says nothing. */
static void unknown_peers_are_turned_away(void **state)
{
	struct ina_control_frame frame = ina_control_frame(&ranks[3].control, INA_CONTROL_GREETING);
	struct sockaddr_in to = {.sin_family = AF_INET,
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	                         .sin_port = ranks[0].roster.endpoints[1].tcp_port};
	struct ina_link links[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(ina_link_connect(&links[i], &to, 5000, ina_now_ms() + 1000), 0);
	frame.greeting = JOB_ID + 1;
	assert_int_equal(ina_link_send(&links[0], &frame, ina_now_ms() + 1000), 0);
	frame.greeting = JOB_ID;
	frame.rank = 1;
	assert_int_equal(ina_link_send(&links[1], &frame, ina_now_ms() + 1000), 0);
	connect_all();
	assert_int_equal(ranks[1].control.unknown_peers, 3);
	for (int i = 0; i < 3; i++)
		ina_link_close(&links[i]);
	finds(1, INA_OK, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(everybody_sees_who_is_gone, meet, part),
	        cmocka_unit_test_setup_teardown(a_farewell_gives_the_reason, meet, part),
	        cmocka_unit_test_setup_teardown(a_rank_that_has_closed_is_not_lost, meet, part),
	        cmocka_unit_test_setup_teardown(no_diagnosis_but_of_rank_0, meet, part),
	        cmocka_unit_test_setup_teardown(who_does_not_come_is_named, meet, part),
	        cmocka_unit_test_setup_teardown(who_cannot_be_reached_is_named, meet, part),
	        cmocka_unit_test_setup_teardown(unknown_peers_are_turned_away, meet, part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
