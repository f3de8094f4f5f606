/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A great many ranks on the loopback device, from the first call of rank 0 to the end of one of
 * them. The test checks how many connections each has, and that all others name the rank that has
 * ended. The ranks are threads of a few processes, because one process may not have enough
 * descriptors for all of them.
 *
 *	test_hostlib_meeting [RANKS]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "free_port.h"
#include "hostlib/bootstrap/meeting.h"
#include "hostlib/bootstrap/mesh.h"
#include "hostlib/control/agreement.h"
#include "hostlib/control/telling.h"
#include "hostlib/recovery/fault_agreement.h"

#define VICTIM 77

/* The limit for all ranks to name it: 5 s, unless they share two processors. */
#define NAMED_MS 30000

struct rank {
	pthread_t thread;
	struct ina_settings settings;
	struct ina_control control;
	struct ina_roster roster;
	struct ina_fault_agreement agreement;
	struct ina_plan plan;
	struct ina_failure failure;
	enum ina_status status;
	enum ina_fault_outcome outcome;
	int connections;
	int64_t heard_ms; /* when it learned that one rank has ended */
	bool waits;       /* in a call; otherwise it is outside the library */
};

#define PROCESSES 4

/* Shared by the processes. */
struct shared {
	pthread_barrier_t begin; /* the start of a part, for all processes */
	pthread_barrier_t end;
	pthread_barrier_t together; /* all ranks */
	int64_t start_ms;
	char root[32];
	struct rank ranks[];
};

static int count = 1024;
static struct shared *shared;
static struct rank *ranks;
static pid_t workers[PROCESSES];

static void *meet(void *argument)
{
	struct rank *rank = argument;
	struct ina_endpoint local = {.address = htonl(INADDR_LOOPBACK)};
	int own = rank->settings.options.rank;
	int listener;

	ina_control_init(&rank->control, own, count);
	rank->status =
	        ina_mesh_listen(&listener, &local.tcp_port, &rank->settings.ports, &rank->failure);
	if (rank->status != INA_OK)
		return NULL;
	local.port = (uint16_t)(2000 + own);
	rank->status = ina_meet(&rank->control, &rank->settings, &local, listener,
	                        ina_now_ms() + 60000, &rank->roster, &rank->failure);
	close(listener);
	for (int i = 0; i < rank->control.count; i++)
		rank->connections += rank->control.neighbours[i].link.fd >= 0;
	return NULL;
}

static int log2_of_count(void)
{
	int k = 0;

	while (1 << k < count)
		k++;
	return k;
}

/* Starts the next part of the ranks' work in all processes, each for its own ranks. */
static void run_all(void)
{
	pthread_barrier_wait(&shared->begin);
	pthread_barrier_wait(&shared->end);
}

static void each_has_few_connections(void **state)
{
	(void)state;
	for (int r = 0; r < count; r++) {
		assert_true(ranks[r].connections <= 2 * log2_of_count() + 8);
		assert_int_equal(ranks[r].connections, ranks[r].control.count);
		assert_true(ranks[r].roster.job_id == ranks[0].roster.job_id);
		for (int p = 0; p < count; p++)
			assert_int_equal(ranks[r].roster.endpoints[p].port, 2000 + p);
	}
}

static void *vote(void *argument)
{
	struct rank *rank = argument;
	int own = rank->control.rank;
	struct ina_failure none = {INA_OK, ""};
	const struct ina_vote vote = {
	        .what = "", .doing = "vote", .value = 5000 - (uint32_t)own, .failed = &none};
	uint32_t minimum = 0;

	rank->status = ina_agree(&rank->control, &vote, ina_now_ms() + 120000, &minimum,
	                         &rank->failure) == INA_AGREED
	                       ? INA_OK
	                       : INA_ERR_TIMEOUT;
	if (minimum != 5000 - (uint32_t)count + 1)
		rank->status = INA_ERR_MISMATCH;
	return NULL;
}

static void all_agree(void **state)
{
	int64_t since_ms = ina_now_ms();

	(void)state;
	run_all();
	for (int r = 0; r < count; r++)
		assert_int_equal(ranks[r].status, INA_OK);
	printf("an agreement: %lld ms\n", (long long)(ina_now_ms() - since_ms));
}

/* An all-reduce that some rank or the aggregator makes fail: the actions of each rank from then
 * on. */
static void take_part(struct rank *rank, enum ina_status seen)
{
	struct ina_fault_agreement *agreement = &rank->agreement;
	int own = rank->control.rank;
	int64_t deadline_ms = ina_now_ms() + 120000;

	*agreement = (struct ina_fault_agreement){
	        .fault = {.current = {.number = 1, .count = 8, .kind = INA_CALL_ALLREDUCE},
	                  .status = seen,
	                  .sums = own == 9 ? 20 : 13},
	        .may_recover = seen == INA_ERR_AGGREGATOR,
	        .deadline_ms = deadline_ms};
	ina_fault_agreement_begin(agreement, &rank->control);
	do {
		ina_control_pump(&rank->control, 50);
		rank->outcome = ina_fault_agreement_poll(agreement, &rank->control, &rank->plan,
		                                         &rank->failure);
	} while (rank->outcome == INA_FAULT_PENDING && ina_now_ms() < deadline_ms + 20000);
}

static void *lose_aggregator(void *argument)
{
	take_part(argument, INA_ERR_AGGREGATOR);
	return NULL;
}

static void all_have_one_plan(void **state)
{
	(void)state;
	for (int again = 0; again < 2; again++) {
		run_all();
		for (int r = 0; r < count; r++) {
			if (ranks[r].outcome != INA_FAULT_RECOVERABLE)
				fail_msg("rank %d: %s", r, ranks[r].failure.text);
			assert_int_equal(ranks[r].plan.from, 13);
			assert_int_equal(ranks[r].plan.until, 20);
			assert_int_equal(ranks[r].plan.owner, 9);
		}
	}
}

/* A rank in a call that fails because another rank ends. */
static void *lose_rank(void *argument)
{
	struct rank *rank = argument;
	struct ina_failure lost;
	int64_t until_ms;

	pthread_barrier_wait(&shared->together);
	if (rank->control.rank == VICTIM) {
		shared->start_ms = ina_now_ms();
		ina_control_close(&rank->control);
	}
	if (rank->control.rank == VICTIM || !rank->waits)
		return NULL;
	until_ms = ina_now_ms() + 120000;
	while (!ina_control_lost(&rank->control, &lost) && ina_now_ms() < until_ms)
		ina_control_pump(&rank->control, 1000);
	take_part(rank, INA_OK);
	rank->heard_ms = ina_now_ms() - shared->start_ms;
	return NULL;
}

static void all_name_who_is_gone(void **state)
{
	int neighbours[INA_NEIGHBOURS_MAX];
	int neighbour_count;
	int64_t last_ms = 0;
	int waiting = 0;

	(void)state;
	/* One rank in four computes, including rank 0 and half of the victim's neighbours. */
	for (int r = 0; r < count; r++)
		ranks[r].waits = r % 4 != 0;
	neighbour_count = ina_neighbours(VICTIM, count, neighbours);
	for (int i = 0; i < neighbour_count; i++)
		ranks[neighbours[i]].waits = i % 2 == 0;
	run_all();
	for (int r = 0; r < count; r++) {
		if (r == VICTIM || !ranks[r].waits)
			continue;
		assert_int_equal(ranks[r].outcome, INA_FAULT_FATAL);
		assert_int_equal(ranks[r].failure.status, INA_ERR_PEER);
		if (strcmp(ranks[r].failure.text, "rank 77 disconnected") != 0)
			fail_msg("rank %d: %s", r, ranks[r].failure.text);
		last_ms = ranks[r].heard_ms > last_ms ? ranks[r].heard_ms : last_ms;
		waiting++;
	}
	printf("rank %d is named by all %d that wait, after %lld ms\n", VICTIM, waiting,
	       (long long)last_ms);
	assert_true(last_ms < NAMED_MS);
	/* The others learn of it in their next call. */
	run_all();
	for (int r = 0; r < count; r++) {
		if (r != VICTIM && !ranks[r].waits)
			assert_string_equal(ranks[r].failure.text, "rank 77 disconnected");
	}
}

static void *come_back(void *argument)
{
	struct rank *rank = argument;

	if (rank->control.rank == VICTIM || rank->waits)
		return NULL;
	ina_control_pump(&rank->control, 0);
	ina_control_lost(&rank->control, &rank->failure);
	return NULL;
}

static bool is_late(int rank)
{
	return rank % 64 == 32;
}

/* An all-reduce to which some ranks do not come. */
static void *wait_in_vain(void *argument)
{
	struct rank *rank = argument;

	if (!is_late(rank->control.rank))
		take_part(rank, INA_ERR_TIMEOUT);
	return NULL;
}

/* In the tree, each of them is between rank 0 and 31 other ranks. */
static void the_late_are_named_and_no_others(void **state)
{
	(void)state;
	run_all();
	for (int r = 0; r < count; r++) {
		if (is_late(r))
			continue;
		assert_int_equal(ranks[r].outcome, INA_FAULT_FATAL);
		if (!strstr(ranks[r].failure.text,
		            "all-reduce 1 waits for ranks 32, 96, 160 and 224: rank 0 "))
			fail_msg("rank %d: %s", r, ranks[r].failure.text);
	}
}

/* The parts of the ranks' work, in the order of the tests. */
typedef void *(*part_fn)(void *);

static const part_fn A_LIFE[] = {
        meet, vote, lose_aggregator, lose_aggregator, lose_rank, come_back, NULL,
};
static const part_fn A_WAIT[] = {meet, wait_in_vain, NULL};

static const part_fn *parts = A_LIFE;

/* A process's share of all parts, one after the other. */
static void work(int first, int end)
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 512 << 10);
	for (size_t p = 0; parts[p]; p++) {
		pthread_barrier_wait(&shared->begin);
		for (int r = first; r < end; r++) {
			if (pthread_create(&ranks[r].thread, &small, parts[p], &ranks[r]) != 0)
				abort();
		}
		for (int r = first; r < end; r++)
			pthread_join(ranks[r].thread, NULL);
		pthread_barrier_wait(&shared->end);
	}
}

/* A free port for rank 0. */
static void choose_root(char *root, size_t size)
{
	uint16_t port = free_port();

	assert_int_not_equal(port, 0);
	snprintf(root, size, "127.0.0.1:%u", port);
}

static void share(void)
{
	pthread_barrierattr_t processes;
	size_t bytes = sizeof(*shared) + (size_t)count * sizeof(*ranks);

	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	ranks = shared->ranks;
	pthread_barrierattr_init(&processes);
	pthread_barrierattr_setpshared(&processes, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->begin, &processes, PROCESSES + 1);
	pthread_barrier_init(&shared->end, &processes, PROCESSES + 1);
	pthread_barrier_init(&shared->together, &processes, (unsigned int)count);
	pthread_barrierattr_destroy(&processes);
}

static int open_all(void **state)
{
	struct ina_options options;
	int64_t start_ms;

	(void)state;
	share();
	choose_root(shared->root, sizeof(shared->root));
	ina_options_init(&options);
	options.ranks = count;
	options.root = shared->root;
	options.open_timeout_ms = 60000;
	/* The rank that has ended here has closed its connections. No host is silent, but one
	 * kernel is busy.
	 */
	options.peer_timeout_ms = 600000;
	for (int r = 0; r < count; r++) {
		options.rank = r;
		ranks[r].waits = true;
		assert_int_equal(ina_settings_make(&ranks[r].settings, &options, &ranks[r].failure),
		                 INA_OK);
	}
	for (int p = 0; p < PROCESSES; p++) {
		workers[p] = fork();
		assert_true(workers[p] >= 0);
		if (workers[p] > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(p * count / PROCESSES, (p + 1) * count / PROCESSES);
		_exit(0);
	}
	start_ms = ina_now_ms();
	run_all();
	printf("%d ranks have met after %lld ms\n", count, (long long)(ina_now_ms() - start_ms));
	for (int r = 0; r < count; r++) {
		if (ranks[r].status != INA_OK)
			fail_msg("rank %d: %s", r, ranks[r].failure.text);
	}
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	for (int p = 0; p < PROCESSES; p++) {
		kill(workers[p], SIGKILL);
		waitpid(workers[p], NULL, 0);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest life[] = {
	        cmocka_unit_test(each_has_few_connections), cmocka_unit_test(all_agree),
	        cmocka_unit_test(all_have_one_plan),
	        cmocka_unit_test(all_name_who_is_gone), /* last, because one rank has ended then */
	};
	const struct CMUnitTest vain[] = {
	        cmocka_unit_test(the_late_are_named_and_no_others),
	};
	struct rlimit limit;
	int failed;

	if (argc > 1)
		count = atoi(argv[1]);
	/* Each process has a quarter of all ranks' descriptors. */
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	while (count > 256 && (rlim_t)count * 40 / PROCESSES > limit.rlim_cur)
		count /= 2;
	failed = cmocka_run_group_tests(life, open_all, close_all);
	parts = A_WAIT;
	count = 256;
	return failed + cmocka_run_group_tests(vain, open_all, close_all);
}
