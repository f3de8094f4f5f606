/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that come and go, to be run on every rank:
 *
 *	churn SEED COMMUNICATORS ROUNDS ELEMENTS ALGORITHM [VICTIM]
 *
 * opens and closes COMMUNICATORS communicators one after the other. With an s after the number, it
 * does so for that many seconds, and the ranks agree on the end in the last call of each. In each
 * communicator it makes up to ROUNDS all-reduces of less than ELEMENTS numbers of random type and
 * operation, several at the same time, in place or not, each rank at its own moments. ALGORITHM is
 * auto, ina or ring. If a communicator fails, the ranks continue with the next one. But if a VICTIM
 * is to die, the other ranks then continue in a separate communicator, including those that did not
 * notice the failure.
 *
 * Numbers are integers so small that every order of additions gives the exact sum in every type:
 * results are compared bit by bit, whichever way they were added. Prints a line about each
 * communicator,
 *
 *	TIME job JOB communicator INDEX PHASE STATUS TEXT
 *
 * JOB is CHURN_JOB of the environment, from 0 to 15, or 0: several jobs may run on the same hosts,
 * if each has its own INA_COOKIE. TIME is the host's clock in s. PHASE is open, call, close or, if
 * all went well, done; with a time also memory, with the bytes allocated and the KiB resident.
 * Exits with 0 if no number was wrong, whatever the statuses: torture.py judges those.
 */
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ina.h"

#define OUTSTANDING   3
#define ELEMENTS_MAX  200000u
#define GUARD         0xA5
#define DAWDLE_MAX_US 3000
#define PAUSE_MAX_US  900000 /* longer than a new JOIN takes */

#define JOBS_MAX 16

/*
 * A job's ports at rank 0. Two take turns, because a rank that has failed early must not meet those
 * that have not. The third one is for the survivors, who wait until the last of them has given up
 * the old communicator.
 */
#define TURN_COUNT           2
#define PORT_COUNT           3
#define SURVIVORS_TIMEOUT_MS 180000

/* An all-reduce, the same on all ranks. */
struct call {
	size_t count;
	enum ina_type type;
	enum ina_op op;
	bool in_place;
	uint32_t salt;
};

struct buffers {
	unsigned char *send;
	unsigned char *recv;
	ina_request *request;
};

struct churn {
	uint64_t common; /* random state that all ranks share */
	uint64_t own;    /* and that of this rank */
	unsigned int job;
	int index; /* of the communicator */
	unsigned int rounds;
	size_t elements;
	struct buffers buffers[OUTSTANDING];
	bool is_wrong;
	int64_t end_s; /* of the host's clock; 0: no end */
	bool is_over;  /* for all ranks */
};

/* xorshift64*, Vigna 2016. From 0 to bound - 1. */
static uint32_t draw(uint64_t *state, uint32_t bound)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(((*state * 0x2545F4914F6CDD1Du) >> 32) * bound >> 32);
}

__attribute__((format(printf, 3, 4))) static void say(const struct churn *churn, const char *phase,
                                                      const char *format, ...)
{
	struct timespec now;
	va_list arguments;

	clock_gettime(CLOCK_REALTIME, &now);
	printf("%lld.%09ld job %u communicator %d %s ", (long long)now.tv_sec, now.tv_nsec,
	       churn->job, churn->index, phase);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
}

/* The numbers, and the expected results. */

static size_t width_of(enum ina_type type)
{
	return type == INA_INT32 || type == INA_FLOAT32 ? 4 : 2;
}

/*
 * The element i of a rank, from -limit to limit: the significand of the type (24, 8 and 11 bits)
 * holds the sum of 8 of them. An int32 may be any number.
 */
static int32_t number_of(const struct call *call, int rank, size_t i)
{
	static const uint32_t limits[] = {
	        [INA_FLOAT32] = 1u << 20, [INA_BFLOAT16] = 31, [INA_FLOAT16] = 255};
	uint32_t mixed = ((uint32_t)i + call->salt) * 2654435761u + (uint32_t)rank * 0x9E3779B9u;

	mixed ^= mixed >> 15;
	mixed *= 0x85EBCA6Bu;
	mixed ^= mixed >> 13;
	if (call->type == INA_INT32)
		return (int32_t)mixed;
	return (int32_t)(mixed % (2 * limits[call->type] + 1)) - (int32_t)limits[call->type];
}

/* The bits of an integer in a type that holds it exactly. */
static uint32_t encode(enum ina_type type, int32_t value)
{
	float number = (float)value;
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	if (type == INA_INT32)
		return (uint32_t)value;
	if (type == INA_FLOAT32)
		return bits;
	if (type == INA_BFLOAT16)
		return bits >> 16;
	if (value == 0)
		return 0;
	/* float16: the exponent's bias is 15 instead of 127, the fraction has 10 bits of 23. */
	return (bits >> 16 & 0x8000) | ((bits & 0x7FFFFFFF) - (112u << 23)) >> 13;
}

static int32_t reduce(const struct call *call, int ranks, size_t i)
{
	int32_t result = number_of(call, 0, i);

	for (int r = 1; r < ranks; r++) {
		int32_t number = number_of(call, r, i);

		if (call->op == INA_SUM)
			result = (int32_t)((uint32_t)result + (uint32_t)number);
		else if (call->op == INA_MAX ? number > result : number < result)
			result = number;
	}
	return result;
}

static void fill(const struct call *call, int rank, unsigned char *data)
{
	size_t width = width_of(call->type);

	for (size_t i = 0; i < call->count; i++) {
		uint32_t bits = encode(call->type, number_of(call, rank, i));

		memcpy(data + i * width, &bits, width); /* little-endian, as on the wire */
	}
	data[call->count * width] = GUARD;
}

static bool is_right(struct churn *churn, const struct call *call, int ranks,
                     const unsigned char *data)
{
	size_t width = width_of(call->type);

	for (size_t i = 0; i < call->count; i++) {
		uint32_t expected = encode(call->type, reduce(call, ranks, i));
		uint32_t bits = 0;

		memcpy(&bits, data + i * width, width);
		if (bits == expected)
			continue;
		say(churn, "call", "WRONG element %zu of %zu, type %d, op %d: 0x%08x, not 0x%08x",
		    i, call->count, call->type, call->op, bits, expected);
		return false;
	}
	if (data[call->count * width] == GUARD)
		return true;
	say(churn, "call", "WRONG the byte after %zu elements was written to", call->count);
	return false;
}

/* A communicator's life. */

static struct call draw_call(struct churn *churn)
{
	static const uint32_t limits[] = {2, 40, 4000, ELEMENTS_MAX};
	uint32_t limit = limits[draw(&churn->common, 4)];

	if (limit > churn->elements)
		limit = (uint32_t)churn->elements;
	return (struct call){
	        .count = draw(&churn->common, limit),
	        .type = INA_INT32 + draw(&churn->common, 4),
	        .op = INA_SUM + draw(&churn->common, 3),
	        .in_place = draw(&churn->common, 2),
	        .salt = draw(&churn->common, UINT32_MAX),
	};
}

static unsigned char *target_of(const struct buffers *buffers, const struct call *call)
{
	return call->in_place ? buffers->send : buffers->recv;
}

static void dawdle(struct churn *churn)
{
	if (draw(&churn->own, 3) == 0)
		usleep(draw(&churn->own, DAWDLE_MAX_US));
	else if (draw(&churn->own, 40) == 0)
		usleep(draw(&churn->own, PAUSE_MAX_US));
}

/* Some calls at the same time. */
static enum ina_status run_batch(struct churn *churn, ina_comm *comm, unsigned int size)
{
	struct call calls[OUTSTANDING];
	enum ina_status status = INA_OK;

	for (unsigned int b = 0; b < size; b++) {
		struct buffers *buffers = &churn->buffers[b];

		calls[b] = draw_call(churn);
		dawdle(churn);
		fill(&calls[b], ina_comm_rank(comm), buffers->send);
		buffers->recv[calls[b].count * width_of(calls[b].type)] = GUARD;
		status = ina_allreduce_start(comm, buffers->send, target_of(buffers, &calls[b]),
		                             calls[b].count, calls[b].type, calls[b].op,
		                             &buffers->request);
		if (status != INA_OK)
			return status;
	}
	for (unsigned int b = 0; b < size; b++) {
		struct buffers *buffers = &churn->buffers[b];

		dawdle(churn);
		status = ina_wait(buffers->request);
		if (status != INA_OK)
			return status;
		if (!is_right(churn, &calls[b], ina_comm_ranks(comm),
		              target_of(buffers, &calls[b])))
			churn->is_wrong = true;
		/* The memory belongs to the caller again: no rank may still need its contents. */
		memset(buffers->send, 0xEE, calls[b].count * width_of(calls[b].type));
	}
	return INA_OK;
}

static enum ina_status run_calls(struct churn *churn, ina_comm *comm)
{
	enum ina_status status = INA_OK;
	unsigned int left = 1 + draw(&churn->common, churn->rounds);

	while (left > 0 && status == INA_OK && !churn->is_wrong) {
		unsigned int size = 1 + draw(&churn->common, OUTSTANDING);

		if (size > left)
			size = left;
		status = run_batch(churn, comm, size);
		left -= size;
	}
	if (status != INA_OK)
		say(churn, "call", "%s %s", ina_status_name(status), ina_error(comm));
	return status;
}

static int64_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Has the time ended for any of the ranks? All must stop after the same communicator. */
static enum ina_status agree_on_end(struct churn *churn, ina_comm *comm)
{
	int32_t over[2] = {now_s() >= churn->end_s};
	enum ina_status status = ina_allreduce(comm, &over[0], &over[1], 1, INA_INT32, INA_MAX);

	ina_deregister(comm, over, sizeof(over));
	churn->is_over = over[1];
	return status;
}

static size_t allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Pages in memory, in KiB. */
static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long pages = 0;

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) >> 10);
}

static enum ina_status run_communicator(struct churn *churn, const struct ina_options *options)
{
	char why[INA_ERROR_SIZE];
	struct ina_stats stats;
	ina_comm *comm;
	enum ina_status status = ina_open(options, &comm, why, sizeof(why));
	enum ina_status closed;

	if (status != INA_OK) {
		say(churn, "open", "%s %s", ina_status_name(status), why);
		return status;
	}
	status = run_calls(churn, comm);
	if (status == INA_OK && churn->end_s > 0)
		status = agree_on_end(churn, comm);
	ina_comm_stats(comm, &stats, sizeof(stats));
	closed = ina_close(comm);
	if (status != INA_OK)
		return status;
	say(churn, closed == INA_OK ? "done" : "close",
	    "%s calls %llu aggregated %llu ring %llu retried %llu fallbacks %llu rejoins %llu",
	    ina_status_name(closed), (unsigned long long)stats.calls,
	    (unsigned long long)stats.messages_aggregated, (unsigned long long)stats.messages_ring,
	    (unsigned long long)stats.messages_retried, (unsigned long long)stats.fallbacks,
	    (unsigned long long)stats.rejoins);
	if (churn->end_s > 0)
		say(churn, "memory", "now heap %zu resident %ld", allocated_bytes(),
		    resident_kib());
	return closed;
}

static unsigned int port_of(const struct churn *churn, unsigned int number)
{
	return INA_DEFAULT_PORT + churn->job * PORT_COUNT + number;
}

static void run_survivors(struct churn *churn, struct ina_options *options, int victim)
{
	char root[64];

	snprintf(root, sizeof(root), "192.0.2.%d:%u", victim == 0 ? 2 : 1,
	         port_of(churn, TURN_COUNT));
	options->root = root;
	options->rank -= options->rank > victim;
	options->ranks--;
	/* The ranks may have failed in different communicators. */
	options->window = 8;
	options->message_bytes = 0;
	options->open_timeout_ms = SURVIVORS_TIMEOUT_MS;
	run_communicator(churn, options);
}

static bool read_arguments(struct churn *churn, struct ina_options *options, const char *root,
                           int argc, char **argv)
{
	static const char *const names[] = {"auto", "ina", "ring"};
	const char *rank = getenv("INA_RANK");
	const char *ranks = getenv("INA_RANKS");
	const char *job = getenv("CHURN_JOB");

	if (argc < 6 || argc > 7 || !rank || !ranks)
		return false;
	ina_options_init(options);
	options->rank = atoi(rank);
	options->ranks = atoi(ranks);
	options->algorithm = INA_ALGORITHM_AUTO;
	while (strcmp(argv[5], names[options->algorithm]) != 0)
		if (++options->algorithm > INA_ALGORITHM_RING)
			return false;
	options->root = root;
	churn->common = strtoull(argv[1], NULL, 10) * 2 + 1;
	churn->rounds = (unsigned int)atoi(argv[3]);
	churn->elements = strtoull(argv[4], NULL, 10);
	churn->job = job ? (unsigned int)atoi(job) : 0;
	return churn->job < JOBS_MAX && churn->rounds > 0 && churn->elements > 0 &&
	       churn->elements <= ELEMENTS_MAX;
}

int main(int argc, char **argv)
{
	static const unsigned int windows[] = {1, 3, 8};
	struct churn churn = {0};
	struct ina_options options;
	char root[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!read_arguments(&churn, &options, root, argc, argv)) {
		fprintf(stderr, "churn: needs SEED COMMUNICATORS ROUNDS ELEMENTS ALGORITHM [VICTIM]"
		                ", and INA_RANK and INA_RANKS; CHURN_JOB is 0 to 15\n");
		return 2;
	}
	const int victim = argc > 6 ? atoi(argv[6]) : -1;
	const uint64_t seed = churn.common;
	const bool is_timed = argv[2][strlen(argv[2]) - 1] == 's';
	const int count = is_timed ? INT_MAX : atoi(argv[2]);

	churn.end_s = is_timed ? now_s() + atoi(argv[2]) : 0;

	for (int b = 0; b < OUTSTANDING; b++) {
		churn.buffers[b].send = malloc(4 * ELEMENTS_MAX + 1);
		churn.buffers[b].recv = malloc(4 * ELEMENTS_MAX + 1);
		if (!churn.buffers[b].send || !churn.buffers[b].recv)
			return 2;
		/* All of it is resident from the beginning: any later growth is a leak. */
		memset(churn.buffers[b].send, 0xEE, 4 * ELEMENTS_MAX + 1);
		memset(churn.buffers[b].recv, 0xEE, 4 * ELEMENTS_MAX + 1);
	}
	for (churn.index = 0; churn.index < count && !churn.is_wrong && !churn.is_over;
	     churn.index++) {
		/* It depends on the communicator alone, so a rank that failed in the last one is in
		 * step again. */
		churn.common = (seed + (uint64_t)churn.index * 2) * 0x9E3779B97F4A7C15u | 1;
		churn.own = churn.common + 2 * (uint64_t)options.rank * 1000003;
		options.window = windows[draw(&churn.common, 3)];
		options.message_bytes = draw(&churn.common, 2) ? 4096 : 0;
		snprintf(root, sizeof(root), "192.0.2.1:%u",
		         port_of(&churn, (unsigned int)churn.index % TURN_COUNT));
		if (run_communicator(&churn, &options) != INA_OK && victim >= 0)
			break;
	}
	churn.index = count;
	churn.common = seed;
	if (victim >= 0 && options.rank != victim && options.ranks > 2)
		run_survivors(&churn, &options, victim);
	for (int b = 0; b < OUTSTANDING; b++) {
		free(churn.buffers[b].send);
		free(churn.buffers[b].recv);
	}
	say(&churn, "end", "%s", churn.is_wrong ? "WRONG" : "fine");
	return churn.is_wrong;
}
