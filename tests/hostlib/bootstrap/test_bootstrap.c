/* SPDX-License-Identifier: Apache-2.0 */
/* The bootstrap on the loopback device: ranks as threads, and unknown peers at the acceptor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/deadline.h"
#include "free_port.h"
#include "hostlib/bootstrap/bootstrap.h"
#include "hostlib/bootstrap/caller.h"
#include "hostlib/bootstrap/mesh.h"
#include "hostlib/control/agreement.h"

#define RANKS_MAX 5

/* Far less than any timeout of these tests, and enough on a busy machine. */
#define SOON_MS 4000

/* Rank r announces this port, so that the test can check the roster. */
#define PORT_OF(r) ((uint16_t)(1000 + (r)))

struct rank {
	pthread_t thread;
	struct ina_options options;
	struct ina_settings settings;
	const char *cookie; /* NULL: no cookie */
	const char *secret;
	int delay_ms;
	int timeout_ms;
	enum ina_status status;
	struct ina_failure failure; /* before the bootstrap: an error that has already happened */
	struct ina_roster roster;
	struct ina_control control;
};

static char root[64];

static void choose_port(void)
{
	uint16_t port = free_port();

	assert_int_not_equal(port, 0);
	snprintf(root, sizeof(root), "127.0.0.1:%u", port);
}

static void *run_rank(void *argument)
{
	struct rank *rank = argument;
	struct ina_endpoint local = {.address = htonl(INADDR_LOOPBACK),
	                             .port = PORT_OF(rank->options.rank)};
	struct ina_visitor visitors[INA_ACCEPTOR_PLACES];
	struct ina_acceptor acceptor;
	int listener = -1;

	usleep((useconds_t)rank->delay_ms * 1000);
	ina_control_init(&rank->control, rank->options.rank, rank->options.ranks);
	if (rank->status == INA_OK)
		rank->status = ina_mesh_listen(&listener, &local.tcp_port, &rank->settings.ports,
		                               &rank->failure);
	ina_acceptor_open(&acceptor, listener, &rank->settings.job, 5000, visitors,
	                  INA_ACCEPTOR_PLACES);
	if (rank->status == INA_OK)
		rank->status = ina_bootstrap(&rank->control, &rank->settings, &local, &acceptor,
		                             ina_now_ms() + rank->timeout_ms, &rank->roster,
		                             &rank->failure);
	ina_acceptor_close(&acceptor);
	if (listener >= 0)
		close(listener);
	return NULL;
}

static void prepare(struct rank *ranks, int count)
{
	choose_port();
	memset(ranks, 0, (size_t)count * sizeof(*ranks));
	for (int r = 0; r < count; r++) {
		ina_options_init(&ranks[r].options);
		ranks[r].options.rank = r;
		ranks[r].options.ranks = count;
		ranks[r].options.root = root;
		ranks[r].options.open_timeout_ms = 30000;
		ranks[r].timeout_ms = 30000;
	}
}

static void set_or_not(const char *name, const char *value)
{
	if (value)
		setenv(name, value, 1);
	else
		unsetenv(name);
}

static void start_one(struct rank *rank)
{
	set_or_not("INA_COOKIE", rank->cookie);
	set_or_not("INA_SECRET", rank->secret);
	rank->status = ina_settings_make(&rank->settings, &rank->options, &rank->failure);
	assert_int_equal(pthread_create(&rank->thread, NULL, run_rank, rank), 0);
}

static void start(struct rank *ranks, int count)
{
	for (int r = 0; r < count; r++)
		start_one(&ranks[r]);
}

static void finish(struct rank *ranks, int count)
{
	for (int r = 0; r < count; r++)
		pthread_join(ranks[r].thread, NULL);
}

static void close_all(struct rank *ranks, int count)
{
	for (int r = 0; r < count; r++)
		ina_control_close(&ranks[r].control);
}

static void assert_met(const struct rank *ranks, int count)
{
	for (int r = 0; r < count; r++) {
		if (ranks[r].status != INA_OK)
			fail_msg("rank %d: %s", r, ranks[r].failure.text);
		assert_true(ranks[r].roster.job_id == ranks[0].roster.job_id);
		for (int p = 0; p < count; p++)
			assert_int_equal(ranks[r].roster.endpoints[p].port, PORT_OF(p));
	}
	assert_true(ranks[0].roster.job_id != 0);
}

static void all_get(const struct rank *ranks, int count, enum ina_status status, const char *words)
{
	for (int r = 0; r < count; r++) {
		if (ranks[r].status != status || !strstr(ranks[r].failure.text, words))
			fail_msg("rank %d: \"%s\" does not say \"%s\"", r, ranks[r].failure.text,
			         words);
	}
}

static void in_any_order(void **state)
{
	struct rank ranks[RANKS_MAX];

	(void)state;
	for (int late = 0; late < RANKS_MAX; late++) {
		prepare(ranks, RANKS_MAX);
		ranks[late].delay_ms = 200;
		start(ranks, RANKS_MAX);
		finish(ranks, RANKS_MAX);
		assert_met(ranks, RANKS_MAX);
		close_all(ranks, RANKS_MAX);
	}
}

/* A connection that sends these bytes, and stays open or closes. It retries until the root
 * listens. */
static int unknown_peer(const void *bytes, size_t size)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = -1;

	address.sin_port = htons((uint16_t)atoi(strchr(root, ':') + 1));
	for (int i = 0; i < 200; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			break;
		close(fd);
		fd = -1;
		usleep(10000);
	}
	assert_true(fd >= 0);
	if (size > 0)
		assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
	return fd;
}

/* Asserts that the other side has closed the connection before the ranks have met. It may have sent
 * something first. */
static void assert_hung_up(int fd)
{
	struct timeval patience = {.tv_sec = 1};
	char bytes[4096];
	ssize_t got;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	do
		got = recv(fd, bytes, sizeof(bytes), 0);
	while (got > 0);
	assert_true(got == 0 || (got < 0 && errno == ECONNRESET));
}

static void unknown_peers_are_ignored(void **state)
{
	struct rank ranks[3];
	unsigned char noise[4000];
	struct ina_control_frame wrong = {
	        .magic = INA_CONTROL_MAGIC, .type = 99, .bytes = sizeof(wrong), .rank = 1};
	int fds[100];
	int count = 0;

	(void)state;
	prepare(ranks, 3);
	ranks[1].delay_ms = 5500; /* later than all of that */
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (unsigned char)random();
	start(ranks, 3);
	fds[count++] = unknown_peer("GET / HTTP/1.1\r\n\r\n", 18);
	fds[count++] = unknown_peer(noise, sizeof(noise));
	fds[count++] = unknown_peer(&wrong, sizeof(wrong));
	wrong.type = INA_CONTROL_DIAGNOSIS;
	fds[count++] = unknown_peer(&wrong, sizeof(wrong));
	for (int i = 0; i < count; i++)
		assert_hung_up(fds[i]);
	fds[count++] = unknown_peer(&wrong, 20); /* half a frame, and silence */
	close(unknown_peer("", 0));
	while (count < 100)
		fds[count++] = unknown_peer("", 0);
	finish(ranks, 3);
	assert_int_equal(ranks[0].control.unknown_peers, 101);
	while (count > 0)
		close(fds[--count]);
	assert_met(ranks, 3);
	close_all(ranks, 3);
}

/* Opens connections and sends nothing; when one is closed, it opens another immediately. */
struct silent {
	pthread_t thread;
	struct sockaddr_in to;
	int count;
	atomic_bool is_over;
	int fds[400];
};

static void *be_silent(void *argument)
{
	struct silent *silent = argument;
	char ignored[4096];

	while (!atomic_load(&silent->is_over)) {
		for (int i = 0; i < silent->count; i++) {
			int *fd = &silent->fds[i];
			ssize_t got =
			        *fd < 0 ? 0 : recv(*fd, ignored, sizeof(ignored), MSG_DONTWAIT);

			if (got > 0 || (got < 0 && (errno == EAGAIN || errno == ENOTCONN)))
				continue;
			if (*fd >= 0)
				close(*fd);
			*fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
			connect(*fd, (struct sockaddr *)&silent->to, sizeof(silent->to));
		}
		usleep(5000);
	}
	return NULL;
}

/* Two ranks meet at rank 0, while `count` silent strangers are connected. */
static void meet_among_strangers(int count, rlim_t descriptors)
{
	static struct silent silent;
	struct rlimit before;
	struct rlimit limit;
	struct rank ranks[3];
	int64_t start_ms;

	prepare(ranks, 3);
	getrlimit(RLIMIT_NOFILE, &before);
	limit = (struct rlimit){descriptors, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	start_one(&ranks[0]);
	silent.to = ranks[0].settings.root;
	silent.count = count;
	atomic_store(&silent.is_over, false);
	memset(silent.fds, 0xff, sizeof(silent.fds));
	assert_int_equal(pthread_create(&silent.thread, NULL, be_silent, &silent), 0);
	usleep(500000);
	start_ms = ina_now_ms();
	start_one(&ranks[1]);
	start_one(&ranks[2]);
	finish(ranks, 3);
	assert_true(ina_now_ms() - start_ms < SOON_MS);
	atomic_store(&silent.is_over, true);
	pthread_join(silent.thread, NULL);
	for (int i = 0; i < count; i++)
		close(silent.fds[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_met(ranks, 3);
	assert_true(ranks[0].control.unknown_peers >= (uint64_t)count / 2);
	close_all(ranks, 3);
}

static void silent_strangers(void **state)
{
	(void)state;
	meet_among_strangers(400, 2000);
}

/* Rank 0 has no descriptor left for all of them. */
static void more_strangers_than_descriptors(void **state)
{
	(void)state;
	meet_among_strangers(200, 300);
}

static void the_missing_are_named(void **state)
{
	struct rank ranks[4];

	(void)state;
	prepare(ranks, 4);
	ranks[0].timeout_ms = ranks[2].timeout_ms = 600;
	start_one(&ranks[0]);
	start_one(&ranks[2]);
	pthread_join(ranks[0].thread, NULL);
	pthread_join(ranks[2].thread, NULL);
	all_get(&ranks[0], 1, INA_ERR_TIMEOUT, "ranks 1 and 3 did not connect to 127.0.0.1:");
	all_get(&ranks[2], 1, INA_ERR_TIMEOUT, "ranks 1 and 3 did not connect to 127.0.0.1:");
	ina_control_close(&ranks[0].control);
	ina_control_close(&ranks[2].control);
}

/* Rank 1 has waited for rank 0 for a long time; rank 0 still tells it which ranks are missing. */
static void the_missing_are_named_to_whoever_came_first(void **state)
{
	struct rank ranks[3];

	(void)state;
	prepare(ranks, 3);
	ranks[1].timeout_ms = 500; /* plus 3 s for the answer */
	ranks[0].timeout_ms = 1500;
	start(ranks, 2);
	finish(ranks, 2);
	all_get(ranks, 2, INA_ERR_TIMEOUT, "rank 2 did not connect");
	all_get(ranks, 1, INA_ERR_TIMEOUT, "rank 1 connected and did not wait");
	close_all(ranks, 2);
}

static void nobody_is_there(void **state)
{
	struct rank rank;

	(void)state;
	prepare(&rank, 1);
	rank.options.ranks = 2;
	rank.options.rank = 1;
	rank.timeout_ms = 300;
	start(&rank, 1);
	finish(&rank, 1);
	all_get(&rank, 1, INA_ERR_TIMEOUT, "rank 0 could not be reached at 127.0.0.1:");
	ina_control_close(&rank.control);
}

/*
 * Rank 0 dies while ranks 1 and 4 are missing. Rank 3 has no connection to rank 0: rank 2, its
 * parent, tells it what happened.
 */
static void a_dead_root_is_told(void **state)
{
	struct rank ranks[RANKS_MAX];
	int64_t died_ms;
	pid_t process;

	(void)state;
	prepare(ranks, RANKS_MAX);
	process = fork();
	if (process == 0) {
		start(ranks, 1);
		pause();
	}
	assert_true(process > 0);
	start(ranks + 2, 2);
	usleep(1000000);
	died_ms = ina_now_ms();
	assert_int_equal(kill(process, SIGKILL), 0);
	assert_int_equal(waitpid(process, NULL, 0), process);
	finish(ranks + 2, 2);
	all_get(ranks + 2, 2, INA_ERR_PEER, "closed the connection during the bootstrap");
	assert_true(ina_now_ms() - died_ms < SOON_MS);
	close_all(ranks + 2, 2);
}

static void fails(struct rank *rank)
{
	ina_fail(&rank->failure, INA_ERR_DEVICE, "it has no device");
}

/* Whichever rank fails before it meets the others, all ranks soon learn which one it was, and
 * why. */
static void failures_are_told(void **state)
{
	struct rank ranks[RANKS_MAX];
	char words[40];

	(void)state;
	for (int failed = 0; failed < RANKS_MAX; failed++) {
		int64_t start_ms = ina_now_ms();

		prepare(ranks, RANKS_MAX);
		fails(&ranks[failed]);
		ranks[(failed + 1) % RANKS_MAX].delay_ms = 200;
		start(ranks, RANKS_MAX);
		finish(ranks, RANKS_MAX);
		snprintf(words, sizeof(words), "rank %d: it has no device", failed);
		all_get(ranks, RANKS_MAX, INA_ERR_DEVICE, words);
		assert_true(ina_now_ms() - start_ms < SOON_MS);
		close_all(ranks, RANKS_MAX);
	}
}

/* All ranks get the first failure that rank 0 learns of; its own failure comes first. */
static void several_failures(void **state)
{
	struct rank ranks[RANKS_MAX];

	(void)state;
	prepare(ranks, RANKS_MAX);
	for (int r = 0; r < RANKS_MAX; r++)
		fails(&ranks[r]);
	start(ranks, RANKS_MAX);
	finish(ranks, RANKS_MAX);
	all_get(ranks, RANKS_MAX, INA_ERR_DEVICE, "rank 0: it has no device");
	close_all(ranks, RANKS_MAX);
}

/* Rank 0 is not running: the rank reports its own reason, and that it could not reach rank 0. */
static void a_failure_that_cannot_be_told(void **state)
{
	struct rank rank;

	(void)state;
	prepare(&rank, 1);
	rank.options.ranks = 2;
	rank.options.rank = 1;
	rank.timeout_ms = 300;
	fails(&rank);
	start(&rank, 1);
	finish(&rank, 1);
	all_get(&rank, 1, INA_ERR_DEVICE,
	        "it has no device; could not report this to rank 0 at 127.0.0.1:");
	ina_control_close(&rank.control);
}

/* A second process of a rank that has already come fails: the job continues. */
static void a_failure_of_nobody(void **state)
{
	struct rank ranks[3];
	struct rank second;

	(void)state;
	prepare(ranks, 3);
	second = ranks[2];
	fails(&second);
	start_one(&ranks[0]);
	start_one(&ranks[2]);
	usleep(200000); /* rank 2 has come, rank 1 has not */
	start_one(&second);
	finish(&second, 1);
	all_get(&second, 1, INA_ERR_MISMATCH, "two processes were started as rank 2");
	start_one(&ranks[1]);
	finish(ranks, 3);
	assert_met(ranks, 3);
	close_all(ranks, 3);
	close_all(&second, 1);
}

/* All ranks belong to one job, as the cookie says: a wrong value from one of them ends it for
 * all. */
static void prepare_named(struct rank *ranks, int count)
{
	prepare(ranks, count);
	for (int r = 0; r < count; r++)
		ranks[r].cookie = "mine";
}

/* Frames begin with "INACTRL" and the version of the format. */
static void another_version_at_rank_0(void **state)
{
	struct rank ranks[2];

	(void)state;
	prepare(ranks, 2);
	ranks[0].timeout_ms = 600;
	start_one(&ranks[0]);
	close(unknown_peer("INACTRL7 and what that may have said", 36));
	finish(ranks, 1);
	all_get(ranks, 1, INA_ERR_TIMEOUT,
	        "refused: a process with version 7 of libina's control protocol; this rank has "
	        "version D");
	close_all(ranks, 1);
}

static void another_version_of_rank_0(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct rank ranks[2];
	int fd;

	(void)state;
	prepare(ranks, 2);
	at.sin_port = htons((uint16_t)atoi(strchr(root, ':') + 1));
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 1), 0);
	ranks[1].timeout_ms = 600;
	start_one(&ranks[1]);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(send(fd, "INACTRL8", 8, MSG_NOSIGNAL), 8);
	assert_hung_up(fd);
	close(fd);
	finish(&ranks[1], 1);
	close(listener); /* it called again, and was not answered */
	all_get(&ranks[1], 1, INA_ERR_TIMEOUT,
	        "it has version 8 of libina's control protocol, this rank has D");
	close_all(&ranks[1], 1);
}

static void counts_differ(void **state)
{
	struct rank ranks[3];

	(void)state;
	prepare_named(ranks, 3);
	ranks[1].options.ranks = 4;
	start(ranks, 3);
	finish(ranks, 3);
	all_get(ranks, 3, INA_ERR_MISMATCH,
	        "rank 1 was started as one of 4 ranks, rank 0 as one of 3");
	close_all(ranks, 3);
}

static void a_rank_too_many(void **state)
{
	struct rank ranks[3];

	(void)state;
	prepare_named(ranks, 3);
	ranks[2].options.rank = 7;
	ranks[2].options.ranks = 3;
	start(ranks, 3);
	finish(ranks, 3);
	all_get(ranks, 3, INA_ERR_MISMATCH, "rank 7 connected, but the rank count is 3");
	close_all(ranks, 3);
}

/* The first process stays, and the second one is informed immediately. Without rank 2 the result is
 * a timeout. */
static void the_same_rank_twice(void **state)
{
	struct rank ranks[3];

	(void)state;
	prepare_named(ranks, 3);
	ranks[0].timeout_ms = ranks[1].timeout_ms = 1000;
	ranks[2].options.rank = 1;
	ranks[2].delay_ms = 200;
	start(ranks, 3);
	finish(ranks, 3);
	all_get(ranks, 2, INA_ERR_TIMEOUT, "rank 2 did not connect");
	all_get(ranks, 2, INA_ERR_TIMEOUT, "refused: two processes were started as rank 1");
	all_get(&ranks[2], 1, INA_ERR_MISMATCH,
	        "two processes were started as rank 1: the second is refused");
	close_all(ranks, 3);
}

/* Always the same process of rank 1: it announces the same endpoint. */
static void call_as_rank_1(const struct rank *root, uint32_t patience_ms, struct ina_caller *caller)
{
	struct ina_control_frame frame = {
	        .magic = INA_CONTROL_MAGIC, .type = INA_CONTROL_HELLO, .rank = 1};

	frame.hello = (struct ina_hello){.ranks = (uint32_t)root->options.ranks,
	                                 .window = root->options.window,
	                                 .message_bytes = root->options.message_bytes,
	                                 .channels = (uint32_t)root->settings.options.channels,
	                                 .patience_ms = patience_ms};
	ina_caller_open(caller, &root->settings.job, &frame, &root->settings.root, 1, 5000);
}

/* A process of rank 1 that is admitted; afterwards its end of the connection belongs to the
 * test. */
static enum ina_status come_as_rank_1(const struct rank *root, uint32_t patience_ms,
                                      struct ina_link *link, struct ina_failure *failure)
{
	static struct ina_caller caller;

	failure->status = INA_OK;
	call_as_rank_1(root, patience_ms, &caller);
	while (caller.state != INA_CALLER_IN && ina_caller_step(&caller, failure) == INA_OK)
		usleep(1000);
	*link = caller.link;
	return failure->status;
}

static void meet_later(struct rank *ranks)
{
	start_one(&ranks[1]);
	start_one(&ranks[2]);
	finish(ranks, 3);
	assert_met(ranks, 3);
	close_all(ranks, 3);
}

static void prepare_later(struct rank *ranks)
{
	prepare(ranks, 3);
	ranks[1].delay_ms = 200;
	ranks[2].delay_ms = 400;
	start_one(&ranks[0]);
}

/* The first process has died, and a new one comes. */
static void places_become_free(void **state)
{
	struct rank ranks[3];
	struct ina_failure failure;
	struct ina_link first;

	(void)state;
	prepare_later(ranks);
	assert_int_equal(come_as_rank_1(&ranks[0], 30000, &first, &failure), INA_OK);
	ina_link_close(&first);
	meet_later(ranks);
}

/*
 * It was admitted, but did not learn of it, because the network failed. The other end has not
 * noticed yet that it gave up that connection. It is put off until then.
 */
static void a_process_that_lost_its_answer(void **state)
{
	static struct ina_caller again;
	struct rank ranks[3];
	struct ina_failure failure;
	struct ina_link first;
	int64_t until_ms;

	(void)state;
	prepare_later(ranks);
	assert_int_equal(come_as_rank_1(&ranks[0], 30000, &first, &failure), INA_OK);
	call_as_rank_1(&ranks[0], 30000, &again);
	for (until_ms = ina_now_ms() + 300; ina_now_ms() < until_ms; usleep(1000)) {
		assert_int_equal(ina_caller_step(&again, &failure), INA_OK);
		assert_int_not_equal(again.state, INA_CALLER_IN);
	}
	ina_link_close(&first);
	while (again.state != INA_CALLER_IN) {
		assert_int_equal(ina_caller_step(&again, &failure), INA_OK);
		usleep(1000);
	}
	ina_link_close(&again.link);
	meet_later(ranks);
}

/* A rank that has waited long enough learns for which ranks it has waited, and takes no place. */
static void who_waits_no_longer_is_told_why(void **state)
{
	struct rank ranks[3];
	struct ina_failure failure;
	struct ina_link first;

	(void)state;
	prepare_later(ranks);
	assert_int_equal(come_as_rank_1(&ranks[0], 0, &first, &failure), INA_ERR_TIMEOUT);
	assert_non_null(strstr(failure.text, "ranks 1 and 2 did not connect to 127.0.0.1:"));
	ina_link_close(&first);
	meet_later(ranks);
}

static void options_differ(void **state)
{
	struct rank ranks[2];

	(void)state;
	prepare_named(ranks, 2);
	ranks[1].options.window = 4;
	start(ranks, 2);
	finish(ranks, 2);
	all_get(ranks, 2, INA_ERR_MISMATCH, "rank 1 has a window of 4 messages, rank 0 of 8");
	close_all(ranks, 2);

	prepare_named(ranks, 2);
	ranks[1].options.message_bytes = 4096;
	start(ranks, 2);
	finish(ranks, 2);
	all_get(ranks, 2, INA_ERR_MISMATCH, "rank 1 has message_bytes 4096, rank 0 0");
	close_all(ranks, 2);

	prepare_named(ranks, 2);
	ranks[1].options.algorithm = INA_ALGORITHM_RING;
	start(ranks, 2);
	finish(ranks, 2);
	all_get(ranks, 2, INA_ERR_MISMATCH, "rank 1 asks for algorithm ring, rank 0 for auto");
	close_all(ranks, 2);
}

/* For a caller that is sent away: enough for an answer on a busy machine. */
enum { PATIENCE_MS = 1500 };

/*
 * A rank of another job calls the port of this job, while this job's rank 1 is late. It is sent
 * away, and changes nothing.
 */
static void send_away(const char *cookie, int rank, int count, enum ina_status status,
                      const char *words)
{
	struct rank ranks[3];
	struct rank foreigner;

	prepare(ranks, 3);
	for (int r = 0; r < 3; r++)
		ranks[r].cookie = cookie ? "mine" : NULL;
	foreigner = ranks[1];
	foreigner.cookie = cookie;
	foreigner.options.rank = rank;
	foreigner.options.ranks = count;
	foreigner.timeout_ms = PATIENCE_MS;
	start_one(&ranks[0]);
	start_one(&ranks[2]);
	usleep(200000); /* rank 2 has come, rank 1 has not */
	start_one(&foreigner);
	finish(&foreigner, 1);
	start_one(&ranks[1]);
	finish(ranks, 3);
	assert_met(ranks, 3);
	all_get(&foreigner, 1, status, words);
	assert_true(rank == 0 || ranks[0].control.unknown_peers > 0);
	close_all(ranks, 3);
	close_all(&foreigner, 1);
}

static void another_jobs_ranks(void **state)
{
	(void)state;
	send_away("other", 1, 4, INA_ERR_TIMEOUT, "another job's");
	send_away("other", 2, 3, INA_ERR_TIMEOUT, "another job's");
	send_away("other", 1, 3, INA_ERR_TIMEOUT, "another job's");
}

/* Nothing names the job: a caller that disagrees does not belong to this one. */
static void a_job_without_a_name(void **state)
{
	(void)state;
	send_away(NULL, 1, 4, INA_ERR_MISMATCH, "rank 1 was started as one of 4 ranks");
	send_away(NULL, 7, 3, INA_ERR_MISMATCH, "rank 7 connected");
	send_away(NULL, 2, 3, INA_ERR_MISMATCH, "two processes were started as rank 2");
	send_away(NULL, 0, 4, INA_ERR_SYSTEM, "another job may use it");
}

/* As on a second host that was started as rank 0 too. */
static void rank_0_on_another_host(void **state)
{
	struct rank ranks[1];

	(void)state;
	prepare(ranks, 1);
	ranks[0].options.ranks = 2;
	ranks[0].options.root = "192.0.2.77:18766";
	start(ranks, 1);
	finish(ranks, 1);
	all_get(ranks, 1, INA_ERR_SYSTEM,
	        "this host has rank 0, so INA_ROOT must be one of its addresses");
	close_all(ranks, 1);
}

static void secrets(void **state)
{
	struct rank ranks[3];
	struct rank foreigner;

	(void)state;
	prepare_named(ranks, 3);
	for (int r = 0; r < 3; r++)
		ranks[r].secret = "swordfish";
	foreigner = ranks[1];
	foreigner.secret = NULL;
	foreigner.timeout_ms = PATIENCE_MS;
	start_one(&ranks[0]);
	start_one(&ranks[2]);
	start_one(&foreigner);
	finish(&foreigner, 1);
	start_one(&ranks[1]);
	all_get(&foreigner, 1, INA_ERR_TIMEOUT, "its INA_SECRET differs");
	finish(ranks, 3);
	assert_met(ranks, 3);
	close_all(ranks, 3);
	close_all(&foreigner, 1);
}

/* Two jobs on one host: each of three ranks, in any order. */
static void meet_both(struct rank *one, struct rank *other)
{
	struct rank *all[] = {&other[2], &one[1], &one[0], &other[1], &other[0], &one[2]};

	for (int i = 0; i < 6; i++) {
		start_one(all[i]);
		usleep(100000);
	}
	finish(one, 3);
	finish(other, 3);
	assert_met(one, 3);
	assert_met(other, 3);
	assert_true(one[0].roster.job_id != other[0].roster.job_id);
	close_all(one, 3);
	close_all(other, 3);
}

static void two_jobs_at_one_port(void **state)
{
	struct rank one[3];
	struct rank other[3];

	(void)state;
	prepare_named(one, 3);
	memcpy(other, one, sizeof(other));
	for (int r = 0; r < 3; r++)
		other[r].cookie = "another";
	meet_both(one, other);
}

/*
 * The cookie determines the port; if that is taken, the job uses the next one. The cookies belong
 * to this process alone, because the same test may run elsewhere on this machine.
 */
static void two_jobs_without_a_port(void **state)
{
	struct rank one[3];
	struct rank other[3];
	struct sockaddr_in at;
	char cookies[2][32];
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	snprintf(cookies[0], sizeof(cookies[0]), "one %d", getpid());
	snprintf(cookies[1], sizeof(cookies[1]), "another %d", getpid());
	prepare(one, 3);
	memcpy(other, one, sizeof(other));
	for (int r = 0; r < 3; r++) {
		one[r].cookie = cookies[0];
		other[r].cookie = cookies[1];
		one[r].options.root = other[r].options.root = "127.0.0.1";
	}
	setenv("INA_COOKIE", cookies[0], 1);
	assert_int_equal(ina_settings_make(&one[0].settings, &one[0].options, &one[0].failure),
	                 INA_OK);
	at = one[0].settings.root;
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	meet_both(one, other);
	close(fd);
}

struct voter {
	pthread_t thread;
	struct rank *rank;
	struct ina_vote vote;
	struct ina_failure failed;
	struct ina_failure failure;
	uint32_t minimum;
	enum ina_agreement result;
};

static void *run_voter(void *argument)
{
	struct voter *voter = argument;

	voter->vote.failed = &voter->failed;
	voter->result = ina_agree(&voter->rank->control, &voter->vote, ina_now_ms() + 5000,
	                          &voter->minimum, &voter->failure);
	return NULL;
}

static void vote(struct rank *ranks, struct voter *voters, int count)
{
	for (int r = 0; r < count; r++) {
		voters[r].rank = &ranks[r];
		assert_int_equal(pthread_create(&voters[r].thread, NULL, run_voter, &voters[r]), 0);
	}
	for (int r = 0; r < count; r++)
		pthread_join(voters[r].thread, NULL);
}

static void agreements(void **state)
{
	struct rank ranks[3];
	struct voter voters[3] = {0};

	(void)state;
	prepare(ranks, 3);
	start(ranks, 3);
	finish(ranks, 3);
	assert_met(ranks, 3);

	for (uint32_t r = 0; r < 3; r++)
		voters[r].vote = (struct ina_vote){.doing = "vote", .value = 7 - r};
	vote(ranks, voters, 3);
	for (int r = 0; r < 3; r++) {
		assert_int_equal(voters[r].result, INA_AGREED);
		assert_int_equal(voters[r].minimum, 5);
	}
	for (uint32_t r = 0; r < 3; r++)
		voters[r].vote = (struct ina_vote){.what = "path MTU",
		                                   .doing = "connect",
		                                   .must_equal = true,
		                                   .value = r == 2 ? 1024 : 4096};
	vote(ranks, voters, 3);
	for (int r = 0; r < 3; r++) {
		assert_int_equal(voters[r].result, INA_NOT_AGREED);
		assert_int_equal(voters[r].failure.status, INA_ERR_MISMATCH);
		assert_string_equal(voters[r].failure.text,
		                    "rank 2 has path MTU 1024, rank 0 has 4096");
	}
	/* One rank that has failed ends it for all. */
	voters[2].vote.value = 4096;
	ina_fail(&voters[1].failed, INA_ERR_MEMORY, "no room");
	vote(ranks, voters, 3);
	for (int r = 0; r < 3; r++) {
		assert_int_equal(voters[r].failure.status, INA_ERR_MEMORY);
		assert_string_equal(voters[r].failure.text, "rank 1: no room");
	}
	close_all(ranks, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(in_any_order),
	        cmocka_unit_test(unknown_peers_are_ignored),
	        cmocka_unit_test(silent_strangers),
	        cmocka_unit_test(more_strangers_than_descriptors),
	        cmocka_unit_test(the_missing_are_named),
	        cmocka_unit_test(the_missing_are_named_to_whoever_came_first),
	        cmocka_unit_test(nobody_is_there),
	        cmocka_unit_test(a_dead_root_is_told),
	        cmocka_unit_test(failures_are_told),
	        cmocka_unit_test(several_failures),
	        cmocka_unit_test(a_failure_that_cannot_be_told),
	        cmocka_unit_test(a_failure_of_nobody),
	        cmocka_unit_test(another_version_at_rank_0),
	        cmocka_unit_test(another_version_of_rank_0),
	        cmocka_unit_test(counts_differ),
	        cmocka_unit_test(a_rank_too_many),
	        cmocka_unit_test(the_same_rank_twice),
	        cmocka_unit_test(options_differ),
	        cmocka_unit_test(places_become_free),
	        cmocka_unit_test(a_process_that_lost_its_answer),
	        cmocka_unit_test(who_waits_no_longer_is_told_why),
	        cmocka_unit_test(another_jobs_ranks),
	        cmocka_unit_test(a_job_without_a_name),
	        cmocka_unit_test(rank_0_on_another_host),
	        cmocka_unit_test(secrets),
	        cmocka_unit_test(two_jobs_at_one_port),
	        cmocka_unit_test(two_jobs_without_a_port),
	        cmocka_unit_test(agreements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
