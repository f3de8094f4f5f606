/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank that gets no memory while it opens a communicator: the other ranks, which are threads of
 * this process, learn of it within seconds. Linked with --wrap=malloc and --wrap=calloc.
 */
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
#include "hostlib/bootstrap/meeting.h"
#include "hostlib/bootstrap/mesh.h"
#include "hostlib/communicator/communicator.h"

#define RANKS 3

/* The others wait this long for a rank that sends nothing. */
#define OPEN_MS 30000
#define SOON_MS 3000

static _Thread_local bool has_no_memory;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
	return has_no_memory ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return has_no_memory ? NULL : __real_calloc(count, size);
}

static struct rank {
	pthread_t thread;
	struct ina_settings settings;
	struct ina_control control;
	struct ina_roster roster;
	struct ina_failure failure;
	bool is_poor;  /* it gets no memory */
	bool is_shell; /* not even for the communicator itself */
	int64_t took_ms;
} ranks[RANKS];

static void *open_one(void *argument)
{
	struct rank *rank = argument;
	struct ina_endpoint local = {.address = htonl(INADDR_LOOPBACK)};
	int64_t start_ms = ina_now_ms();
	int listener = -1;

	ina_mesh_listen(&listener, &local.tcp_port, &rank->settings.ports, &rank->failure);
	has_no_memory = rank->is_poor;
	if (rank->is_shell) {
		ina_fail(&rank->failure, INA_ERR_MEMORY, "no memory for a communicator");
		ina_comm_cannot_open(&rank->settings, &rank->failure);
	} else {
		ina_control_init(&rank->control, rank->settings.options.rank, RANKS);
		ina_meet(&rank->control, &rank->settings, &local, listener,
		         rank->settings.deadline_ms, &rank->roster, &rank->failure);
		ina_control_close(&rank->control);
	}
	has_no_memory = false;
	rank->took_ms = ina_now_ms() - start_ms;
	close(listener);
	return NULL;
}

static uint16_t free_port(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&any, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &size), 0);
	close(fd);
	return ntohs(any.sin_port);
}

static void all_hear_of(int poor, bool is_shell, const char *reason)
{
	struct ina_options options;
	char root[32];
	char expected[200];

	memset(ranks, 0, sizeof(ranks));
	snprintf(root, sizeof(root), "127.0.0.1:%u", free_port());
	ina_options_init(&options);
	options.ranks = RANKS;
	options.root = root;
	options.open_timeout_ms = OPEN_MS;
	for (int r = 0; r < RANKS; r++) {
		options.rank = r;
		ranks[r].is_poor = r == poor;
		ranks[r].is_shell = r == poor && is_shell;
		assert_int_equal(ina_settings_make(&ranks[r].settings, &options, &ranks[r].failure),
		                 INA_OK);
	}
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(pthread_create(&ranks[r].thread, NULL, open_one, &ranks[r]), 0);
	snprintf(expected, sizeof(expected), "rank %d: %s", poor, reason);
	for (int r = 0; r < RANKS; r++)
		pthread_join(ranks[r].thread, NULL);
	for (int r = 0; r < RANKS; r++) {
		assert_int_equal(ranks[r].failure.status, INA_ERR_MEMORY);
		assert_string_equal(ranks[r].failure.text, expected);
		assert_true(ranks[r].took_ms < SOON_MS);
	}
}

static void without_memory_for_the_bootstrap(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		all_hear_of(r, false, "no memory for the bootstrap");
}

static void without_memory_for_a_communicator(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++)
		all_hear_of(r, true, "no memory for a communicator");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(without_memory_for_the_bootstrap),
	        cmocka_unit_test(without_memory_for_a_communicator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
