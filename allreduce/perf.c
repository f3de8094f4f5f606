/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina-perf: all-reduces of many sizes, timed, and every element of every result compared with a
 * sum that was computed in another way.
 *
 * Before each timed all-reduce the ranks meet in one of a single element, so that what is timed is
 * the all-reduce and not who came late to it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "doctor.h"
#include "pattern.h"
#include "perf_open.h"
#include "perf_options.h"
#include "perf_table.h"
#include "resnet50.h"
#include "wire_bytes.h"

#define SCRATCH_BYTES 4096u

/* #wrong travels as an int32 of each rank. */
#define WRONG_MAX (INT32_MAX / INA_MAX_RANKS)

struct perf {
	struct perf_options options;
	int rank;
	int ranks;
	ina_comm *comm;
	ina_comm *ring; /* NULL unless compared */
	void *send;
	void *recv; /* == send: in place */
	size_t buffer_bytes;
	int32_t *scratch; /* SCRATCH_BYTES, for what is not measured */
	struct perf_head head;
	struct perf_row *rows;
	size_t row_count;
	size_t row_limit;
	uint64_t seed; /* of the data of the next all-reduce */
	bool any_wrong;
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int complain(const ina_comm *comm, const char *doing, enum ina_status status)
{
	fprintf(stderr, "ina-perf: %s: %s: %s\n", doing, ina_status_name(status), ina_error(comm));
	return -1;
}

static int open_comm(const struct perf_options *options, enum ina_algorithm algorithm,
                     ina_comm **comm)
{
	char why[INA_ERROR_SIZE];
	enum ina_status status = perf_open(options, algorithm, comm, why, sizeof(why));

	if (status == INA_OK)
		return 0;
	fprintf(stderr, "ina-perf: %s: %s\n", ina_status_name(status), why);
	return -1;
}

/* All-reduces one int32, and returns its sum in *sum. */
static int sum_one(struct perf *perf, ina_comm *comm, int32_t value, int32_t *sum)
{
	enum ina_status status;

	perf->scratch[0] = value;
	status = ina_allreduce(comm, &perf->scratch[0], &perf->scratch[1], 1, INA_INT32, INA_SUM);
	if (status != INA_OK)
		return complain(comm, "all-reduce of one element", status);
	*sum = perf->scratch[1];
	return 0;
}

/* Sums over ranks. Every rank also acts on its own count: the sum is for the table. */
static int add_wrong(struct perf *perf, ina_comm *comm, uint64_t wrong, uint64_t *sum)
{
	int32_t all = 0;

	if (sum_one(perf, comm, wrong < WRONG_MAX ? (int32_t)wrong : WRONG_MAX, &all) != 0)
		return -1;
	*sum = (uint64_t)all > wrong ? (uint64_t)all : wrong;
	return 0;
}

/* One all-reduce with fresh data, timed if `result` is given, checked if asked for. */
static int run_once(struct perf *perf, ina_comm *comm, size_t count, enum ina_type type,
                    struct perf_result *result, uint64_t *wrong)
{
	const char *device = perf->head.stats.device;
	struct pattern pattern = {
	        .type = type,
	        .op = perf->options.op,
	        .seed = perf->options.seed + perf->seed++,
	        .ranks = perf->ranks,
	        .slack = perf->options.fixed_point && type == INA_FLOAT32 &&
	                                 perf->options.op == INA_SUM
	                         ? perf->head.fixed_bound
	                         : 0,
	};
	uint64_t before = 0;
	uint64_t after = 0;
	size_t first = 0;
	int32_t met;
	uint64_t found = 0;
	double start;
	double end;
	bool counted;
	enum ina_status status;

	pattern_fill(&pattern, perf->rank, perf->send, count);
	if (perf->recv != perf->send)
		memset(perf->recv, 0xEE, count * pattern_bytes(type));
	if (sum_one(perf, comm, 1, &met) != 0)
		return -1;
	counted = wire_bytes_read(device, &before) == 0;
	start = now_s();
	status = ina_allreduce(comm, perf->send, perf->recv, count, type, pattern.op);
	end = now_s();
	if (status != INA_OK)
		return complain(comm, "all-reduce", status);
	counted = counted && wire_bytes_read(device, &after) == 0;
	if (result) {
		result->time_s += end - start;
		result->wire_bytes = counted ? result->wire_bytes + (double)(after - before) : -1;
	}
	if (perf->options.check)
		found = pattern_check(&pattern, perf->recv, count, &first, &perf->head.farthest);
	if (found > 0)
		fprintf(stderr,
		        "ina-perf: rank %d: %" PRIu64
		        " of %zu elements are wrong, the first is number %zu\n",
		        perf->rank, found, count, first);
	*wrong += found;
	return 0;
}

/* All iterations of one list of tensors by one communicator. */
static int run_list(struct perf *perf, ina_comm *comm, const size_t *counts, size_t tensors,
                    enum ina_type type, struct perf_result *result)
{
	int iterations = perf->options.iterations;
	struct ina_stats stats;
	uint64_t wrong = 0;

	*result = (struct perf_result){0};
	for (int i = 0; i < perf->options.warmups + iterations; i++) {
		bool timed = i >= perf->options.warmups;

		for (size_t t = 0; t < tensors; t++) {
			if (run_once(perf, comm, counts[t], type, timed ? result : NULL, &wrong) !=
			    0)
				return -1;
		}
	}
	if (add_wrong(perf, comm, wrong, &result->wrong) != 0)
		return -1;
	perf->any_wrong = perf->any_wrong || result->wrong > 0;
	ina_comm_stats(comm, &stats, sizeof(stats));
	result->algorithm = stats.algorithm;
	result->time_s /= iterations;
	if (result->wire_bytes > 0)
		result->wire_bytes /= iterations;
	return 0;
}

static int run_row(struct perf *perf, const size_t *counts, size_t tensors, enum ina_type type,
                   const char *model)
{
	struct perf_row *row = &perf->rows[perf->row_count];

	*row = (struct perf_row){.type = type,
	                         .op = perf->options.op,
	                         .model = model,
	                         .checked = perf->options.check,
	                         .compared = perf->ring != NULL};
	for (size_t t = 0; t < tensors; t++)
		row->count += counts[t];
	row->bytes = row->count * pattern_bytes(type);
	if (run_list(perf, perf->comm, counts, tensors, type, &row->result) != 0)
		return -1;
	if (perf->ring && run_list(perf, perf->ring, counts, tensors, type, &row->ring) != 0)
		return -1;
	perf->row_count++;
	if (perf->rank == 0)
		perf_table_row(&perf->head, row);
	return 0;
}

static int run_all(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	size_t tensors[RESNET50_TENSORS_MAX];

	for (int t = 0; t < options->type_count; t++) {
		for (size_t bytes = options->begin_bytes; bytes <= options->end_bytes;
		     bytes *= options->factor) {
			size_t count = bytes / pattern_bytes(options->types[t]);

			if (run_row(perf, &count, 1, options->types[t], NULL) != 0)
				return -1;
		}
	}
	if (options->resnet50)
		return run_row(perf, tensors, resnet50_tensors(tensors), INA_FLOAT32,
		               "ResNet-50, 161 tensors");
	return 0;
}

static int make_buffers(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	size_t tensors[RESNET50_TENSORS_MAX];
	size_t largest = options->end_bytes;

	if (options->resnet50) {
		size_t count = resnet50_tensors(tensors);

		for (size_t t = 0; t < count; t++)
			largest = tensors[t] * sizeof(float) > largest ? tensors[t] * sizeof(float)
			                                               : largest;
	}
	perf->buffer_bytes = (largest + 4095) / 4096 * 4096;
	perf->send = aligned_alloc(4096, perf->buffer_bytes);
	perf->recv = options->in_place ? perf->send : aligned_alloc(4096, perf->buffer_bytes);
	perf->scratch = aligned_alloc(SCRATCH_BYTES, SCRATCH_BYTES);
	perf->row_limit = 1;
	for (size_t bytes = options->begin_bytes; bytes <= options->end_bytes;
	     bytes *= options->factor)
		perf->row_limit += (size_t)options->type_count;
	perf->rows = calloc(perf->row_limit, sizeof(*perf->rows));
	if (perf->send && perf->recv && perf->scratch && perf->rows)
		return 0;
	fprintf(stderr, "ina-perf: no memory for buffers of %zu bytes\n", perf->buffer_bytes);
	return -1;
}

static int open_all(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	ina_comm *comms[2] = {NULL, NULL};

	if (open_comm(options, options->algorithm, &perf->comm) != 0)
		return -1;
	if (options->compare && open_comm(options, INA_ALGORITHM_RING, &perf->ring) != 0)
		return -1;
	comms[0] = perf->comm;
	comms[1] = perf->ring;
	for (int i = 0; i < 2 && comms[i]; i++) {
		/* Once for all sizes: what is timed then has no registration in it. */
		enum ina_status status = ina_register(comms[i], perf->send, perf->buffer_bytes);

		if (status == INA_OK)
			status = ina_register(comms[i], perf->scratch, SCRATCH_BYTES);
		if (status == INA_OK && perf->recv != perf->send)
			status = ina_register(comms[i], perf->recv, perf->buffer_bytes);
		if (status != INA_OK)
			return complain(comms[i], "ina_register", status);
	}
	perf->rank = ina_comm_rank(perf->comm);
	perf->ranks = ina_comm_ranks(perf->comm);
	perf->head = (struct perf_head){
	        .ranks = perf->ranks,
	        .compare = options->compare,
	        .in_place = options->in_place,
	        .iterations = options->iterations,
	        .seed = options->seed,
	        .fixed_bound = options->fixed_point ? pattern_fixed_bound(perf->ranks) : 0,
	};
	ina_comm_stats(perf->comm, &perf->head.stats, sizeof(perf->head.stats));
	return 0;
}

static int close_comm(ina_comm *comm)
{
	enum ina_status status = ina_close(comm);

	if (status == INA_OK)
		return 0;
	fprintf(stderr, "ina-perf: closing: %s\n", ina_status_name(status));
	return -1;
}

static int finish(struct perf *perf)
{
	const struct perf_options *options = &perf->options;

	if (perf->rank == 0 && options->compare && perf->head.stats.algorithm != INA_ALGORITHM_INA)
		printf("# No aggregator answered: both halves of the table are the ring.\n");
	if (perf->rank == 0 && options->fixed_point && options->check)
		printf("# Fixed point: a sum may be %.3g off; the farthest of rank 0 was %.3g "
		       "off.\n",
		       perf->head.fixed_bound, perf->head.farthest);
	if (perf->rank == 0 && options->json &&
	    perf_table_json(options->json, &perf->head, perf->rows, perf->row_count) != 0) {
		fprintf(stderr, "ina-perf: %s cannot be written\n", options->json);
		return -1;
	}
	if (perf->any_wrong) {
		fprintf(stderr, "ina-perf: rank %d: there are wrong elements\n", perf->rank);
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct perf perf = {0};
	int result = -1;

	perf_options_parse(&perf.options, argc, argv);
	if (perf.options.doctor)
		return doctor(&perf.options);
	if (make_buffers(&perf) != 0 || open_all(&perf) != 0)
		goto out_close;
	if (perf.rank == 0)
		perf_table_header(&perf.head);
	if (perf.options.late_rank == perf.rank)
		sleep((unsigned int)perf.options.late_s);
	result = run_all(&perf);
	if (finish(&perf) != 0)
		result = -1;
out_close:
	if (close_comm(perf.ring) != 0 || close_comm(perf.comm) != 0)
		result = -1;
	if (perf.recv != perf.send)
		free(perf.recv);
	free(perf.send);
	free(perf.scratch);
	free(perf.rows);
	return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
