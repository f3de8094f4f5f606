/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The collectives on real hosts, each of them blocking and started, in place and not. To be run on
 * every rank:
 *
 *	check_collectives auto|ina|ring [CALLS [thread]]
 *
 * Makes CALLS random calls, several at a time; with `thread`, the library's own thread makes the
 * progress. The elements are such that no order of additions rounds. reference.c computes the
 * expected results rank by rank. Exits with 0 if all results are as expected.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ina.h"
#include "reference.h"

#define BYTES_MAX   ((size_t)3 << 20)
#define OUTSTANDING 5
#define GUARD       0x5A

enum kind { ALLREDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, REDUCE, BARRIER, KINDS };

static const char *const NAMES[] = {"all-reduce", "reduce-scatter", "all-gather",
                                    "broadcast",  "reduce",         "barrier"};

struct call {
	enum kind kind;
	enum ina_type type;
	enum ina_op op;
	size_t count;
	int root;
	bool in_place;
	uint32_t seed;
	uint8_t *memory; /* send, followed by recv */
	uint8_t *send;
	uint8_t *recv;
	ina_request *request;
};

static ina_comm *comm;
static int rank;
static int ranks;
static uint32_t drawn;

static uint32_t draw(uint32_t below)
{
	return reference_hash(++drawn) % below;
}

/* The bits of a small number, of each type. */
static reference_bits small(enum ina_type type, int value)
{
	double wide = value;
	reference_bits bits;

	switch (type) {
	case INA_FLOAT32:
	case INA_BFLOAT16:
	case INA_FLOAT16:
		return reference_round(type, value);
	case INA_FLOAT64:
		memcpy(&bits, &wide, sizeof(bits));
		return bits;
	default:
		return (uint64_t)(int64_t)value & (UINT64_MAX >> (64 - 8 * reference_bytes(type)));
	}
}

/* Element `index` of a rank's send: any bits if the collective only moves them. */
static reference_bits element_of(const struct call *call, int of, size_t index)
{
	uint32_t noise =
	        reference_hash(call->seed ^ reference_hash((uint32_t)of * 65537 ^ (uint32_t)index));

	if (call->kind == ALL_GATHER || call->kind == BROADCAST)
		return ((uint64_t)reference_hash(noise) << 32 | noise) &
		       (UINT64_MAX >> (64 - 8 * reference_bytes(call->type)));
	if (call->op == INA_PROD)
		return small(call->type, (int)(noise % 2) + 1);
	return small(call->type, (int)(noise % 15) - 7);
}

/* Sums are exact in any order, so the way does not matter. */
static reference_bits reduced(const struct call *call, size_t index)
{
	reference_bits operands[INA_MAX_RANKS];

	for (int r = 0; r < ranks; r++)
		operands[r] = element_of(call, r, index);
	return reference_result(REFERENCE_HOSTS, call->type, call->op, operands, ranks, 0, 1);
}

/* Numbers of elements at send and at recv; 0: the call uses no elements. */
static size_t sent(const struct call *call)
{
	switch (call->kind) {
	case REDUCE_SCATTER:
		return call->count * (size_t)ranks;
	case BROADCAST:
		return rank == call->root ? call->count : 0;
	case BARRIER:
		return 0;
	default:
		return call->count;
	}
}

static size_t received(const struct call *call)
{
	switch (call->kind) {
	case ALL_GATHER:
		return call->count * (size_t)ranks;
	case REDUCE:
		return rank == call->root ? call->count : 0;
	case BARRIER:
		return 0;
	default:
		return call->count;
	}
}

static reference_bits wanted(const struct call *call, size_t index)
{
	size_t own = (size_t)rank * call->count;

	switch (call->kind) {
	case REDUCE_SCATTER:
		return reduced(call, own + index);
	case ALL_GATHER:
		return element_of(call, (int)(index / call->count), index % call->count);
	case BROADCAST:
		return element_of(call, call->root, index);
	default:
		return reduced(call, index);
	}
}

static void put(uint8_t *memory, const struct call *call, size_t index, reference_bits bits)
{
	size_t bytes = reference_bytes(call->type);

	memcpy(memory + index * bytes, &bits, bytes);
}

static reference_bits get(const uint8_t *memory, const struct call *call, size_t index)
{
	size_t bytes = reference_bytes(call->type);
	reference_bits bits = 0;

	memcpy(&bits, memory + index * bytes, bytes);
	return bits;
}

/* A random call at any address; NULL if a rank need not give memory. */
static void draw_call(struct call *call)
{
	static const size_t counts[] = {0, 1, 3, 777, 4099, 20011};

	call->kind = (enum kind)draw(KINDS);
	call->type = reference_type((int)draw(REFERENCE_TYPES));
	call->op = (enum ina_op)(1 + draw(INA_AVG));
	call->count = counts[draw(6)];
	call->root = (int)draw((uint32_t)ranks);
	call->in_place = draw(2);
	call->seed = draw(UINT32_MAX);
}

static void fill(struct call *call)
{
	size_t bytes = reference_bytes(call->type);
	size_t own = (size_t)rank * call->count * bytes;

	call->send = call->memory + 1 + draw(40);
	call->recv = call->memory + BYTES_MAX + draw(40);
	memset(call->memory, GUARD, 2 * BYTES_MAX);
	if (call->in_place && call->kind == ALL_GATHER)
		call->send = call->recv + own;
	else if (call->in_place && call->kind == REDUCE_SCATTER)
		call->recv = call->send + own;
	else if (call->in_place)
		call->recv = call->send;
	for (size_t i = 0; i < sent(call); i++)
		put(call->send, call, i, element_of(call, rank, i));
	if (sent(call) == 0)
		call->send = NULL;
	if (received(call) == 0)
		call->recv = NULL;
}

static void prepare(struct call *call)
{
	draw_call(call);
	fill(call);
}

/* An all-reduce of the same type and operation as the first one. */
static void make_alike(struct call *call, struct call *first)
{
	if (first->kind != ALLREDUCE) {
		first->kind = ALLREDUCE;
		first->in_place = false;
		fill(first);
	}
	call->kind = ALLREDUCE;
	call->type = first->type;
	call->op = first->op;
	call->count %= 1000;
	fill(call);
}

static enum ina_status start(struct call *c)
{
	switch (c->kind) {
	case ALLREDUCE:
		return ina_allreduce_start(comm, c->send, c->recv, c->count, c->type, c->op,
		                           &c->request);
	case REDUCE_SCATTER:
		return ina_reduce_scatter_start(comm, c->send, c->recv, c->count, c->type, c->op,
		                                &c->request);
	case ALL_GATHER:
		return ina_all_gather_start(comm, c->send, c->recv, c->count, c->type, &c->request);
	case BROADCAST:
		return ina_broadcast_start(comm, c->send, c->recv, c->count, c->type, c->root,
		                           &c->request);
	case REDUCE:
		return ina_reduce_start(comm, c->send, c->recv, c->count, c->type, c->op, c->root,
		                        &c->request);
	default:
		return ina_barrier_start(comm, &c->request);
	}
}

static enum ina_status block(const struct call *c)
{
	switch (c->kind) {
	case ALLREDUCE:
		return ina_allreduce(comm, c->send, c->recv, c->count, c->type, c->op);
	case REDUCE_SCATTER:
		return ina_reduce_scatter(comm, c->send, c->recv, c->count, c->type, c->op);
	case ALL_GATHER:
		return ina_all_gather(comm, c->send, c->recv, c->count, c->type);
	case BROADCAST:
		return ina_broadcast(comm, c->send, c->recv, c->count, c->type, c->root);
	case REDUCE:
		return ina_reduce(comm, c->send, c->recv, c->count, c->type, c->op, c->root);
	default:
		return ina_barrier(comm);
	}
}

static int wrong(const struct call *call, const char *what, size_t index)
{
	fprintf(stderr,
	        "check_collectives: rank %d, %s of %zu, type %d, op %d, root %d%s: %s, element "
	        "%zu\n",
	        rank, NAMES[call->kind], call->count, (int)call->type, (int)call->op, call->root,
	        call->in_place ? ", in place" : "", what, index);
	return 1;
}

/* Compares the result, the memory that was sent, and the bytes around both. */
static int compare(const struct call *call)
{
	size_t bytes = reference_bytes(call->type);
	const uint8_t *send_end = call->send ? call->send + sent(call) * bytes : NULL;
	const uint8_t *recv_end = call->recv ? call->recv + received(call) * bytes : NULL;

	for (size_t i = 0; i < received(call); i++) {
		if (get(call->recv, call, i) != wanted(call, i))
			return wrong(call, "the result is wrong", i);
	}
	for (size_t i = 0; i < sent(call); i++) {
		const uint8_t *at = call->send + i * bytes;

		if (!(at >= call->recv && at < recv_end) &&
		    get(call->send, call, i) != element_of(call, rank, i))
			return wrong(call, "what was sent has changed", i);
	}
	for (uint8_t *at = call->memory; at < call->memory + 2 * BYTES_MAX; at++) {
		bool given = (call->send && at >= call->send && at < send_end) ||
		             (call->recv && at >= call->recv && at < recv_end);

		if (!given && *at != GUARD)
			return wrong(call, "a byte next to it was written", 0);
	}
	return 0;
}

static int run(struct call calls[OUTSTANDING], unsigned int count)
{
	bool blocks = count == 1;
	bool groups = !blocks && draw(2);
	int failed = 0;

	for (unsigned int i = 0; i < count; i++)
		prepare(&calls[i]);
	/* Small calls of one type and operation, which the library carries out as one. */
	for (unsigned int i = 1; i < count && groups && draw(4) > 0; i++)
		make_alike(&calls[i], &calls[0]);
	if (groups && ina_group_start(comm) != INA_OK)
		failed = wrong(&calls[0], ina_error(comm), 0);
	for (unsigned int i = 0; i < count; i++) {
		if ((blocks ? block(&calls[i]) : start(&calls[i])) != INA_OK)
			failed = wrong(&calls[i], ina_error(comm), 0);
	}
	if (groups && ina_group_end(comm) != INA_OK)
		failed = wrong(&calls[0], ina_error(comm), 0);
	for (unsigned int i = 0; i < count && !blocks && !failed; i++) {
		if (ina_wait(calls[i].request) != INA_OK)
			failed = wrong(&calls[i], ina_error(comm), 0);
	}
	for (unsigned int i = 0; i < count && !failed; i++)
		failed = compare(&calls[i]);
	return failed;
}

static int refuses(enum ina_status status, const char *words)
{
	if (status == INA_ERR_ARGUMENT && strstr(ina_error(comm), words))
		return 0;
	fprintf(stderr, "check_collectives: got %s: \"%s\", not \"%s\"\n", ina_status_name(status),
	        ina_error(comm), words);
	return 1;
}

/* Each error is one line that says what is wrong; the other ranks do not notice. */
static int check_arguments(void)
{
	int32_t memory[64] = {0};
	int32_t *end = memory + 32;
	size_t block = 32 / (size_t)ranks;
	int failed = 0;

	failed |= refuses(ina_broadcast(comm, memory, memory, 1, INA_INT32, ranks),
	                  "broadcast: invalid root");
	failed |= refuses(ina_reduce(comm, memory, memory, 1, INA_INT32, INA_SUM, -1),
	                  "reduce: invalid root -1");
	failed |= refuses(ina_reduce_scatter(comm, memory, memory + 1, block, INA_INT32, INA_SUM),
	                  "reduce-scatter: send and recv overlap");
	failed |= refuses(ina_all_gather(comm, memory + 1, memory, block, INA_INT32),
	                  "all-gather: send and recv overlap");
	failed |= refuses(ina_all_gather(comm, NULL, memory, block, INA_INT32),
	                  "all-gather: send is NULL");
	failed |= refuses(ina_broadcast(comm, end, NULL, 1, INA_INT32, rank), "recv is NULL");
	failed |= refuses(ina_reduce(comm, end, NULL, 1, INA_INT32, INA_SUM, rank), "recv is NULL");
	failed |= refuses(ina_all_gather(comm, memory, end, 1, (enum ina_type)10),
	                  "all-gather: invalid type 10");
	failed |= refuses(ina_reduce(comm, memory, end, 1, INA_INT32, (enum ina_op)6, 0),
	                  "reduce: invalid operation 6");
	return failed;
}

/*
 * Collectives that take half of the ring's steps: each rank receives the messages of all blocks but
 * one, once. This does not hold if machines have several ranks, which pass data on in shared
 * memory, nor with several channels, which know only all-reduces.
 */
static int check_halves(void)
{
	const size_t count = 20011;
	float *send = calloc(count, (size_t)ranks * sizeof(*send));
	float *recv = calloc(count, (size_t)ranks * sizeof(*recv));
	struct ina_stats before;
	struct ina_stats after;
	uint64_t message;
	uint64_t due;
	int failed = !send || !recv;

	ina_comm_stats(comm, &before, sizeof(before));
	/* docs/protocol.md, The ring's connection: messages are halved while a block has few of
	 * them. */
	message = before.message_bytes;
	while (before.path_mtu > 0 && count * sizeof(float) < 8 * message &&
	       message % (2 * before.path_mtu) == 0)
		message /= 2;
	due = (count * sizeof(float) + message - 49) / (message - 48) * (uint64_t)(ranks - 1);
	for (int gathers = 0; gathers < 2 && before.rails == 0 && before.channels == 1 && !failed;
	     gathers++) {
		enum ina_status status =
		        gathers ? ina_all_gather(comm, send, recv, count, INA_FLOAT32)
		                : ina_reduce_scatter(comm, send, recv, count, INA_FLOAT32, INA_SUM);

		ina_comm_stats(comm, &after, sizeof(after));
		failed = status != INA_OK || after.messages_ring - before.messages_ring != due;
		if (failed)
			fprintf(stderr, "check_collectives: %s took %d messages, not %d\n",
			        gathers ? "all-gather" : "reduce-scatter",
			        (int)(after.messages_ring - before.messages_ring), (int)due);
		before = after;
	}
	free(send);
	free(recv);
	return failed;
}

/* Each call is counted under one way. A call without the aggregator is also counted under one
 * reason. */
static int check_ways(const char *algorithm)
{
	struct ina_stats s;
	uint64_t hosts;
	bool asks = strcmp(algorithm, "ring") != 0;
	bool fine;

	ina_comm_stats(comm, &s, sizeof(s));
	hosts = s.calls_ring + s.calls_doubling;
	/* ina.h: if all ranks are on one machine, no way is counted. */
	if (s.machines == 1)
		return s.calls_aggregated + hosts != 0;
	fine = s.calls_aggregated + hosts == s.calls &&
	       s.calls_unasked + s.calls_unfit + s.calls_halved + s.calls_without == hosts &&
	       s.calls_unasked == (asks ? 0 : s.calls) && s.calls_doubling > 0 &&
	       s.calls_ring > 0 && s.bytes_doubling > 0 && s.bytes_doubling < s.bytes_ring &&
	       (s.calls_unfit > 0) == asks &&
	       (s.calls_halved > 0) == (asks && s.rails == 0 && s.channels == 1) &&
	       (s.fallbacks > 0 || s.calls_without == 0) && (s.calls_aggregated > 0) == asks;
	if (!fine)
		fprintf(stderr,
		        "check_collectives: of %d calls %d were aggregated, %d over the ring, %d "
		        "by doubling: %d unasked, %d unfit, %d halved, %d without\n",
		        (int)s.calls, (int)s.calls_aggregated, (int)s.calls_ring,
		        (int)s.calls_doubling, (int)s.calls_unasked, (int)s.calls_unfit,
		        (int)s.calls_halved, (int)s.calls_without);
	return !fine;
}

/* A hundred calls of one number each are carried out as one; a call that does not belong in a group
 * is refused. */
static int check_groups(void)
{
	enum { MANY = 100 };
	ina_request *requests[MANY];
	int32_t values[MANY];
	struct ina_stats before;
	struct ina_stats after;
	int failed = 0;

	ina_comm_stats(comm, &before, sizeof(before));
	failed |= refuses(ina_group_end(comm), "no group has been started");
	failed |= ina_group_start(comm) != INA_OK;
	failed |= refuses(ina_group_start(comm), "has not been ended");
	for (int i = 0; i < MANY; i++) {
		values[i] = i;
		failed |= ina_allreduce_start(comm, &values[i], &values[i], 1, INA_INT32, INA_MAX,
		                              &requests[i]) != INA_OK;
	}
	failed |= refuses(ina_barrier(comm), "cannot be part of a group");
	failed |= refuses(ina_wait(requests[0]), "has not been ended");
	failed |= ina_group_end(comm) != INA_OK;
	for (int i = MANY; i-- > 0;)
		failed |= ina_wait(requests[i]) != INA_OK || values[i] != i;
	ina_comm_stats(comm, &after, sizeof(after));
	if (failed || after.calls - before.calls != 1)
		fprintf(stderr, "check_collectives: a group took %d calls\n",
		        (int)(after.calls - before.calls));
	return failed || after.calls - before.calls != 1;
}

int main(int argc, char **argv)
{
	const char *algorithm = argc > 1 ? argv[1] : "auto";
	unsigned int left = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 0) : 200;
	const char *seed = getenv("INA_SEED");
	struct call calls[OUTSTANDING] = {0};
	struct ina_options options;
	char why[INA_ERROR_SIZE] = "no memory";
	int failed = 0;

	reference_init();
	drawn = seed ? (uint32_t)strtoul(seed, NULL, 0) : 1;
	ina_options_init(&options);
	options.algorithm = strcmp(algorithm, "ina") == 0    ? INA_ALGORITHM_INA
	                    : strcmp(algorithm, "ring") == 0 ? INA_ALGORITHM_RING
	                                                     : INA_ALGORITHM_AUTO;
	options.progress_thread = argc > 3;
	for (int i = 0; i < OUTSTANDING; i++) {
		calls[i].memory = malloc(2 * BYTES_MAX);
		failed |= !calls[i].memory;
	}
	if (failed || ina_open(&options, &comm, why, sizeof(why)) != INA_OK) {
		fprintf(stderr, "check_collectives: %s\n", why);
		return 1;
	}
	rank = ina_comm_rank(comm);
	ranks = ina_comm_ranks(comm);
	failed = check_arguments() || check_halves() || check_groups();
	while (left > 0 && !failed) {
		unsigned int count = draw(2) ? 1 : 1 + draw(OUTSTANDING);

		count = count < left ? count : left;
		failed = run(calls, count);
		left -= count;
	}
	failed = failed || check_ways(algorithm);
	if (failed)
		fprintf(stderr, "check_collectives: INA_SEED=%s\n", seed ? seed : "1");
	if (ina_close(comm) != INA_OK)
		failed = 1;
	for (int i = 0; i < OUTSTANDING; i++)
		free(calls[i].memory);
	return failed;
}
