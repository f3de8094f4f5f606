/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to call. To be run on every rank:
 *
 *	check_calls MODE
 *
 *	many     hundreds of all-reduces outstanding, at any address, finished in another order
 *	chained  outstanding all-reduces, each of which uses the results of the ones before it
 *	threads  several threads at the same time, each with a separate communicator
 *	poll     two communicators under way in one thread, which sleeps in poll(); in
 *	         virtual time, because the test limits how long
 *	huge     more than 2^31 bytes in one call
 *	refused  one communicator too many for the aggregator: its turn comes when another closes
 *
 * Exits with 0 if every sum was right.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/clock.h"
#include "ina.h"

#define MANY         300
#define MANY_BYTES   (4u * 3000)
#define CHAIN_COUNT  50000u
#define THREADS      4
#define THREAD_CALLS 40
#define POLL_CALLS   20
#define POLL_COUNT   200000u
#define CONTEXTS     4                          /* of the lab's aggregator */
#define HUGE_COUNT   (((size_t)1 << 29) + 1237) /* int32: slightly more than 2^31 bytes */

static int complain(const char *what, const ina_comm *comm)
{
	fprintf(stderr, "check_calls: %s: %s\n", what, ina_error(comm));
	return 1;
}

static uint32_t value(int rank, size_t i, unsigned int salt)
{
	return (uint32_t)(i + salt) * 2654435761u * (uint32_t)(rank + 1);
}

static void fill(void *data, size_t count, int rank, unsigned int salt)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t number = value(rank, i, salt);

		memcpy((char *)data + i * sizeof(number), &number, sizeof(number));
	}
}

/* value() is linear in rank + 1. */
static int is_sum(const void *data, size_t count, int ranks, unsigned int salt)
{
	uint32_t times = (uint32_t)(ranks * (ranks + 1) / 2);

	for (size_t i = 0; i < count; i++) {
		uint32_t number;

		memcpy(&number, (const char *)data + i * sizeof(number), sizeof(number));
		if (number != value(0, i, salt) * times) {
			fprintf(stderr, "check_calls: element %zu of %zu is wrong\n", i, count);
			return 0;
		}
	}
	return 1;
}

/* A communicator next to others: each uses a different port at rank 0. */
static ina_comm *open_at(int port)
{
	struct ina_options options;
	const char *address = getenv("INA_ROOT");
	char root[64];
	char why[INA_ERROR_SIZE];
	ina_comm *comm;

	snprintf(root, sizeof(root), "%s:%d", address ? address : "", port);
	ina_options_init(&options);
	options.root = root;
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK)
		fprintf(stderr, "check_calls: port %d: %s\n", port, why);
	return comm;
}

static int check_many(void)
{
	static char memory[MANY][MANY_BYTES + 8];
	static ina_request *requests[MANY];
	ina_comm *comm = open_at(INA_DEFAULT_PORT);

	if (!comm)
		return 1;
	for (unsigned int i = 0; i < MANY; i++) {
		char *data = memory[i] + i % 8; /* any address */

		fill(data, i * 10, ina_comm_rank(comm), i);
		data[i * 40] = 0x77;
		if (ina_allreduce_start(comm, data, data, i * 10, INA_INT32, INA_SUM,
		                        &requests[i]) != INA_OK)
			return complain("many, start", comm);
	}
	/* The last one first; then every seventh, and so on around. */
	for (unsigned int k = 0; k < MANY; k++) {
		unsigned int i = (MANY - 1 + 7 * k) % MANY;
		const char *data = memory[i] + i % 8;

		if (ina_wait(requests[i]) != INA_OK)
			return complain("many, wait", comm);
		if (!is_sum(data, i * 10, ina_comm_ranks(comm), i) || data[i * 40] != 0x77)
			return 1;
	}
	return ina_close(comm) != INA_OK;
}

/* Is it the sum of all ranks' data, multiplied by `by`? */
static int is_multiple(const uint32_t *data, size_t count, int ranks, unsigned int salt,
                       uint32_t by)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t sum = 0;

		for (int r = 0; r < ranks; r++)
			sum += value(r, i, salt);
		if (data[i] != sum * by) {
			fprintf(stderr, "check_calls: chained: element %zu of %zu is wrong\n", i,
			        count);
			return 0;
		}
	}
	return 1;
}

/* x to y, y to z, y in place, y to x: these requests may not share the window. */
static int check_chained(void)
{
	static uint32_t x[CHAIN_COUNT];
	static uint32_t y[CHAIN_COUNT];
	static uint32_t z[CHAIN_COUNT];
	static uint32_t *const from[] = {x, y, y, y};
	static uint32_t *const to[] = {y, z, y, x};
	static const size_t counts[] = {1, 100, CHAIN_COUNT};
	ina_comm *comm = open_at(INA_DEFAULT_PORT);

	if (!comm)
		return 1;
	for (unsigned int k = 0; k < 3 * 5; k++) {
		ina_request *requests[4];
		size_t count = counts[k % 3];
		uint32_t n = (uint32_t)ina_comm_ranks(comm);

		fill(x, count, ina_comm_rank(comm), k);
		for (int i = 0; i < 4; i++) {
			if (ina_allreduce_start(comm, from[i], to[i], count, INA_INT32, INA_SUM,
			                        &requests[i]) != INA_OK)
				return complain("chained, start", comm);
		}
		for (int i = 3; i >= 0; i--) {
			if (ina_wait(requests[i]) != INA_OK)
				return complain("chained, wait", comm);
		}
		if (!is_multiple(z, count, (int)n, k, n) || !is_multiple(y, count, (int)n, k, n) ||
		    !is_multiple(x, count, (int)n, k, n * n))
			return 1;
	}
	return ina_close(comm) != INA_OK;
}

static void *run_thread(void *port)
{
	ina_comm *comm = open_at(*(const int *)port);
	unsigned int salt = (unsigned int)*(const int *)port;
	char *data = malloc(MANY_BYTES);
	const size_t count = MANY_BYTES / 4;
	void *failed = port;

	if (!comm || !data)
		goto out;
	for (unsigned int i = 0; i < THREAD_CALLS; i++) {
		fill(data, count - i, ina_comm_rank(comm), salt + i);
		if (ina_allreduce(comm, data, data, count - i, INA_INT32, INA_SUM) != INA_OK) {
			complain("threads", comm);
			goto out;
		}
		if (!is_sum(data, count - i, ina_comm_ranks(comm), salt + i))
			goto out;
	}
	failed = NULL;
out:
	if (ina_close(comm) != INA_OK)
		failed = port;
	free(data);
	return failed;
}

static int check_threads(void)
{
	pthread_t threads[THREADS];
	int ports[THREADS];
	int failed = 0;

	for (int t = 0; t < THREADS; t++) {
		ports[t] = INA_DEFAULT_PORT + t;
		if (pthread_create(&threads[t], NULL, run_thread, &ports[t]) != 0)
			return 2;
	}
	for (int t = 0; t < THREADS; t++) {
		void *result;

		pthread_join(threads[t], &result);
		failed |= result != NULL;
	}
	return failed;
}

/* The part of one communicator in check_poll(). */
struct polled {
	ina_comm *comm;
	ina_request *request;
	char *data;
	int done; /* calls */
	unsigned int tests;
};

static int start_polled(struct polled *p, unsigned int salt)
{
	fill(p->data, POLL_COUNT, ina_comm_rank(p->comm), salt + (unsigned int)p->done);
	if (ina_allreduce_start(p->comm, p->data, p->data, POLL_COUNT, INA_INT32, INA_SUM,
	                        &p->request) != INA_OK)
		return complain("poll, start", p->comm);
	return 0;
}

static int test_polled(struct polled *p, unsigned int salt)
{
	int done = 0;

	while (p->request) {
		p->tests++;
		if (ina_test(p->request, &done) != INA_OK)
			return complain("poll, test", p->comm);
		if (!done)
			return 0;
		p->request = NULL;
		if (!is_sum(p->data, POLL_COUNT, ina_comm_ranks(p->comm),
		            salt + (unsigned int)p->done))
			return 1;
		p->done++;
		if (p->done < POLL_CALLS && start_polled(p, salt) != 0)
			return 1;
	}
	return 0;
}

static int check_poll(void)
{
	struct polled both[2] = {0};
	struct pollfd fds[2];
	unsigned int wakes = 0;
	double start_s;

	for (int k = 0; k < 2; k++) {
		both[k].comm = open_at(INA_DEFAULT_PORT + k);
		both[k].data = malloc(POLL_COUNT * 4);
		if (!both[k].comm || !both[k].data)
			return 1;
		fds[k].events = POLLIN;
		if (ina_comm_fd(both[k].comm, &fds[k].fd) != INA_OK)
			return complain("poll, descriptor", both[k].comm);
		if (start_polled(&both[k], 1000u * (unsigned int)k) != 0)
			return 1;
	}
	start_s = ina_now_s();
	while (both[0].request || both[1].request) {
		for (int k = 0; k < 2; k++) {
			if (test_polled(&both[k], 1000u * (unsigned int)k) != 0)
				return 1;
			if (!both[k].request)
				fds[k].fd = -1;
		}
		if ((both[0].request || both[1].request) && poll(fds, 2, 5000) <= 0) {
			fprintf(stderr, "check_calls: poll() slept for 5 s\n");
			return 1;
		}
		wakes++;
	}
	/* 13 messages a call at MTU 4096: each wakes the rank at most for a send, for a receive and
	 * sometimes for a tick. */
	printf("poll: %u wakes, %u and %u tests\n", wakes, both[0].tests, both[1].tests);
	if (wakes > 2u * POLL_CALLS * 13 * 8) {
		fprintf(stderr, "check_calls: the descriptors were readable without reason\n");
		return 1;
	}
	/* If only the tick of half a second woke it, each call would take at least one tick. */
	if (ina_now_s() - start_s > 0.5) {
		fprintf(stderr, "check_calls: completions woke no thread\n");
		return 1;
	}
	for (int k = 0; k < 2; k++) {
		free(both[k].data);
		if (ina_close(both[k].comm) != INA_OK)
			return 1;
	}
	return 0;
}

/*
 * Memory with all its pages mapped. A guest's page fault takes up to a millisecond if the machine
 * is busy; half a million of them are too many. User Mode Linux maps the pages of a range in one go
 * if their protection changes.
 */
static char *map_with_pages(size_t bytes)
{
	char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (data == MAP_FAILED || mprotect(data, bytes, PROT_READ) != 0 ||
	    mprotect(data, bytes, PROT_READ | PROT_WRITE) != 0)
		return NULL;
	return data;
}

static int check_huge(void)
{
	ina_comm *comm = open_at(INA_DEFAULT_PORT);
	char *data = map_with_pages(HUGE_COUNT * 4);
	struct ina_stats stats;

	if (!comm || !data)
		return 1;
	fill(data, HUGE_COUNT, ina_comm_rank(comm), 5);
	if (ina_allreduce(comm, data, data, HUGE_COUNT, INA_INT32, INA_SUM) != INA_OK)
		return complain("huge", comm);
	if (!is_sum(data, HUGE_COUNT, ina_comm_ranks(comm), 5))
		return 1;
	ina_comm_stats(comm, &stats, sizeof(stats));
	if (stats.bytes_aggregated + stats.bytes_ring != HUGE_COUNT * 4)
		return complain("huge, counts", comm);
	munmap(data, HUGE_COUNT * 4);
	return ina_close(comm) != INA_OK;
}

static int is_aggregated(const ina_comm *comm)
{
	struct ina_stats stats;

	ina_comm_stats(comm, &stats, sizeof(stats));
	return stats.algorithm == INA_ALGORITHM_INA;
}

static int check_refused(void)
{
	ina_comm *comms[CONTEXTS + 1];
	struct ina_stats stats;
	uint32_t data[100];

	for (int k = 0; k <= CONTEXTS; k++) {
		comms[k] = open_at(INA_DEFAULT_PORT);
		if (!comms[k])
			return 1;
		if (is_aggregated(comms[k]) != (k < CONTEXTS))
			return complain("refused, opened", comms[k]);
	}
	if (ina_close(comms[0]) != INA_OK)
		return 1;
	/* All ranks see the change at the same call. */
	for (unsigned int i = 0; i < 100000 && !is_aggregated(comms[CONTEXTS]); i++) {
		fill(data, 100, ina_comm_rank(comms[CONTEXTS]), i);
		if (ina_allreduce(comms[CONTEXTS], data, data, 100, INA_INT32, INA_SUM) != INA_OK)
			return complain("refused", comms[CONTEXTS]);
		if (!is_sum(data, 100, ina_comm_ranks(comms[CONTEXTS]), i))
			return 1;
	}
	ina_comm_stats(comms[CONTEXTS], &stats, sizeof(stats));
	if (stats.rejoins != 1 || stats.fallbacks != 0 || stats.messages_aggregated != 1)
		return complain("refused, counts", comms[CONTEXTS]);
	for (int k = 1; k <= CONTEXTS; k++) {
		if (ina_close(comms[k]) != INA_OK)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(mode, "chained") == 0)
		return check_chained();
	if (strcmp(mode, "many") == 0)
		return check_many();
	if (strcmp(mode, "threads") == 0)
		return check_threads();
	if (strcmp(mode, "poll") == 0)
		return check_poll();
	if (strcmp(mode, "huge") == 0)
		return check_huge();
	if (strcmp(mode, "refused") == 0)
		return check_refused();
	fprintf(stderr,
	        "check_calls: needs a mode: many, chained, threads, poll, huge or refused\n");
	return 2;
}
