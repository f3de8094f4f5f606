/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resources that a process gives up in the middle of a job. To be run on every rank, at least 3, in
 * virtual time, where seconds do not depend on the machine:
 *
 *	check_given_up
 *
 * Requests: rank 0, then rank 1, then all ranks at the same time close a communicator whose
 * all-reduces are under way. The others get INA_ERR_PEER with the rank's name. The memory belongs
 * to the rank that closed again immediately: nothing is written to it any more. Memory: rank 1
 * reaches the limit on locked memory, and ina_register() cannot lock more. An all-reduce uses
 * memory that is registered already. After each case, a new communicator uses the aggregator again.
 * Exits with 0 if all of this held.
 */
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "ina.h"

#define COUNT    (1u << 18) /* int32: 1 MiB, many messages */
#define BYTES    (COUNT * sizeof(int32_t))
#define REQUESTS 3
#define POOR     1   /* the rank without memory */
#define SOON_S   6.0 /* a diagnosis asks all ranks, and takes at most 5 s */
#define PATTERN  0x5a

static int32_t send[COUNT];
static int32_t recv[COUNT];

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "check_given_up: %s: %s\n", what, why);
	return -1;
}

static int reduce_well(ina_comm *comm, size_t count)
{
	int ranks = ina_comm_ranks(comm);

	for (size_t i = 0; i < count; i++)
		send[i] = (ina_comm_rank(comm) + 1) * (int32_t)i;
	if (ina_allreduce(comm, send, recv, count, INA_INT32, INA_SUM) != INA_OK)
		return complain("all-reduce", ina_error(comm));
	for (size_t i = 0; i < count; i++)
		if (recv[i] != ranks * (ranks + 1) / 2 * (int32_t)i)
			return complain("all-reduce", "a wrong sum");
	return 0;
}

/* Opens a communicator and makes one successful all-reduce. */
static ina_comm *open_comm(void)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	ina_comm *comm;

	ina_options_init(&options);
	options.algorithm = INA_ALGORITHM_INA;
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK)
		complain("ina_open", why);
	else if (reduce_well(comm, 1000) != 0)
		return NULL;
	return comm;
}

static int expect(const ina_comm *comm, enum ina_status got, enum ina_status wanted, int culprit,
                  double since_s)
{
	char name[16];

	snprintf(name, sizeof(name), "rank %d", culprit);
	printf("rank %d after %.2f s: %s: %s\n", ina_comm_rank(comm), ina_now_s() - since_s,
	       ina_status_name(got), ina_error(comm));
	if (got != wanted)
		return complain("another status than", ina_status_name(wanted));
	if (ina_comm_rank(comm) != culprit && !strstr(ina_error(comm), name))
		return complain("the text does not name", name);
	return ina_now_s() - since_s <= SOON_S ? 0 : complain("it came", "too late");
}

/* Starts all-reduces in its own memory, closes, and takes the memory back. */
static int close_in_the_middle(ina_comm *comm)
{
	unsigned char *memory = mmap(NULL, REQUESTS * BYTES, PROT_READ | PROT_WRITE,
	                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ina_request *requests[REQUESTS];
	double start_s;
	int done;

	for (int i = 0; i < REQUESTS; i++)
		if (ina_allreduce_start(comm, send, memory + i * BYTES, COUNT, INA_INT32, INA_SUM,
		                        &requests[i]) != INA_OK)
			return complain("start", ina_error(comm));
	if (ina_test(requests[0], &done) != INA_OK)
		return complain("test", ina_error(comm));
	start_s = ina_now_s();
	ina_close(comm);
	if (ina_now_s() - start_s > SOON_S)
		return complain("ina_close", "took too long");
	memset(memory, PATTERN, REQUESTS * BYTES);
	usleep(200000); /* three ACK timeouts */
	for (size_t i = 0; i < REQUESTS * BYTES; i++)
		if (memory[i] != PATTERN)
			return complain("ina_close", "memory after it was written to");
	return munmap(memory, REQUESTS * BYTES);
}

static int lose_a_rank(ina_comm *comm, int culprit)
{
	enum ina_status status = INA_OK;
	double start_s = ina_now_s();

	for (int i = 0; status == INA_OK && i < REQUESTS; i++)
		status = ina_allreduce(comm, send, recv, COUNT, INA_INT32, INA_SUM);
	if (expect(comm, status, INA_ERR_PEER, culprit, start_s) != 0)
		return -1;
	ina_close(comm);
	return 0;
}

/* culprit: the rank that closes; -1: all ranks do. */
static int check_requests(int culprit)
{
	ina_comm *comm = open_comm();

	if (!comm)
		return -1;
	if (culprit < 0 || ina_comm_rank(comm) == culprit)
		return close_in_the_middle(comm);
	return lose_a_rank(comm, culprit);
}

/* Root has no limit on locked memory, so the process gives up root. The rights to verbs belong to
 * the user who opened them, so this comes first. */
static int become_ordinary(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) != 0)
		return -1;
	data[0].effective &= ~(1u << CAP_IPC_LOCK);
	return (int)syscall(SYS_capset, &header, data);
}

/* 0: limits to the memory that is locked already (VmPin) and a few pages; otherwise to this number
 * of bytes. */
static int limit_memory(rlim_t bytes)
{
	struct rlimit limit;
	unsigned long long kib = 0;
	char line[128];
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmPin: %llu", &kib) == 1)
			break;
	if (!file || getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
		return -1;
	fclose(file);
	limit.rlim_cur = bytes ? bytes : (kib + 64) * 1024;
	return setrlimit(RLIMIT_MEMLOCK, &limit);
}

static int check_memory(void)
{
	ina_comm *comm = open_comm();
	int poor = comm && ina_comm_rank(comm) == POOR;
	enum ina_status status;

	if (!comm || (poor && limit_memory(0) != 0))
		return complain("the limit on locked memory", "it cannot be set");
	/* A hint that fails takes nothing from the communicator. */
	status = ina_register(comm, recv, BYTES);
	if (poor && status != INA_ERR_MEMORY)
		return complain("ina_register", ina_status_name(status));
	if (reduce_well(comm, 1000) != 0 || reduce_well(comm, COUNT) != 0)
		return -1;
	ina_close(comm);
	return poor ? limit_memory(RLIM_INFINITY) : 0;
}

int main(void)
{
	ina_comm *comm;

	if (become_ordinary() != 0)
		return complain("capset", "root keeps CAP_IPC_LOCK") != 0;
	if (check_requests(0) != 0 || check_requests(1) != 0 || check_requests(-1) != 0 ||
	    check_memory() != 0)
		return 1;
	comm = open_comm();
	return !comm || reduce_well(comm, COUNT) != 0 || ina_close(comm) != INA_OK;
}
