/* SPDX-License-Identifier: Apache-2.0 */
/* Connections between all ranks on the loopback device: ranks that are missing, have died, or have
 * left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/deadline.h"
#include "hostlib/bootstrap/acceptor.h"
#include "hostlib/bootstrap/caller.h"
#include "hostlib/bootstrap/mesh.h"
#include "hostlib/control/telling.h"

#define RANKS  5
#define JOB_ID 0x123456789ABCDEFu

struct rank {
	pthread_t thread;
	struct ina_control control;
	struct ina_roster roster;
	int listener;
	struct ina_visitor visitors[INA_ACCEPTOR_PLACES];
	struct ina_acceptor acceptor;
	enum ina_status status;
	struct ina_failure failure;
};

static struct rank ranks[RANKS];
static struct ina_job job; /* without a cookie */
static int patience_ms;    /* long where all must meet: the machine may be busy */

static void *run_rank(void *argument)
{
	struct rank *rank = argument;

	ina_acceptor_open(&rank->acceptor, rank->listener, &job, 5000, rank->visitors,
	                  INA_ACCEPTOR_PLACES);
	rank->status = ina_mesh_connect(&rank->control, &rank->roster, &rank->acceptor,
	                                ina_now_ms() + patience_ms, &rank->failure);
	ina_acceptor_close(&rank->acceptor);
	return NULL;
}

/* As after the bootstrap: each rank has a connection to rank 0, and knows where the others
 * listen. */
static int meet(void **state)
{
	const struct ina_port_range any_port = {0, 0};
	struct ina_roster roster = {.job_id = JOB_ID};

	(void)state;
	ina_job_make(&job, "", "");
	memset(ranks, 0, sizeof(ranks));
	for (int r = 0; r < RANKS; r++) {
		struct ina_endpoint *endpoint = &roster.endpoints[r];

		endpoint->address = htonl(INADDR_LOOPBACK);
		assert_int_equal(ina_mesh_listen(&ranks[r].listener, &endpoint->tcp_port, &any_port,
		                                 &ranks[r].failure),
		                 INA_OK);
		ina_control_init(&ranks[r].control, r, RANKS);
	}
	for (int r = 0; r < RANKS; r++)
		ranks[r].roster = roster;
	for (int r = 1; r < RANKS; r++) {
		int pair[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
		ina_control_link(&ranks[0].control, r)->fd = pair[0];
		ina_control_link(&ranks[r].control, 0)->fd = pair[1];
	}
	return 0;
}

/* Listens as often as possible in the upper half of a range. Returns how often. */
static int listen_in(const struct ina_port_range *range)
{
	struct ina_failure failure;
	int listeners[4];
	uint16_t port, last = 0;
	int count = 0;

	while (count < 4 && ina_mesh_listen(&listeners[count], &port, range, &failure) == INA_OK) {
		assert_in_range(ntohs(port), range->first + 3, range->first + 5);
		assert_true(ntohs(port) > last);
		last = ntohs(port);
		count++;
	}
	assert_in_range(count, 0, 3);
	assert_string_equal(failure.text, "cannot listen for other ranks, at any port of the upper "
	                                  "half of INA_PORTS: Address already in use");
	for (int i = 0; i < count; i++)
		close(listeners[i]);
	return count;
}

/* The lower half is for rank 0 of each job. Other processes may have some ports of some ranges. */
static void listens_in_the_upper_half(void **state)
{
	struct ina_port_range range = {20000, 6};

	(void)state;
	while (range.first < 30000 && listen_in(&range) < 3)
		range.first += 6;
	assert_in_range(range.first, 20000, 29999);
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
	patience_ms = missing < 0 ? 20000 : 1000;
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

/* The conclusion of a rank from the frames that have come. */
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
			finds(r, INA_ERR_PEER, "rank 2 disconnected");
	}
	ina_control_close(&ranks[4].control);
	finds(1, INA_ERR_PEER, "ranks 2 and 4 disconnected");
}

/* Rank 2 has died; rank 1 says so and ends. That does not count as the death of rank 1. */
static void a_farewell_gives_the_reason(void **state)
{
	struct ina_failure failure;

	(void)state;
	connect_all();
	ina_fail(&failure, INA_ERR_PEER, "rank 2 disconnected");
	ina_control_farewell(&ranks[1].control, &failure);
	ina_control_close(&ranks[1].control);
	finds(0, INA_ERR_PEER, "rank 2 disconnected");
	finds(3, INA_ERR_PEER, "rank 2 disconnected");
	assert_false(ina_ranks_have(&ranks[3].control.gone, 1));
	assert_true(ina_ranks_have(&ranks[3].control.left, 1));
}

/* No rank closes before all have agreed to, so no frame is expected after that. */
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

/* Answers that only rank 0 may give are ignored if they come from other ranks. */
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
	assert_non_null(
	        strstr(ranks[1].failure.text, "rank 3 did not connect in time to TCP port"));
	assert_int_equal(ranks[4].status, INA_ERR_TIMEOUT); /* the report about rank 3's kernel
	                                                     * alone does not suffice */
	assert_non_null(strstr(ranks[4].failure.text, "rank 3 could not be reached at "));
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

static int connect_silently(uint16_t port)
{
	struct sockaddr_in to = {
	        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Its host was rebooting, its link was down, or a firewall's table was full: it comes back. */
static void who_cannot_be_reached_at_once_is_called_again(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_port = ranks[1].roster.endpoints[1].tcp_port};

	(void)state;
	close(ranks[1].listener);
	ranks[1].listener = -1;
	for (int r = 2; r < RANKS; r++)
		pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]);
	usleep(200000);
	ranks[1].listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(ranks[1].listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(ranks[1].listener, RANKS), 0);
	for (int r = 0; r < 2; r++)
		pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]);
	for (int r = 0; r < RANKS; r++) {
		pthread_join(ranks[r].thread, NULL);
		if (ranks[r].status != INA_OK)
			fail_msg("rank %d: %s", r, ranks[r].failure.text);
	}
}

/* Rank 4 waits at rank 3's socket, and then as many other callers come as there are places. */
static void who_is_crowded_out_comes_back(void **state)
{
	int fds[INA_ACCEPTOR_PLACES];

	(void)state;
	pthread_create(&ranks[4].thread, NULL, run_rank, &ranks[4]);
	usleep(100000);
	for (int i = 0; i < INA_ACCEPTOR_PLACES; i++)
		fds[i] = connect_silently(ranks[3].roster.endpoints[3].tcp_port);
	for (int r = 0; r < 4; r++)
		pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]);
	for (int r = 0; r < RANKS; r++) {
		pthread_join(ranks[r].thread, NULL);
		if (ranks[r].status != INA_OK)
			fail_msg("rank %d: %s", r, ranks[r].failure.text);
	}
	for (int i = 0; i < INA_ACCEPTOR_PLACES; i++)
		close(fds[i]);
}

/* Sends a GREETING as the job's ranks do. Returns the socket, whose other end is not read yet. */
static struct ina_caller *greet(uint32_t rank, uint64_t job_id)
{
	struct ina_control_frame frame = ina_control_frame(&ranks[3].control, INA_CONTROL_GREETING);
	struct sockaddr_in to = {.sin_family = AF_INET,
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	                         .sin_port = ranks[0].roster.endpoints[1].tcp_port};
	struct ina_caller *caller = malloc(sizeof(*caller));

	assert_non_null(caller);
	frame.rank = rank;
	frame.greeting.job_id = job_id;
	ina_caller_open(caller, &job, &frame, &to, 1, 5000);
	return caller;
}

static void *call_on(void *argument)
{
	struct ina_caller *caller = argument;
	struct ina_failure failure = {INA_OK, ""};
	int64_t deadline_ms = ina_now_ms() + 1000;

	while (ina_caller_step(caller, &failure) == INA_OK && caller->state != INA_CALLER_IN &&
	       ina_now_ms() < deadline_ms)
		usleep(1000);
	snprintf(caller->why, sizeof(caller->why), "%.100s", failure.text);
	return NULL;
}

/* A caller that knows the port but not the communicator, one that claims another rank's number, and
 * one that sends nothing. */
static void unknown_peers_are_turned_away(void **state)
{
	struct ina_caller *callers[] = {greet(3, JOB_ID + 1), greet(1, JOB_ID),
	                                greet(RANKS, JOB_ID)};
	static const char *const why[] = {"another communicator", "must not connect",
	                                  "must not connect"};
	int silent = connect_silently(ranks[0].roster.endpoints[1].tcp_port);
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, call_on, callers[i]);
	pthread_create(&ranks[1].thread, NULL, run_rank, &ranks[1]);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int r = 0; r < RANKS; r++) {
		if (r != 1)
			pthread_create(&ranks[r].thread, NULL, run_rank, &ranks[r]);
	}
	for (int r = 0; r < RANKS; r++) {
		pthread_join(ranks[r].thread, NULL);
		if (ranks[r].status != INA_OK)
			fail_msg("rank %d: %s", r, ranks[r].failure.text);
	}
	assert_int_equal(ranks[1].acceptor.unknown_peers, 4);
	for (int i = 0; i < 3; i++) {
		assert_non_null(strstr(callers[i]->why, why[i]));
		ina_caller_close(callers[i]);
		free(callers[i]);
	}
	close(silent);
	finds(1, INA_OK, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(listens_in_the_upper_half),
	        cmocka_unit_test_setup_teardown(everybody_sees_who_is_gone, meet, part),
	        cmocka_unit_test_setup_teardown(a_farewell_gives_the_reason, meet, part),
	        cmocka_unit_test_setup_teardown(a_rank_that_has_closed_is_not_lost, meet, part),
	        cmocka_unit_test_setup_teardown(no_diagnosis_but_of_rank_0, meet, part),
	        cmocka_unit_test_setup_teardown(who_does_not_come_is_named, meet, part),
	        cmocka_unit_test_setup_teardown(who_cannot_be_reached_is_named, meet, part),
	        cmocka_unit_test_setup_teardown(who_cannot_be_reached_at_once_is_called_again, meet,
	                                        part),
	        cmocka_unit_test_setup_teardown(who_is_crowded_out_comes_back, meet, part),
	        cmocka_unit_test_setup_teardown(unknown_peers_are_turned_away, meet, part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
