/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina-perf: times all-reduces of many sizes, and compares every element of every result with a sum
 * that was computed in another way.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/streams.h"
#include "cost_model.h"
#include "doctor.h"
#include "library_options.h"
#include "pattern.h"
#include "perf_open.h"
#include "perf_options.h"
#include "perf_run.h"
#include "resnet50.h"
#include "schedules.h"

/* Returns an exit code. */
static int open_comm(const struct perf_options *options, enum ina_algorithm algorithm,
                     enum ina_schedule schedule, ina_comm **comm)
{
	char why[INA_ERROR_SIZE];
	enum ina_status status = perf_open(options, algorithm, schedule, comm, why, sizeof(why));

	if (status == INA_OK)
		return EXIT_SUCCESS;
	fprintf(stderr, "ina-perf: %s: %s\n", ina_status_name(status), why);
	return status == INA_ERR_ARGUMENT ? PERF_EXIT_USAGE : EXIT_FAILURE;
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
	row->bytes = collective_elements(perf->options.collective, row->count, perf->ranks) *
	             ina_type_size(type);
	if (perf->schedules)
		return schedules_run(perf, row, counts, tensors);
	if (perf_run_list(perf, perf->comm, counts, tensors, type, INA_SUM, &row->result) != 0)
		return -1;
	if (perf->ring &&
	    perf_run_list(perf, perf->ring, counts, tensors, type, INA_SUM, &row->ring) != 0)
		return -1;
	perf->row_count++;
	if (perf->rank == 0)
		perf_table_row(&perf->head, row);
	return 0;
}

/* The work of one row, over all algorithms that run it. */
static double row_work(const struct perf *perf, const size_t *counts, size_t tensors,
                       enum ina_type type)
{
	const struct perf_options *options = &perf->options;
	int ways = options->schedules ? COST_COUNT : perf->ring ? 2 : 1;
	double work = 0;

	for (size_t t = 0; t < tensors; t++)
		work += perf_work(counts[t], type);
	return work * ways * (options->warmups + options->iterations);
}

static double all_work(const struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	size_t tensors[RESNET50_TENSORS_MAX];
	double work = 0;

	for (int t = 0; t < options->type_count; t++) {
		for (size_t bytes = options->begin_bytes; bytes <= options->end_bytes;
		     bytes *= options->factor) {
			size_t count = bytes / ina_type_size(options->types[t]);

			work += row_work(perf, &count, 1, options->types[t]);
		}
	}
	if (options->resnet50)
		work += row_work(perf, tensors, resnet50_tensors(tensors), INA_FLOAT32);
	return work;
}

static int run_all(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	size_t tensors[RESNET50_TENSORS_MAX];

	for (int t = 0; t < options->type_count; t++) {
		for (size_t bytes = options->begin_bytes; bytes <= options->end_bytes;
		     bytes *= options->factor) {
			size_t count = collective_count(options->collective,
			                                bytes / ina_type_size(options->types[t]),
			                                perf->ranks);

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

/* Returns an exit code. */
static int open_all(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	ina_comm *comms[2] = {NULL, NULL};
	bool three = options->schedules || options->pick;
	int code = open_comm(options, three ? INA_ALGORITHM_RING : options->algorithm,
	                     three ? INA_SCHEDULE_FLAT : options->schedule, &perf->comm);

	if (code == EXIT_SUCCESS && options->compare)
		code = open_comm(options, INA_ALGORITHM_RING, options->schedule, &perf->ring);
	if (code != EXIT_SUCCESS)
		return code;
	comms[0] = perf->comm;
	comms[1] = perf->ring;
	for (int i = 0; i < 2 && comms[i]; i++) {
		/* Registered once for all sizes, so that the measured times include no
		 * registration. */
		enum ina_status status = ina_register(comms[i], perf->send, perf->buffer_bytes);

		if (status == INA_OK)
			status = ina_register(comms[i], perf->scratch, SCRATCH_BYTES);
		if (status == INA_OK && perf->recv != perf->send)
			status = ina_register(comms[i], perf->recv, perf->buffer_bytes);
		if (status != INA_OK) {
			perf_complain(comms[i], "ina_register", status);
			return EXIT_FAILURE;
		}
	}
	perf->rank = ina_comm_rank(perf->comm);
	perf->ranks = ina_comm_ranks(perf->comm);
	perf->head = (struct perf_head){
	        .ranks = perf->ranks,
	        .compare = options->compare,
	        .collective = options->collective,
	        .root = options->root,
	        .in_place = options->in_place,
	        .iterations = options->iterations,
	        .seed = options->seed,
	        .fixed_bound = options->fixed_point ? pattern_fixed_bound(perf->ranks) : 0,
	};
	ina_comm_stats(perf->comm, &perf->head.stats, sizeof(perf->head.stats));
	return three && schedules_open(perf) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool is_rank(const struct perf *perf, const char *option, int rank)
{
	if (rank < perf->ranks)
		return true;
	fprintf(stderr, "ina-perf: %s %d: must be a rank from 0 to %d\n", option, rank,
	        perf->ranks - 1);
	return false;
}

/*
 * Checks the options that depend on the number of ranks, before anything is measured. All ranks
 * return the same value: true if the options are valid.
 */
static bool check_options(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	int32_t faults = 0;

	if (!is_rank(perf, "-r", options->root) || !is_rank(perf, "--late", options->late_rank))
		return false;
	if (!options->json)
		return true;
	if (perf->rank == 0 && !ina_streams_can_write("ina-perf", options->json))
		faults = 1;
	return perf_sum_one(perf, perf->comm, faults, &faults) == 0 && faults == 0;
}

static int close_comm(ina_comm *comm)
{
	enum ina_status status = ina_close(comm);

	if (status == INA_OK)
		return 0;
	fprintf(stderr, "ina-perf: closing: %s\n", ina_status_name(status));
	return -1;
}

/* With algorithm auto, prints why the hosts sum themselves, as ina_comm_explain() reports it. */
static void print_reason(const struct perf *perf)
{
	static const char opened[] = "when opened: ";
	char text[8192];

	if (perf->options.algorithm != INA_ALGORITHM_AUTO ||
	    perf->head.stats.algorithm == INA_ALGORITHM_INA)
		return;
	ina_comm_explain(perf->comm, text, sizeof(text));
	for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
		if (strncmp(line, opened, strlen(opened)) == 0)
			printf("# %s\n", line + strlen(opened));
}

/* Prints, at rank 0, how many rows the aggregator did not sum. Returns whether it summed all. */
static bool are_all_aggregated(const struct perf *perf)
{
	const struct perf_row *first = NULL;
	size_t others = 0;

	for (size_t i = 0; i < perf->row_count; i++) {
		if (perf->rows[i].result.algorithm == INA_ALGORITHM_INA)
			continue;
		if (!others++)
			first = &perf->rows[i];
	}
	if (others && perf->rank == 0)
		fprintf(stderr,
		        "ina-perf: --algorithm ina: the aggregator did not sum %zu of %zu rows; "
		        "the first has %" PRIu64 " bytes of %s\n",
		        others, perf->row_count, first->bytes, perf_type_name(first->type));
	return others == 0;
}

static int finish(struct perf *perf)
{
	const struct perf_options *options = &perf->options;

	if (perf->rank == 0 && options->compare && perf->head.stats.algorithm != INA_ALGORITHM_INA)
		printf("# No aggregator answered: both halves of the table show the ring.\n");
	if (perf->rank == 0 && options->fixed_point && options->check)
		printf("# Fixed point: a sum may be %.3g off; the largest error on rank 0 was "
		       "%.3g.\n",
		       perf->head.fixed_bound, perf->head.farthest);
	if (perf->rank == 0 && options->json &&
	    perf_table_json(options->json, &perf->head, perf->rows, perf->row_count) != 0) {
		fprintf(stderr, "ina-perf: cannot write %s: %s\n", options->json, strerror(errno));
		return -1;
	}
	if (options->algorithm == INA_ALGORITHM_INA && !perf->schedules &&
	    !are_all_aggregated(perf))
		return -1;
	if (perf->any_wrong) {
		fprintf(stderr, "ina-perf: rank %d: some elements are wrong\n", perf->rank);
		return -1;
	}
	return 0;
}

/* Returns an exit code. */
static int print_options(const struct perf_options *perf)
{
	struct ina_options options;

	perf_fill_options(perf, perf->algorithm, perf->schedule, &options);
	return library_options_print(&options) == INA_OK ? EXIT_SUCCESS : PERF_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	struct perf perf = {.progress.fd = -1};
	int code = EXIT_FAILURE;

	ina_streams_open();
	perf_options_parse(&perf.options, argc, argv);
	if (perf.options.doctor || perf.options.list_options) {
		code = perf.options.doctor ? doctor(&perf.options) : print_options(&perf.options);
		return ina_streams_flush("ina-perf") ? code : EXIT_FAILURE;
	}
	if (make_buffers(&perf) != 0)
		goto out_close;
	code = open_all(&perf);
	if (code != EXIT_SUCCESS)
		goto out_close;
	if (!check_options(&perf)) {
		code = PERF_EXIT_USAGE;
		goto out_close;
	}
	if (perf.rank == 0 && !perf.schedules) {
		print_reason(&perf);
		perf_table_header(&perf.head);
	}
	if (perf.options.late_rank == perf.rank)
		sleep((unsigned int)perf.options.late_s);
	if (perf.rank == 0)
		progress_open(&perf.progress, all_work(&perf));
	code = run_all(&perf) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	if (finish(&perf) != 0)
		code = EXIT_FAILURE;
out_close:
	progress_close(&perf.progress);
	schedules_close(&perf);
	if ((close_comm(perf.ring) != 0 || close_comm(perf.comm) != 0) && !code)
		code = EXIT_FAILURE;
	if (perf.recv != perf.send)
		free(perf.recv);
	free(perf.send);
	free(perf.scratch);
	free(perf.rows);
	return ina_streams_flush("ina-perf") || code ? code : EXIT_FAILURE;
}
