/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TCP input of libina: any bytes.
 *
 * The first byte selects the code that is fuzzed. 0: the bootstrap; an unknown peer sends the rest
 * while the ranks meet. It cannot prove that it is one of them, so they meet, and only a counter
 * changes. 3: the same at the point where the other ranks connect to each other. 4: the rest is the
 * HELLO of a peer that can prove that it belongs to the job: it is a rank, or it is refused and the
 * ranks meet. Otherwise the control channel of rank 0 (2) or of another rank: its links receive the
 * rest, in pieces, and the test looks at the result after each. Before a piece come a byte that
 * chooses the link, and a byte with its length in units of eight bytes. The results must be within
 * their limits.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "common/deadline.h"
#include "fuzz.h"
#include "hostlib/bootstrap/mesh.h"
#include "hostlib/bootstrap/bootstrap.h"
#include "hostlib/bootstrap/caller.h"
#include "hostlib/recovery/fault_agreement.h"
#include "hostlib/control/agreement.h"
#include "hostlib/control/telling.h"

#define RANKS 3

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

struct meeting {
	struct ina_control control;
	struct ina_visitor visitors[INA_ACCEPTOR_PLACES];
	struct ina_acceptor acceptor;
	struct ina_settings settings;
	struct ina_roster roster;
	struct ina_failure failure;
	enum ina_status status;
};

static void *meet(void *argument)
{
	struct meeting *m = argument;
	struct ina_endpoint local = {.address = 1, .port = 2};

	/* With two ranks only rank 0 has children, who come to the root: no listener. */
	ina_acceptor_open(&m->acceptor, -1, &m->settings.job, 5000, m->visitors,
	                  INA_ACCEPTOR_PLACES);
	ina_control_init(&m->control, m->settings.options.rank, m->settings.options.ranks);
	m->status = ina_bootstrap(&m->control, &m->settings, &local, &m->acceptor,
	                          ina_now_ms() + 5000, &m->roster, &m->failure);
	return NULL;
}

/* An unknown peer must come before the ranks have met. */
static int send_unknown(const struct sockaddr_in *root, const uint8_t *input, size_t size)
{
	int fd;

	for (int tries = 0; tries < 2000; tries++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fd, (const struct sockaddr *)root, sizeof(*root)) == 0) {
			while (size > 0) {
				ssize_t sent = send(fd, input, size, MSG_NOSIGNAL);

				if (sent <= 0)
					return fd; /* sent away already */
				input += sent;
				size -= (size_t)sent;
			}
			return fd;
		}
		close(fd);
		usleep(500);
	}
	FUZZ_CHECK(!"nobody listens");
	return -1;
}

static const struct ina_port_range any_port;

/* Two ranks that are to meet, at a socket that already listens: no rank needs to call twice. */
static void prepare(struct meeting *meetings)
{
	struct ina_failure failure;
	struct ina_options options;
	uint16_t port;
	char root[32];
	int listener;

	FUZZ_CHECK(ina_mesh_listen(&listener, &port, &any_port, &failure) == INA_OK);
	snprintf(root, sizeof(root), "127.0.0.1:%u", ntohs(port));
	memset(meetings, 0, 2 * sizeof(*meetings));
	ina_options_init(&options);
	options.ranks = 2;
	options.root = root;
	for (int r = 0; r < 2; r++) {
		options.rank = r;
		FUZZ_CHECK(ina_settings_make(&meetings[r].settings, &options,
		                             &meetings[r].failure) == INA_OK);
	}
	meetings[0].settings.listener = listener;
}

static void fuzz_bootstrap(const uint8_t *input, size_t size)
{
	static struct meeting meetings[2];
	pthread_t threads[2];
	int fd;

	prepare(meetings);
	FUZZ_CHECK(pthread_create(&threads[0], NULL, meet, &meetings[0]) == 0);
	fd = send_unknown(&meetings[0].settings.root, input, size);
	FUZZ_CHECK(pthread_create(&threads[1], NULL, meet, &meetings[1]) == 0);
	for (int r = 0; r < 2; r++)
		pthread_join(threads[r], NULL);
	close(fd);
	for (int r = 0; r < 2; r++)
		FUZZ_CHECK(meetings[r].status == INA_OK);
	FUZZ_CHECK(meetings[0].roster.job_id == meetings[1].roster.job_id);
	/* The number of callers at rank 0 is unknown: others on this machine may take its port for
	 * one of theirs, and a caller that comes after rank 1 is not counted. */
	FUZZ_CHECK(meetings[1].control.unknown_peers == 0);
	for (int r = 0; r < 2; r++)
		ina_control_close(&meetings[r].control);
}

static void fuzz_hello(const uint8_t *input, size_t size)
{
	static struct meeting meetings[2];
	static struct ina_caller caller;
	struct ina_control_frame frame = {.rank = 1};
	struct ina_failure refused = {INA_OK, ""};
	pthread_t threads[2];

	prepare(meetings);
	memcpy(&frame, input, size < sizeof(frame) ? size : sizeof(frame));
	frame.magic = INA_CONTROL_MAGIC;
	frame.type = INA_CONTROL_HELLO;
	frame.bytes = 0;                               /* until it is sent */
	frame.hello.status %= INA_ERR_ABORTED + 1;     /* any other is no frame of ours, */
	frame.hello.text[INA_CONTROL_TEXT - 1] = '\0'; /* nor is a text without an end */
	ina_caller_open(&caller, &meetings[0].settings.job, &frame, &meetings[0].settings.root, 1,
	                5000);
	FUZZ_CHECK(pthread_create(&threads[0], NULL, meet, &meetings[0]) == 0);
	while (ina_caller_step(&caller, &refused) == INA_OK && caller.state != INA_CALLER_IN)
		usleep(200);
	/* A rank that cannot take part ends the job, with its reason. */
	if (strncmp(refused.text, "rank 1: ", 8) == 0) {
		pthread_join(threads[0], NULL);
		FUZZ_CHECK(refused.status == frame.hello.status &&
		           meetings[0].status == refused.status);
		ina_control_close(&meetings[0].control);
		ina_caller_close(&caller);
		return;
	}
	if (refused.status != INA_OK) {
		FUZZ_CHECK(pthread_create(&threads[1], NULL, meet, &meetings[1]) == 0);
		pthread_join(threads[1], NULL);
		FUZZ_CHECK(meetings[1].status == INA_OK);
		ina_control_close(&meetings[1].control);
	}
	pthread_join(threads[0], NULL);
	FUZZ_CHECK(meetings[0].status == INA_OK);
	/* A peer that says that it does not wait gets the reason why it would have to, and is no
	 * unknown peer. */
	FUZZ_CHECK(meetings[0].control.unknown_peers <= (refused.status != INA_OK));
	ina_control_close(&meetings[0].control);
	ina_caller_close(&caller);
}

static const struct ina_call CALL = {
        .number = 4, .count = 1000, .kind = INA_CALL_ALLREDUCE, .type = INA_FLOAT32, .op = INA_SUM};

/* All code that reads the frames that have come. */
static void look(struct ina_control *control, struct ina_fault_agreement *agreement)
{
	struct ina_failure none = {INA_OK, ""};
	struct ina_failure failure = {INA_OK, ""};
	const struct ina_vote vote = {.what = "path MTU",
	                              .doing = "connect",
	                              .must_equal = true,
	                              .value = 1024,
	                              .call = CALL,
	                              .failed = &none};
	struct ina_plan plan;
	uint32_t minimum;

	ina_disturbed(control, &CALL);
	ina_all_stalled(control);
	ina_open_failed_elsewhere(control, &failure);
	switch (ina_agree_poll(control, &vote, ina_now_ms() + 1000, &minimum, &failure)) {
	case INA_NOT_AGREED:
		FUZZ_CHECK(failure.status != INA_OK);
		break;
	case INA_AGREED:
		FUZZ_CHECK(control->rank != 0 || minimum == 1024);
		break;
	default:
		break;
	}
	switch (ina_fault_agreement_poll(agreement, control, &plan, &failure)) {
	case INA_FAULT_RECOVERABLE:
		FUZZ_CHECK(control->rank != 0 || (plan.from <= plan.until && plan.owner < RANKS));
		break;
	case INA_FAULT_FATAL:
		FUZZ_CHECK(failure.status != INA_OK && strlen(failure.text) < INA_ERROR_SIZE);
		break;
	case INA_FAULT_PENDING:
		break;
	}
}

/* The frames to the other ends are not checked; but the sender would wait for a full socket. */
static void drain(int end)
{
	char bytes[4096];

	while (recv(end, bytes, sizeof(bytes), 0) > 0)
		;
}

/* The other end of a link to a peer. */
static int give_link(struct ina_control *control, int peer)
{
	int pair[2];

	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	ina_control_link(control, peer)->fd = pair[0];
	return pair[1];
}

static void fuzz_channel(int rank, const uint8_t *input, size_t size)
{
	static struct ina_control control;
	static struct ina_fault_agreement agreement;
	int ends[RANKS - 1];

	ina_control_init(&control, rank, RANKS);
	for (int i = 0; i < RANKS - 1; i++)
		ends[i] = give_link(&control, (rank + 1 + i) % RANKS);
	control.phase = 1;
	agreement = (struct ina_fault_agreement){.fault = {.current = CALL},
	                                         .may_recover = true,
	                                         .deadline_ms = ina_now_ms() + 1000};
	while (size > 2) {
		int end = ends[input[0] % (RANKS - 1)];
		size_t length = input[1] * (size_t)8;
		ssize_t sent;

		input += 2;
		size -= 2;
		if (length > size)
			length = size;
		sent = send(end, input, length, MSG_NOSIGNAL);
		(void)sent; /* its other end may have closed */
		input += length;
		size -= length;
		ina_control_pump(&control, 0);
		look(&control, &agreement);
		for (int i = 0; i < RANKS - 1; i++)
			drain(ends[i]);
	}
	for (int i = 0; i < RANKS - 1; i++)
		close(ends[i]);
	ina_control_pump(&control, 0);
	look(&control, &agreement);
	ina_control_close(&control);
}

struct mesher {
	struct ina_control control;
	struct ina_job job;
	struct ina_roster roster;
	struct ina_visitor visitors[INA_ACCEPTOR_PLACES];
	struct ina_acceptor acceptor;
	int listener;
	struct ina_failure failure;
	enum ina_status status;
};

static void *connect_mesh(void *argument)
{
	struct mesher *w = argument;

	ina_acceptor_open(&w->acceptor, w->listener, &w->job, 5000, w->visitors,
	                  INA_ACCEPTOR_PLACES);
	w->status = ina_mesh_connect(&w->control, &w->roster, &w->acceptor, ina_now_ms() + 5000,
	                             &w->failure);
	ina_acceptor_close(&w->acceptor);
	return NULL;
}

/* Ranks 1 and 2 of three; a peer that cannot prove its identity is neither of them. */
static void fuzz_mesh(const uint8_t *input, size_t size)
{
	static struct mesher meshers[2];
	struct ina_endpoint first = {.address = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = first.address};
	pthread_t threads[2];
	int listener;
	int roots[2];
	int fd;

	memset(meshers, 0, sizeof(meshers));
	FUZZ_CHECK(ina_mesh_listen(&listener, &first.tcp_port, &any_port, &meshers[0].failure) ==
	           INA_OK);
	to.sin_port = first.tcp_port;
	fd = send_unknown(&to, input, size);
	for (int i = 0; i < 2; i++) {
		struct mesher *w = &meshers[i];

		ina_control_init(&w->control, i + 1, RANKS);
		ina_job_make(&w->job, "", "");
		w->roster.job_id = 77;
		w->roster.endpoints[1] = first;
		w->listener = i == 0 ? listener : -1;
		roots[i] = give_link(&w->control, 0);
		FUZZ_CHECK(pthread_create(&threads[i], NULL, connect_mesh, w) == 0);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	close(fd);
	close(listener);
	for (int i = 0; i < 2; i++) {
		FUZZ_CHECK(meshers[i].status == INA_OK);
		FUZZ_CHECK(meshers[i].acceptor.unknown_peers == (i == 0));
		FUZZ_CHECK(ina_control_link(&meshers[i].control, 2 - i)->fd >= 0);
		ina_control_close(&meshers[i].control);
		close(roots[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	if (size == 0)
		return 0;
	if (input[0] == 0)
		fuzz_bootstrap(input + 1, size - 1);
	else if (input[0] == 4)
		fuzz_hello(input + 1, size - 1);
	else if (input[0] == 3)
		fuzz_mesh(input + 1, size - 1);
	else
		fuzz_channel(input[0] == 2 ? 0 : 1, input + 1, size - 1);
	return 0;
}
