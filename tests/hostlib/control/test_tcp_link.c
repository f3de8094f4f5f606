/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of the control channel: which bytes count as a frame, and which process it is
 * connected to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/deadline.h"
#include "hostlib/control/tcp_link.h"

/* The result of a link for a frame. */
static enum ina_link_result make(struct ina_control_frame *frame)
{
	struct ina_link to = {.fd = -1};
	struct ina_link from = {.fd = -1};
	enum ina_link_result result;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	to.fd = pair[0];
	from.fd = pair[1];
	frame->magic = INA_CONTROL_MAGIC;
	assert_int_equal(ina_link_send(&to, frame, ina_now_ms() + 1000), 0);
	result = ina_link_read(&from);
	ina_link_close(&to);
	ina_link_close(&from);
	return result;
}

static void set_status(struct ina_control_frame *frame, uint32_t status)
{
	switch (frame->type) {
	case INA_CONTROL_HELLO:
		frame->hello.status = status;
		break;
	case INA_CONTROL_WELCOME:
		frame->welcome.status = status;
		break;
	case INA_CONTROL_VOTES:
		frame->votes.status = status;
		break;
	case INA_CONTROL_FAULTS:
		frame->faults.status = status;
		break;
	case INA_CONTROL_NEWS:
		frame->news.status = status;
		break;
	default:
		frame->decision.status = status;
		break;
	}
}

/* The format knows no status and no kind of call other than those of ina.h and tcp_link.h. */
static void only_known_numbers(void **state)
{
	static const uint32_t with_status[] = {INA_CONTROL_WELCOME,  INA_CONTROL_VOTES,
	                                       INA_CONTROL_FAULTS,   INA_CONTROL_NEWS,
	                                       INA_CONTROL_DECISION, INA_CONTROL_DIAGNOSIS,
	                                       INA_CONTROL_FAREWELL, INA_CONTROL_HELLO};
	struct ina_control_frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(with_status) / sizeof(with_status[0]); i++) {
		memset(&frame, 0, sizeof(frame));
		frame.type = with_status[i];
		set_status(&frame, INA_ERR_ABORTED);
		assert_int_equal(make(&frame), INA_LINK_FRAME);
		set_status(&frame, INA_ERR_ABORTED + 1);
		assert_int_equal(make(&frame), INA_LINK_GARBAGE);
		set_status(&frame, UINT32_MAX);
		assert_int_equal(make(&frame), INA_LINK_GARBAGE);
	}
	memset(&frame, 0, sizeof(frame));
	frame.type = INA_CONTROL_STALL;
	frame.stall.call.kind = INA_CALL_CLOSE + 1;
	assert_int_equal(make(&frame), INA_LINK_GARBAGE);
	memset(&frame, 0, sizeof(frame));
	frame.type = INA_CONTROL_FAULTS;
	frame.faults.calls.count = INA_CALLED_MAX;
	assert_int_equal(make(&frame), INA_LINK_FRAME);
	frame.faults.calls.called[INA_CALLED_MAX - 1].current.kind = INA_CALL_CLOSE + 1;
	assert_int_equal(make(&frame), INA_LINK_GARBAGE);
	memset(&frame, 0, sizeof(frame));
	frame.type = INA_CONTROL_FAULTS;
	frame.faults.call.kind = INA_CALL_CLOSE + 1;
	assert_int_equal(make(&frame), INA_LINK_GARBAGE);
	memset(&frame, 0, sizeof(frame));
	frame.type = INA_CONTROL_VOTES;
	frame.votes.calls.count = INA_CALLED_MAX + 1;
	assert_int_equal(make(&frame), INA_LINK_GARBAGE);
	memset(&frame, 0, sizeof(frame));
	frame.type = INA_CONTROL_WELCOME;
	frame.welcome.count = INA_WELCOME_ENDPOINTS + 1;
	assert_int_equal(make(&frame), INA_LINK_GARBAGE);
	memset(&frame, 0, sizeof(frame));
	frame.type = INA_CONTROL_PLAN;
	frame.plan.owner = INA_MAX_RANKS;
	assert_int_equal(make(&frame), INA_LINK_GARBAGE);
}

#define SHORT_BYTES 64

/* Many ranks have little to say at the same time: the sender leaves out empty fields, and the
 * receiver fills them with zeros.
 */
static void a_frame_is_as_long_as_it_needs(void **state)
{
	struct ina_control_frame sent[3] = {
	        {.magic = INA_CONTROL_MAGIC, .type = INA_CONTROL_QUERY},
	        {.magic = INA_CONTROL_MAGIC, .type = INA_CONTROL_VOTES, .rank = 3},
	        {.magic = INA_CONTROL_MAGIC, .type = INA_CONTROL_DECISION, .rank = 1},
	};
	struct ina_link from = {.fd = -1};
	uint8_t bytes[3 * sizeof(sent[0])];
	ssize_t got;
	int far[2];
	int near[2];
	int frames = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, far), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, near), 0);
	memset(sent[1].votes.text, 'x', INA_CONTROL_TEXT - 1);
	sent[2].decision.minimum = 1024;
	for (int i = 0; i < 3; i++) {
		struct ina_link to = {.fd = far[0]};

		assert_int_equal(ina_link_send(&to, &sent[i], ina_now_ms() + 1000), 0);
	}
	got = recv(far[1], bytes, sizeof(bytes), 0);
	assert_true(got > 0 && (size_t)got < 2 * SHORT_BYTES + sizeof(sent[1]));
	/* The bytes come one by one. */
	from.fd = near[1];
	memset(&from.in, 0xFF, sizeof(from.in));
	for (ssize_t i = 0; i < got; i++) {
		enum ina_link_result result;

		assert_int_equal(send(near[0], bytes + i, 1, 0), 1);
		result = ina_link_read(&from);
		assert_true(result == INA_LINK_NOTHING || result == INA_LINK_FRAME);
		if (result == INA_LINK_FRAME)
			assert_memory_equal(&from.in, &sent[frames++], sizeof(from.in));
	}
	assert_int_equal(frames, 3);
	for (int i = 0; i < 2; i++) {
		close(far[i]);
		close(near[i]);
	}
}

/*
 * A port that the kernel may choose for a caller, and at which no process listens: sooner or later
 * a caller has that port itself, and TCP connects it to itself.
 */
static void not_to_itself(void **state)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	                         .sin_port = htons(40000)};

	(void)state;
	for (int i = 0; i < 200000; i++) {
		struct ina_link link = {.fd = -1};
		struct sockaddr_in own;
		socklen_t length = sizeof(own);

		if (ina_link_call(&link, &to) != 0)
			continue;
		if (ina_link_finish_call(&link, 5000) != 0)
			continue;
		/* Some other program may listen there just now. */
		assert_int_equal(getsockname(link.fd, (struct sockaddr *)&own, &length), 0);
		ina_link_close(&link);
		if (own.sin_port == to.sin_port)
			fail_msg("connected to itself at try %d", i);
	}
}

/*
 * Linux ends an idle connection at the first probe for which TCP_USER_TIMEOUT has passed since the
 * latest answer. That answer may be as old as the pause between two probes (tcp(7)).
 */
static void a_silent_host_has_its_time(void **state)
{
	static const struct {
		int peer_timeout_ms, timeout_ms;
	} cases[] = {{1, 1001}, {1000, 2000}, {5000, 6000}, {INT_MAX, INT_MAX}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		static const int in_seconds[] = {TCP_KEEPIDLE, TCP_KEEPINTVL};
		socklen_t size = sizeof(int);
		int value;

		assert_int_equal(ina_link_prepare(fd, cases[i].peer_timeout_ms), 0);
		assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &size), 0);
		assert_int_equal(value, cases[i].timeout_ms);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(getsockopt(fd, IPPROTO_TCP, in_seconds[k], &value, &size),
			                 0);
			assert_int_equal(value, 1);
		}
		close(fd);
	}
}

/* A TCP connection within this host; its near end. */
static int connect_to_here(int *far)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
	                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(here);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int near = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&here, sizeof(here)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&here, &size), 0);
	assert_int_equal(connect(near, (struct sockaddr *)&here, sizeof(here)), 0);
	*far = accept(listener, NULL, NULL);
	assert_true(*far >= 0);
	close(listener);
	return near;
}

/* The kernel of a live host answers, whatever its process does. If it is not asked, it is
 * silent. */
static void who_answers_is_not_silent(void **state)
{
	const int one = 1;
	const int timeout_ms = 300;
	int far[2];
	struct ina_link asked = {.fd = connect_to_here(&far[0])};
	struct ina_link unasked = {.fd = connect_to_here(&far[1])};
	struct tcp_info info;
	socklen_t info_size = sizeof(info);

	(void)state;
	assert_int_equal(getsockopt(asked.fd, IPPROTO_TCP, TCP_INFO, &info, &info_size), 0);
	if (info_size < offsetof(struct tcp_info, tcpi_rtt))
		skip(); /* qemu-user gives four bytes */
	assert_int_equal(ina_link_prepare(asked.fd, one), 0);
	assert_int_equal(setsockopt(unasked.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms,
	                            sizeof(timeout_ms)),
	                 0);
	assert_false(ina_link_is_silent(&unasked));
	usleep(3300000);
	assert_false(ina_link_is_silent(&asked));
	assert_true(ina_link_is_silent(&unasked));
	for (int i = 0; i < 2; i++)
		close(far[i]);
	ina_link_close(&asked);
	ina_link_close(&unasked);
}

static void nothing(int number)
{
	(void)number;
}

/* If the other end does not read, a frame waits until its deadline, however many signals come. */
static void signals_do_not_end_a_send(void **state)
{
	const struct itimerval often = {.it_value = {.tv_usec = 20000},
	                                .it_interval = {.tv_usec = 20000}};
	const struct itimerval never = {0};
	const struct sigaction by_nothing = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	struct ina_control_frame frame = {.magic = INA_CONTROL_MAGIC, .type = INA_CONTROL_NEWS};
	struct sigaction before;
	struct ina_link link = {.fd = -1};
	int64_t since_ms;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	link.fd = pair[0];
	memset(frame.news.text, 'x', sizeof(frame.news.text) - 1);
	while (ina_link_send(&link, &frame, ina_now_ms()) == 0)
		continue;
	assert_int_equal(sigaction(SIGALRM, &by_nothing, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	since_ms = ina_now_ms();
	assert_int_equal(ina_link_send(&link, &frame, since_ms + 500), -1);
	/* The clock's tick is 4 to 10 ms. */
	assert_true(ina_now_ms() - since_ms >= 480);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(only_known_numbers),
	        cmocka_unit_test(a_frame_is_as_long_as_it_needs),
	        cmocka_unit_test(not_to_itself),
	        cmocka_unit_test(a_silent_host_has_its_time),
	        cmocka_unit_test(who_answers_is_not_silent),
	        cmocka_unit_test(signals_do_not_end_a_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
