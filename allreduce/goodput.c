/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina-goodput: measures how fast a host receives the result of a collective, for three ways that
 * are otherwise alike. tests/bench/sim_speed.py compares them.
 *
 *   plain  each rank sends its data to its successor and receives its predecessor's; nothing is
 * added sum    the aggregator's all-reduce: as many bytes per host, in the same messages ring   the
 * hosts' own all-reduce
 *
 * Each rank prints one line of JSON. The time starts when all ranks have reached the call.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/parse.h"
#include "hostlib/api/plain.h"
#include "pattern.h"

#define BYTES_MAX     (64u << 20)
#define ROUNDS_MAX    1000
#define ELEMENT_BYTES 4u
#define SCRATCH_BYTES 4096u

struct goodput {
	const char *way;
	bool plain;
	size_t bytes;
	int rounds;
	ina_comm *comm;
	int rank;
	int ranks;
	void *send;
	void *recv;
	void *wanted;     /* with plain: the predecessor's data */
	int32_t *scratch; /* for the barrier */
	uint64_t wrong;
	json_t *times_s;
};

static int complain(const struct goodput *run, const char *doing, enum ina_status status)
{
	fprintf(stderr, "ina-goodput: %s: %s: %s\n", doing, ina_status_name(status),
	        ina_error(run->comm));
	return -1;
}

static int open_comm(struct goodput *run)
{
	struct ina_options options;
	char why[INA_ERROR_SIZE];
	enum ina_status status;

	ina_options_init(&options);
	options.algorithm = strcmp(run->way, "ring") == 0 ? INA_ALGORITHM_RING : INA_ALGORITHM_INA;
	status = run->plain ? ina_plain_open(&options, &run->comm, why, sizeof(why))
	                    : ina_open(&options, &run->comm, why, sizeof(why));
	if (status != INA_OK) {
		fprintf(stderr, "ina-goodput: %s: %s\n", ina_status_name(status), why);
		return -1;
	}
	run->rank = ina_comm_rank(run->comm);
	run->ranks = ina_comm_ranks(run->comm);
	return 0;
}

static int make_memory(struct goodput *run)
{
	void **buffers[] = {&run->send, &run->recv, &run->wanted};

	run->times_s = json_array();
	run->scratch = aligned_alloc(SCRATCH_BYTES, SCRATCH_BYTES);
	for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
		*buffers[i] = aligned_alloc(4096, run->bytes);
	if (!run->times_s || !run->scratch || !run->send || !run->recv || !run->wanted) {
		fprintf(stderr, "ina-goodput: no memory for buffers of %zu bytes\n", run->bytes);
		return -1;
	}
	memset(run->scratch, 0, SCRATCH_BYTES);
	enum ina_status status = ina_register(run->comm, run->send, run->bytes);
	if (status == INA_OK)
		status = ina_register(run->comm, run->recv, run->bytes);
	if (status == INA_OK)
		status = ina_register(run->comm, run->scratch, SCRATCH_BYTES);
	return status == INA_OK ? 0 : complain(run, "registering", status);
}

/*
 * A barrier. With plain, a message only shows that the predecessor has reached it, so n - 1
 * messages are needed to cover all ranks.
 */
static int meet(struct goodput *run)
{
	for (int i = 0; i < (run->plain ? run->ranks - 1 : 1); i++) {
		enum ina_status status = ina_allreduce(run->comm, &run->scratch[0],
		                                       &run->scratch[1], 1, INA_INT32, INA_SUM);

		if (status != INA_OK)
			return complain(run, "barrier", status);
	}
	return 0;
}

static uint64_t count_wrong(struct goodput *run, const struct pattern *pattern)
{
	size_t count = run->bytes / ELEMENT_BYTES;
	const uint32_t *got = run->recv;
	const uint32_t *wanted = run->wanted;
	uint64_t wrong = 0;
	size_t first;

	if (!run->plain)
		return pattern_check(pattern, run->recv, count, &first, NULL);
	pattern_fill(pattern, (run->rank + run->ranks - 1) % run->ranks, run->wanted, count);
	for (size_t i = 0; i < count; i++)
		wrong += got[i] != wanted[i];
	return wrong;
}

static int run_round(struct goodput *run, int round)
{
	size_t count = run->bytes / ELEMENT_BYTES;
	const struct pattern pattern = {
	        .type = INA_FLOAT32,
	        .op = INA_SUM,
	        .seed = (uint64_t)round + 1,
	        .ranks = run->ranks,
	};

	pattern_fill(&pattern, run->rank, run->send, count);
	memset(run->recv, 0xEE, run->bytes);
	if (meet(run) != 0)
		return -1;
	double start_s = ina_now_s();
	enum ina_status status =
	        ina_allreduce(run->comm, run->send, run->recv, count, INA_FLOAT32, INA_SUM);
	double end_s = ina_now_s();
	if (status != INA_OK)
		return complain(run, run->way, status);
	run->wrong += count_wrong(run, &pattern);
	/* The first round is a warm-up. */
	return round == 0 ? 0 : json_array_append_new(run->times_s, json_real(end_s - start_s));
}

static int print_result(const struct goodput *run)
{
	struct ina_stats stats;
	json_t *line;
	int result;

	ina_comm_stats(run->comm, &stats, sizeof(stats));
	line = json_pack("{s:i, s:s, s:i, s:I, s:i, s:I, s:O}", "rank", run->rank, "way", run->way,
	                 "path_mtu", (int)stats.path_mtu, "bytes", (json_int_t)run->bytes,
	                 "message_bytes", (int)stats.message_bytes, "wrong", (json_int_t)run->wrong,
	                 "times_s", run->times_s);
	result = line ? json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) : -1;
	json_decref(line);
	putchar('\n');
	fflush(stdout);
	return result;
}

/* Returns 0, or prints one line about an invalid argument and returns -1. */
static int parse(struct goodput *run, int argc, char **argv)
{
	uint64_t megabytes;
	uint64_t rounds;

	if (argc == 4 &&
	    (strcmp(argv[1], "plain") == 0 || strcmp(argv[1], "sum") == 0 ||
	     strcmp(argv[1], "ring") == 0) &&
	    ina_parse_whole(argv[2], 1, BYTES_MAX >> 20, &megabytes) &&
	    ina_parse_whole(argv[3], 1, ROUNDS_MAX, &rounds)) {
		run->way = argv[1];
		run->plain = strcmp(argv[1], "plain") == 0;
		run->bytes = (size_t)megabytes << 20;
		run->rounds = (int)rounds;
		return 0;
	}
	fprintf(stderr,
	        "usage: ina-goodput plain|sum|ring MEBIBYTES ROUNDS: 1 to %u MiB, 1 to %d rounds\n",
	        BYTES_MAX >> 20, ROUNDS_MAX);
	return -1;
}

int main(int argc, char **argv)
{
	struct goodput run = {0};
	int result = -1;

	if (parse(&run, argc, argv) != 0)
		return EXIT_FAILURE;
	if (open_comm(&run) != 0 || make_memory(&run) != 0)
		goto out_close;
	result = 0;
	for (int round = 0; result == 0 && round <= run.rounds; round++)
		result = run_round(&run, round);
	if (result == 0)
		result = print_result(&run);
	if (run.wrong > 0) {
		fprintf(stderr, "ina-goodput: rank %d: %llu elements are wrong\n", run.rank,
		        (unsigned long long)run.wrong);
		result = -1;
	}
out_close:
	if (ina_close(run.comm) != INA_OK)
		result = -1;
	json_decref(run.times_s);
	free(run.send);
	free(run.recv);
	free(run.wanted);
	free(run.scratch);
	return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
