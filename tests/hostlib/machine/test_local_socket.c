/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of one machine meet, and other callers come to the same socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/deadline.h"
#include "hostlib/machine/local_socket.h"

#define JOB      UINT64_C(0x123456789ABCDEF0)
#define FDS_MOST 253 /* the most that the kernel takes in one message: SCM_MAX_FD */

static struct ina_control control;
static int wake[2];
static int alive[2];
static enum ina_status gathered;

static struct ina_local_meeting meeting_of(int index)
{
	return (struct ina_local_meeting){
	        .job_id = JOB,
	        .index = index,
	        .count = 2,
	        .leader = 5,
	        .control = &control,
	        .deadline_ms = ina_now_ms() + 30000,
	};
}

static struct ina_local_meeting leaders;

static void *gather(void *ignored)
{
	struct ina_failure failure;

	gathered = ina_local_gather(&leaders, wake, alive, &failure);
	return ignored;
}

static int handed[2];
static enum ina_status attended;

static void *attend(void *own)
{
	struct ina_local_meeting meeting = meeting_of(1);
	struct ina_failure failure;

	attended = ina_local_attend(&meeting, own, handed, 2, &failure);
	return NULL;
}

/* The name of this job's socket, which the kernel lists for everybody; the test waits until it is
 * listed. */
static socklen_t find_name(struct sockaddr_un *name, char *line, size_t size)
{
	for (;;) {
		FILE *file = fopen("/proc/net/unix", "r");
		const char *at;

		assert_non_null(file);
		while (fgets(line, (int)size, file)) {
			at = strstr(line, "@ina.");
			if (!at)
				continue;
			fclose(file);
			*name = (struct sockaddr_un){.sun_family = AF_UNIX};
			memcpy(name->sun_path + 1, at + 1, strcspn(at + 1, "\n"));
			return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			                   strcspn(at + 1, "\n"));
		}
		fclose(file);
		usleep(1000);
	}
}

static int count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* Sends `index` with `count` descriptors. */
static void send_some(int socket, uint32_t index, int count)
{
	alignas(struct cmsghdr) char room[CMSG_SPACE(FDS_MOST * sizeof(int))] = {0};
	struct iovec data = {.iov_base = &index, .iov_len = sizeof(index)};
	size_t bytes = (size_t)count * sizeof(int);
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = room,
	                         .msg_controllen = CMSG_SPACE(bytes)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	int lent = 0; /* any descriptor will do */

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(bytes);
	for (int i = 0; i < count; i++)
		memcpy(CMSG_DATA(head) + (size_t)i * sizeof(int), &lent, sizeof(int));
	assert_int_equal(sendmsg(socket, &message, MSG_NOSIGNAL), sizeof(index));
}

/* Sends `count` descriptors as rank `index`, and is sent away. */
static void intrude(const struct sockaddr_un *name, socklen_t name_size, uint32_t index, int count)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char answer;

	assert_int_equal(connect(fd, (const struct sockaddr *)name, name_size), 0);
	send_some(fd, index, count);
	assert_true(recv(fd, &answer, 1, 0) <= 0);
	close(fd);
}

/* Does the kernel close the descriptors for which the receiver has no room? qemu-user does not. */
static bool closes_what_is_cut_off(void)
{
	const int before = count_fds();
	alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	uint32_t index;
	struct iovec data = {.iov_base = &index, .iov_len = sizeof(index)};
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = room,
	                         .msg_controllen = CMSG_LEN(sizeof(int))};
	int pair[2];
	int got;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	send_some(pair[0], 0, 3);
	assert_int_equal(recvmsg(pair[1], &message, MSG_CMSG_CLOEXEC), sizeof(index));
	if (CMSG_FIRSTHDR(&message)) {
		memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(got));
		close(got);
	}
	close(pair[0]);
	close(pair[1]);
	return count_fds() == before;
}

static void others_bring_what_they_like(void **state)
{
	struct ina_failure failure;
	struct sockaddr_un name;
	char line[200];
	char job[20];
	pthread_t thread;
	pthread_t other;
	socklen_t size;
	int own[INA_LOCAL_BRINGS];
	int before;

	(void)state;
	if (!closes_what_is_cut_off())
		skip();
	ina_control_init(&control, 0, 2);
	leaders = meeting_of(0);
	assert_int_equal(pthread_create(&thread, NULL, gather, NULL), 0);
	size = find_name(&name, line, sizeof(line));
	snprintf(job, sizeof(job), "%016" PRIx64, JOB);
	assert_null(strstr(line, job)); /* only the job's ranks may know its id */
	before = count_fds();
	intrude(&name, size, 1, 1);
	intrude(&name, size, 1, 3);
	intrude(&name, size, 1, FDS_MOST - 3); /* as many as one call looks for */
	intrude(&name, size, 1, FDS_MOST - 2);
	intrude(&name, size, 1, FDS_MOST);
	intrude(&name, size, 0, 2);
	intrude(&name, size, 2, 2);
	intrude(&name, size, UINT32_MAX, 2);
	assert_int_equal(count_fds(), before);

	assert_int_equal(pipe2(own, O_CLOEXEC), 0);
	assert_int_equal(pthread_create(&other, NULL, attend, own), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(gathered, INA_OK);
	assert_int_equal(ina_local_hand_out(&leaders, own, 2, &failure), INA_OK);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(attended, INA_OK);
	for (int i = 0; i < 2; i++) {
		close(own[i]);
		close(handed[i]);
	}
	close(wake[1]);
	close(alive[1]);
	assert_int_equal(count_fds(), before - 1); /* the listening socket */
	ina_control_close(&control);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(others_bring_what_they_like),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
