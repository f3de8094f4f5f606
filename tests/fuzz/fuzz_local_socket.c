/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any process of the user may come to the socket where the ranks of a machine meet, with any
 * message and any descriptors. The first byte selects the code that is fuzzed. Even: the leader, to
 * which other callers come before its ranks do. Odd: another rank, whose leader may send any
 * answer.
 *
 * The callers are in the socket's queue before anything is taken from it. For this the leader's
 * call of listen(), and the other rank's of connect(), are wrapped.
 */
#include <fcntl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/deadline.h"
#include "fuzz.h"
#include "hostlib/machine/local_socket.h"

enum {
	FDS_MOST = 253,  /* the most that the kernel takes in one message: SCM_MAX_FD */
	LENT_MOST = 600, /* in waiting messages: a user may not have more under way than files
	                  * open */
	COMERS_MOST = 40,
	RANKS_MOST = 5,
	HANDED_MOST = 129, /* of 64 ranks */
	NUMBERS = 512,     /* descriptor numbers that may be open during the test */
};

/* it sends something */
struct comer {
	bool says; /* it sends any bytes */
	bool stays;
	uint32_t index;
	unsigned bytes; /* of the message; the index is its first four bytes */
	unsigned fds;
	int fd; /* -1: it has ended */
};

static struct ina_control control;
static int lent[FDS_MOST]; /* a single file, which all callers send */
static struct comer comers[COMERS_MOST + RANKS_MOST];
static unsigned comer_count;

int __real_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog);
int __real_connect(int fd, const struct sockaddr *name, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *name, socklen_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static unsigned count_open(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < NUMBERS; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void say(int fd, const struct comer *comer)
{
	alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(lent))] = {0};
	uint8_t bytes[256] = {0};
	struct iovec data = {.iov_base = bytes, .iov_len = comer->bytes};
	size_t size = comer->fds * sizeof(int);
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

	memcpy(bytes, &comer->index, sizeof(comer->index));
	if (comer->fds > 0) {
		message.msg_control = room;
		message.msg_controllen = CMSG_SPACE(size);
		*CMSG_FIRSTHDR(&message) = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
		                                            .cmsg_type = SCM_RIGHTS,
		                                            .cmsg_len = CMSG_LEN(size)};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&message)), lent, size);
	}
	FUZZ_CHECK(sendmsg(fd, &message, MSG_NOSIGNAL) == (ssize_t)comer->bytes);
}

static struct comer next_comer(struct fuzz_input *input)
{
	const unsigned flags = fuzz_byte(input), index = fuzz_byte(input);
	const unsigned bytes = fuzz_byte(input), fds = fuzz_byte(input);

	return (struct comer){
	        .says = flags & 1,
	        .stays = flags & 2,
	        .index = index < 0xF0 ? index % (RANKS_MOST + 1) : UINT32_MAX << (index & 0xF),
	        .bytes = bytes < 0xC0 ? sizeof(uint32_t) : bytes % 16,
	        .fds = fds < 0x80 ? fds % 8 : (fds & 0x7F) * 2 % (FDS_MOST + 1),
	        .fd = -1,
	};
}

/* All callers; the ranks come after the others. */
static void prepare(struct fuzz_input *input, int ranks)
{
	unsigned under_way = 0;

	comer_count = 0;
	while (input->left > 0 && comer_count < COMERS_MOST) {
		struct comer *comer = &comers[comer_count++];

		*comer = next_comer(input);
		if (under_way + comer->fds > LENT_MOST)
			comer->fds = 0;
		under_way += comer->fds;
	}
	for (int rank = 1; rank < ranks; rank++)
		comers[comer_count++] = (struct comer){.says = true,
		                                       .stays = true,
		                                       .index = (uint32_t)rank,
		                                       .bytes = sizeof(uint32_t),
		                                       .fds = INA_LOCAL_BRINGS};
}

/* The leader listens: all callers come. A caller that sends nothing closes, because a leader waits
 * for one that stays open. */
int __wrap_listen(int fd, int backlog)
{
	struct sockaddr_un name;
	socklen_t size = sizeof(name);

	FUZZ_CHECK(getsockname(fd, (struct sockaddr *)&name, &size) == 0);
	FUZZ_CHECK(__real_listen(fd, backlog) == 0);
	for (unsigned i = 0; i < comer_count; i++) {
		struct comer *comer = &comers[i];

		comer->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		FUZZ_CHECK(__real_connect(comer->fd, (struct sockaddr *)&name, size) == 0);
		if (comer->says)
			say(comer->fd, comer);
		if (comer->says && comer->stays)
			continue;
		close(comer->fd);
		comer->fd = -1;
	}
	return 0;
}

/* Another rank reaches its leader, which has answered already: the first of the callers. */
int __wrap_connect(int fd, const struct sockaddr *name, socklen_t size)
{
	const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	FUZZ_CHECK(bind(listener, name, size) == 0 && __real_listen(listener, 1) == 0);
	FUZZ_CHECK(__real_connect(fd, name, size) == 0);
	comers[0].fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	FUZZ_CHECK(comers[0].fd >= 0);
	close(listener);
	if (comers[0].says)
		say(comers[0].fd, &comers[0]);
	if (!comers[0].says) {
		close(comers[0].fd);
		comers[0].fd = -1;
	}
	return 0;
}

static bool is_the_lent(int fd)
{
	struct stat one, other;

	return fstat(fd, &one) == 0 && fstat(lent[0], &other) == 0 && one.st_ino == other.st_ino &&
	       fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

static void give_back(const int *fds, int count)
{
	for (int i = 0; i < count; i++) {
		FUZZ_CHECK(is_the_lent(fds[i]));
		close(fds[i]);
	}
}

/* The first caller that claims to be this rank and sends what a rank sends. */
static const struct comer *find_rank(int rank)
{
	for (unsigned i = 0; i < comer_count; i++) {
		if (comers[i].says && comers[i].index == (uint32_t)rank &&
		    comers[i].bytes == sizeof(uint32_t) && comers[i].fds == INA_LOCAL_BRINGS)
			return &comers[i];
	}
	FUZZ_CHECK(!"every rank comes");
	return NULL;
}

static void fuzz_leader(struct fuzz_input *input, struct ina_local_meeting *meeting)
{
	int wake[RANKS_MOST], alive[RANKS_MOST];
	struct ina_failure failure;
	bool all_stay = true;

	meeting->count = 2 + (int)fuzz_byte(input) % (RANKS_MOST - 1);
	prepare(input, meeting->count);
	FUZZ_CHECK(ina_local_gather(meeting, wake, alive, &failure) == INA_OK);
	for (int rank = 1; rank < meeting->count; rank++) {
		give_back(&wake[rank], 1);
		give_back(&alive[rank], 1);
		all_stay = all_stay && find_rank(rank)->fd >= 0;
	}
	FUZZ_CHECK((ina_local_hand_out(meeting, lent, 3, &failure) == INA_OK) == all_stay);
	for (int rank = 1; all_stay && rank < meeting->count; rank++) {
		uint32_t answer;

		FUZZ_CHECK(recv(find_rank(rank)->fd, &answer, sizeof(answer), MSG_DONTWAIT) ==
		           sizeof(answer));
	}
}

static void fuzz_other(struct fuzz_input *input, struct ina_local_meeting *meeting)
{
	const unsigned count = 1 + fuzz_byte(input) % HANDED_MOST;
	int fds[HANDED_MOST];
	struct ina_failure failure;

	meeting->count = 2;
	meeting->index = 1;
	comer_count = 1;
	comers[0] = next_comer(input);
	const bool good =
	        comers[0].says && comers[0].bytes == sizeof(uint32_t) && comers[0].fds == count;
	const enum ina_status status = ina_local_attend(meeting, lent, fds, (int)count, &failure);

	FUZZ_CHECK(status == (good ? INA_OK : INA_ERR_PEER));
	if (good)
		give_back(fds, (int)count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = {bytes, size};
	struct ina_local_meeting meeting = {
	        .job_id = (uint64_t)getpid(), /* other fuzzers run on this machine too */
	        .control = &control,
	        .deadline_ms = ina_now_ms() + 30000,
	};

	if (lent[0] == 0)
		lent[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (int i = 1; i < FDS_MOST; i++)
		lent[i] = lent[0];
	const unsigned before = count_open();
	ina_control_init(&control, 0, 2);
	if (fuzz_byte(&input) % 2 == 0)
		fuzz_leader(&input, &meeting);
	else
		fuzz_other(&input, &meeting);
	for (unsigned i = 0; i < comer_count; i++) {
		if (comers[i].fd >= 0)
			close(comers[i].fd);
	}
	ina_control_close(&control);
	FUZZ_CHECK(count_open() == before);
	return 0;
}
