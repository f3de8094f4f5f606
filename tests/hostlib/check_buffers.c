/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of every kind. To be run on every rank:
 *
 *	check_buffers ina|ring|auto changed|readonly|bad...
 *	check_buffers ina|ring limited
 *
 * changed: between calls, other pages are mapped at a buffer's address, in every way that C and
 * Linux have for it. readonly: data that are only sent lie in memory that cannot be written.
 * limited: the process may lock less memory than its buffers have. bad: addresses that a process
 * cannot use, such as those of a device. In the last call only rank 0 has one, which ends the
 * communicator.
 *
 * Exits with 0 if every result and every status was right.
 */
#include <alloca.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ina.h"

#define PAGE_BYTES ((size_t)4096)

/* The memory that may be locked, by Debian's default: enough for the library's own memory, and for
 * one of two buffers of 4 MiB. */
#define LIMIT_BYTES ((size_t)8 << 20)
#define ROUNDS      2
#define PIECES      3 /* of a group; also the number of calls that are under way together */

/* Elements of a call: part of a message; more than is copied; long enough for half of a ring. */
static const size_t COUNTS[] = {300, 20001};
#define COUNT_MAX ((size_t)20001)

static ina_comm *comm;
static int rank;
static int ranks;

static int complain(const char *what, const char *detail)
{
	fprintf(stderr, "check_buffers: %s: %s\n", what, detail);
	return 1;
}

static int32_t value(int r, size_t i, int round)
{
	return (int32_t)(i % 1000 * (size_t)(r + 1)) + 7 * round;
}

static int32_t sum(size_t i, int round)
{
	int32_t all = 0;

	for (int r = 0; r < ranks; r++)
		all += value(r, i, round);
	return all;
}

static void fill(int32_t *data, size_t count, int round)
{
	for (size_t i = 0; i < count; i++)
		data[i] = value(rank, i, round);
}

static int is_sum(const int32_t *data, size_t count, int round)
{
	for (size_t i = 0; i < count; i++) {
		if (data[i] != sum(i, round))
			return 0;
	}
	return 1;
}

/* The calls. Each has room for ranks * count elements at send and at recv, and gets other values in
 * each round. */

static int in_place(int32_t *send, int32_t *recv, size_t count, int round)
{
	(void)recv;
	fill(send, count, round);
	return ina_allreduce(comm, send, send, count, INA_INT32, INA_SUM) == INA_OK &&
	       is_sum(send, count, round);
}

static int apart(int32_t *send, int32_t *recv, size_t count, int round)
{
	fill(send, count, round);
	return ina_allreduce(comm, send, recv, count, INA_INT32, INA_SUM) == INA_OK &&
	       is_sum(recv, count, round);
}

/* Both are under way before either of them is waited for. */
static int started(int32_t *send, int32_t *recv, size_t count, int round)
{
	ina_request *requests[PIECES];
	size_t part = count / PIECES;
	int good = 1;

	fill(send, PIECES * part, round);
	for (int i = 0; i < PIECES; i++)
		good = good &&
		       ina_allreduce_start(comm, send + (size_t)i * part, recv + (size_t)i * part,
		                           part, INA_INT32, INA_SUM, &requests[i]) == INA_OK;
	for (int i = 0; good && i < PIECES; i++)
		good = ina_wait(requests[i]) == INA_OK;
	return good && is_sum(recv, PIECES * part, round);
}

static int grouped(int32_t *send, int32_t *recv, size_t count, int round)
{
	ina_request *requests[PIECES];
	size_t part = count / PIECES;
	int good = ina_group_start(comm) == INA_OK;

	fill(send, PIECES * part, round);
	for (int i = 0; i < PIECES; i++)
		good = good &&
		       ina_allreduce_start(comm, send + (size_t)i * part, recv + (size_t)i * part,
		                           part, INA_INT32, INA_SUM, &requests[i]) == INA_OK;
	good = good && ina_group_end(comm) == INA_OK;
	for (int i = 0; good && i < PIECES; i++)
		good = ina_wait(requests[i]) == INA_OK;
	return good && is_sum(recv, PIECES * part, round);
}

static int scattered(int32_t *send, int32_t *recv, size_t count, int round)
{
	size_t first = (size_t)rank * count;

	fill(send, (size_t)ranks * count, round);
	if (ina_reduce_scatter(comm, send, recv, count, INA_INT32, INA_SUM) != INA_OK)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (recv[i] != sum(first + i, round))
			return 0;
	}
	return 1;
}

static int gathered(int32_t *send, int32_t *recv, size_t count, int round)
{
	fill(send, count, round);
	if (ina_all_gather(comm, send, recv, count, INA_INT32) != INA_OK)
		return 0;
	for (size_t i = 0; i < (size_t)ranks * count; i++) {
		if (recv[i] != value((int)(i / count), i % count, round))
			return 0;
	}
	return 1;
}

static int told(int32_t *send, int32_t *recv, size_t count, int round)
{
	int root = round % ranks;

	fill(send, count, round);
	if (ina_broadcast(comm, send, recv, count, INA_INT32, root) != INA_OK)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (recv[i] != value(root, i, round))
			return 0;
	}
	return 1;
}

static int reduced(int32_t *send, int32_t *recv, size_t count, int round)
{
	int root = round % ranks;

	fill(send, count, round);
	return ina_reduce(comm, send, recv, count, INA_INT32, INA_SUM, root) == INA_OK &&
	       (rank != root || is_sum(recv, count, round));
}

static const struct {
	const char *name;
	int (*call)(int32_t *send, int32_t *recv, size_t count, int round);
} CALLS[] = {{"in place", in_place},        {"apart", apart},
             {"started", started},          {"grouped", grouped},
             {"reduce-scatter", scattered}, {"all-gather", gathered},
             {"broadcast", told},           {"reduce", reduced}};

#define CALL_COUNT (sizeof(CALLS) / sizeof(CALLS[0]))

/* Mappings. A failed one leaves MAP_FAILED, which makes any call crash. */

static void *map(void *where, size_t bytes)
{
	return mmap(where, bytes, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | (where ? MAP_FIXED : 0), -1, 0);
}

static void *renew_malloc(void *old, size_t bytes)
{
	free(old);
	return malloc(bytes);
}

static void *renew_realloc(void *old, size_t bytes)
{
	static int times;

	return realloc(old, bytes + (size_t)(times++ % 3) * bytes);
}

static void *renew_mmap(void *old, size_t bytes)
{
	if (old)
		munmap(old, bytes);
	return map(old, bytes);
}

/* Moves other pages to the address. */
static void *renew_mremap(void *old, size_t bytes)
{
	if (!old)
		return map(NULL, bytes);
	return mremap(map(NULL, bytes), bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, old);
}

static void *renew_dontneed(void *old, size_t bytes)
{
	if (!old)
		return map(NULL, bytes);
	return madvise(old, bytes, MADV_DONTNEED) == 0 ? old : MAP_FAILED;
}

/* The process writes next to pages that it shares with a child, so it gets copies of them. */
static void *renew_fork(void *old, size_t bytes)
{
	static pid_t child;

	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	if (!old)
		old = map(NULL, bytes);
	child = fork();
	if (child == 0) {
		for (;;)
			pause();
	}
	return child > 0 ? old : MAP_FAILED;
}

static const struct {
	const char *name;
	void *(*renew)(void *old, size_t bytes); /* of the same size in all calls */
} WAYS[] = {{"malloc", renew_malloc}, {"realloc", renew_realloc},   {"mmap", renew_mmap},
            {"mremap", renew_mremap}, {"dontneed", renew_dontneed}, {"fork", renew_fork}};

static int check_way(const char *name, void *(*renew)(void *old, size_t bytes), size_t call)
{
	size_t bytes = ((size_t)ranks * COUNT_MAX * sizeof(int32_t) + PAGE_BYTES - 1) / PAGE_BYTES *
	               PAGE_BYTES;
	uint8_t *memory = NULL;

	for (size_t c = 0; c < sizeof(COUNTS) / sizeof(COUNTS[0]); c++) {
		for (int round = 0; round < ROUNDS; round++) {
			memory = renew(memory, 2 * bytes);
			if (!CALLS[call].call((int32_t *)memory, (int32_t *)(memory + bytes),
			                      COUNTS[c], round)) {
				fprintf(stderr,
				        "check_buffers: %s, %s, %zu elements, round %d: %s\n", name,
				        CALLS[call].name, COUNTS[c], round,
				        ina_error(comm)[0] ? ina_error(comm) : "wrong elements");
				return 1;
			}
		}
	}
	return 0;
}

static int on_the_stack(size_t call, size_t count, int round)
{
	size_t bytes = (size_t)ranks * count * sizeof(int32_t);
	int32_t *send = alloca(bytes);
	int32_t *recv = alloca(bytes);

	return CALLS[call].call(send, recv, count, round);
}

static int check_changed(void)
{
	for (size_t call = 0; call < CALL_COUNT; call++) {
		for (size_t way = 0; way < sizeof(WAYS) / sizeof(WAYS[0]); way++) {
			if (check_way(WAYS[way].name, WAYS[way].renew, call) != 0)
				return 1;
		}
		for (int round = 0; round < ROUNDS; round++) {
			if (!on_the_stack(call, COUNTS[round % 2], round))
				return complain(CALLS[call].name, "wrong on the stack");
		}
	}
	return 0;
}

/* Memory with this rank's values that cannot be written. */

static const int32_t *private_pages(size_t count)
{
	int32_t *data = map(NULL, count * sizeof(*data));

	fill(data, count, 0);
	return mprotect(data, count * sizeof(*data), PROT_READ) == 0 ? data : MAP_FAILED;
}

static const int32_t *mapped_file(size_t count, int flags)
{
	int fd = memfd_create("weights", 0);
	int32_t *data = malloc(count * sizeof(*data));
	size_t bytes = count * sizeof(*data);
	const int32_t *mapped = MAP_FAILED;

	fill(data, count, 0);
	if (write(fd, data, bytes) == (ssize_t)bytes)
		mapped = mmap(NULL, bytes, PROT_READ, flags, fd, 0);
	free(data);
	close(fd);
	return mapped;
}

static const int32_t *shared_file(size_t count)
{
	return mapped_file(count, MAP_SHARED);
}

static const int32_t *private_file(size_t count)
{
	return mapped_file(count, MAP_PRIVATE);
}

static int is_value(const int32_t *data, size_t count, int r)
{
	for (size_t i = 0; i < count; i++) {
		if (data[i] != value(r, i, 0))
			return 0;
	}
	return 1;
}

/* From each root in turn, in place and not, and to all others. */
static int broadcasts(const int32_t *data, int32_t *recv, size_t count)
{
	for (int root = 0; root < ranks; root++) {
		for (int apart_at_root = 0; apart_at_root < 2; apart_at_root++) {
			int is_in_place = rank == root && !apart_at_root;
			int32_t *to = is_in_place ? (int32_t *)(uintptr_t)data : recv;

			memset(recv, 0x5A, count * sizeof(*recv));
			if (ina_broadcast(comm, data, to, count, INA_INT32, root) != INA_OK ||
			    !is_value(to, count, root))
				return 0;
		}
	}
	return 1;
}

static int sends(const int32_t *data, int32_t *recv, size_t count)
{
	if (ina_allreduce(comm, data, recv, count, INA_INT32, INA_SUM) != INA_OK ||
	    !is_sum(recv, count, 0))
		return 0;
	if (ina_reduce(comm, data, rank == 0 ? recv : NULL, count, INA_INT32, INA_SUM, 0) != INA_OK)
		return 0;
	if (ina_all_gather(comm, data, recv, count, INA_INT32) != INA_OK)
		return 0;
	for (int r = 0; r < ranks; r++) {
		if (!is_value(recv + (size_t)r * count, count, r))
			return 0;
	}
	return 1;
}

static int check_readonly(void)
{
	static const struct {
		const char *name;
		const int32_t *(*make)(size_t count);
	} kinds[] = {{"private pages", private_pages},
	             {"a shared file", shared_file},
	             {"a private file", private_file}};
	int32_t *recv = malloc((size_t)ranks * COUNT_MAX * sizeof(*recv));

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		for (size_t c = 0; c < sizeof(COUNTS) / sizeof(COUNTS[0]); c++) {
			const int32_t *data = kinds[k].make(COUNTS[c]);

			if (!broadcasts(data, recv, COUNTS[c]) || !sends(data, recv, COUNTS[c]))
				return complain(kinds[k].name,
				                ina_error(comm)[0] ? ina_error(comm) : "wrong");
			if (ina_register(comm, (void *)(uintptr_t)data,
			                 COUNTS[c] * sizeof(*data)) == INA_OK &&
			    !broadcasts(data, recv, COUNTS[c]))
				return complain(kinds[k].name, "wrong when it is registered");
			if (ina_deregister(comm, data, COUNTS[c] * sizeof(*data)) != INA_OK)
				return complain(kinds[k].name, ina_error(comm));
		}
	}
	free(recv);
	return 0;
}

/* Lines of the log that name the remedy. */
static int remedies;

static void read_log(void *context, const char *line)
{
	(void)context;
	if (strstr(line, "ulimit -l"))
		remedies++;
}

/* Limits the bytes of memory that the process may lock. */
static int limit(size_t bytes)
{
	const struct rlimit most = {.rlim_cur = bytes, .rlim_max = bytes};
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) != 0)
		return -1;
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	data[0].permitted &= ~(1u << CAP_IPC_LOCK);
	data[0].inheritable = 0;
	return setrlimit(RLIMIT_MEMLOCK, &most) != 0 || syscall(SYS_capset, &header, data) != 0;
}

static int check_limited(void)
{
	const size_t count = LIMIT_BYTES / 2 / sizeof(int32_t);
	int32_t *send = malloc(count * sizeof(*send));
	int32_t *recv = malloc(count * sizeof(*recv));
	void *more = malloc(LIMIT_BYTES);
	struct ina_stats stats;

	for (int round = 0; round < 2; round++) {
		if (!apart(send, recv, count, round) || !in_place(send, recv, count, round) ||
		    !reduced(send, recv, count, round) || !told(send, recv, count, round))
			return complain("little memory may be locked", ina_error(comm));
		/* By half of a ring, also if there is an aggregator. */
		if (!scattered(send, recv, count / (size_t)ranks, round) ||
		    !gathered(send, recv, count / (size_t)ranks, round))
			return complain("little memory may be locked, halves", ina_error(comm));
	}
	ina_comm_stats(comm, &stats, sizeof(stats));
	/* Between machines, the ranks' buffers are copied anyway. */
	if (stats.rails > 0)
		return 0;
	if (remedies != 1)
		return complain("little memory may be locked", "it is not said once");
	if (ina_register(comm, more, LIMIT_BYTES) != INA_ERR_MEMORY ||
	    !strstr(ina_error(comm), "ulimit -l"))
		return complain("ina_register", ina_error(comm));
	if (!apart(send, recv, count, 2))
		return complain("after ina_register", ina_error(comm));
	free(send);
	free(recv);
	free(more);
	return 0;
}

static int is_refused(const void *send, void *recv, size_t bytes)
{
	return ina_allreduce(comm, send, recv, bytes / sizeof(int32_t), INA_INT32, INA_SUM) ==
	               INA_ERR_ARGUMENT &&
	       strstr(ina_error(comm), "not memory that this process can");
}

/* Maps a buffer of `bytes` whose last 4 are on another page, *last. The buffer stays mapped. */
static uint8_t *map_across(size_t bytes, uint8_t **last)
{
	size_t pages = (bytes + 2 * PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	uint8_t *memory = map(NULL, pages);

	*last = memory + pages - PAGE_BYTES;
	return *last + sizeof(int32_t) - bytes;
}

/*
 * Up to 64 KiB, the library tests all pages before it sends anything. It does not test a page again
 * that it could read before. So each hole is in memory that no earlier call used.
 */
static int check_holes(void *fine)
{
	for (size_t bytes = 8; bytes <= 65536; bytes *= 2) {
		uint8_t *last;
		uint8_t *holed = map_across(bytes, &last);

		munmap(last, PAGE_BYTES);
		if (!is_refused(fine, holed, bytes) || !is_refused(holed, fine, bytes))
			return complain("a page that is not there", ina_error(comm));
		holed = map_across(bytes, &last);
		mprotect(last, PAGE_BYTES, PROT_READ);
		if (!is_refused(fine, holed, bytes) || !is_refused(holed, holed, bytes))
			return complain("a page that cannot be written", ina_error(comm));
	}
	return 0;
}

static int check_bad(void)
{
	size_t bytes = COUNT_MAX * sizeof(int32_t) / PAGE_BYTES * PAGE_BYTES;
	int32_t *fine = map(NULL, bytes);
	int32_t *none = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int32_t *gone = map(NULL, PAGE_BYTES);
	int32_t *readable = map(NULL, PAGE_BYTES);

	munmap(gone, PAGE_BYTES);
	mprotect(readable, PAGE_BYTES, PROT_READ);
	if (!is_refused(none, fine, 400) || !is_refused(fine, none, 400) ||
	    !is_refused(none, none, 400) || !is_refused(gone, fine, 400) ||
	    !is_refused(fine, gone, 400) || !is_refused(fine, readable, 400) ||
	    !is_refused(readable, readable, 400))
		return complain("an address that cannot be used", ina_error(comm));
	if (check_holes(fine) != 0)
		return 1;
	if (!in_place(fine, NULL, bytes / sizeof(*fine), 1))
		return complain("after addresses that could not be used", ina_error(comm));
	/* A part of the buffer cannot be used. */
	if (rank == 0)
		munmap((uint8_t *)fine + bytes / 2 / PAGE_BYTES * PAGE_BYTES, PAGE_BYTES);
	if (ina_allreduce(comm, fine, fine, bytes / sizeof(*fine), INA_INT32, INA_SUM) !=
	            INA_ERR_MEMORY ||
	    !strstr(ina_error(comm), "not memory of"))
		return complain("a page that cannot be used", ina_error(comm));
	return 0;
}

static int run(const char *algorithm, const char *what)
{
	int is_bad = strcmp(what, "bad") == 0;
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	int failed;

	ina_options_init(&options);
	options.algorithm = strcmp(algorithm, "ina") == 0    ? INA_ALGORITHM_INA
	                    : strcmp(algorithm, "ring") == 0 ? INA_ALGORITHM_RING
	                                                     : INA_ALGORITHM_AUTO;
	options.log = read_log;
	if (strcmp(what, "limited") == 0 && limit(LIMIT_BYTES) != 0)
		return complain(what, "no limit could be set");
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK)
		return complain("ina_open", why);
	rank = ina_comm_rank(comm);
	ranks = ina_comm_ranks(comm);
	failed = strcmp(what, "changed") == 0    ? check_changed()
	         : strcmp(what, "readonly") == 0 ? check_readonly()
	         : strcmp(what, "limited") == 0  ? check_limited()
	                                         : check_bad();
	if (ina_close(comm) != INA_OK && !is_bad)
		return complain("ina_close", "an error");
	return failed;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return complain("usage",
		                "check_buffers ina|ring|auto changed|readonly|bad|limited");
	for (int i = 2; i < argc; i++) {
		if (run(argv[1], argv[i]) != 0)
			return 1;
	}
	return 0;
}
