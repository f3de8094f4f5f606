/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the table: one row for each size, with the units in the header. */
#include "perf_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *algorithm_name(enum ina_algorithm algorithm)
{
	return algorithm == INA_ALGORITHM_INA ? "ina" : "ring";
}

const char *perf_type_name(enum ina_type type)
{
	static const char *const names[] = {
	        [INA_FLOAT32] = "float", [INA_FLOAT16] = "half", [INA_FLOAT64] = "double"};
	const size_t known = sizeof(names) / sizeof(names[0]);

	return type < known && names[type] ? names[type] : ina_type_name(type);
}

const char *perf_op_name(enum ina_op op)
{
	static const char *const names[] = {[INA_SUM] = "sum",
	                                    [INA_MAX] = "max",
	                                    [INA_MIN] = "min",
	                                    [INA_PROD] = "prod",
	                                    [INA_AVG] = "avg"};

	return names[op];
}

double perf_algbw(uint64_t bytes, double time_s)
{
	return time_s > 0 ? (double)bytes / time_s / 1e9 : 0;
}

double perf_busbw(const struct perf_head *head, uint64_t bytes, double time_s)
{
	return perf_algbw(bytes, time_s) * collective_bus_factor(head->collective, head->ranks);
}

/* All collectives but all-reduce have the root column, as in nccl-tests. */
static bool has_root_column(const struct perf_head *head)
{
	return head->collective != INA_CALL_ALLREDUCE;
}

static void print_root(const struct perf_head *head, const char *title)
{
	if (!has_root_column(head))
		return;
	if (title)
		printf(" %5s", title);
	else
		printf(" %5d", ina_call_has_root(head->collective) ? head->root : -1);
}

void perf_table_header(const struct perf_head *head)
{
	const struct ina_stats *stats = &head->stats;

	printf("# ina-perf: %d ranks on %s, path MTU %u, messages of %u bytes, window %u, %s "
	       "place, mean "
	       "of %d, times of all ranks\n",
	       head->ranks, stats->device[0] ? stats->device : "no device", stats->path_mtu,
	       stats->message_bytes, stats->window, head->in_place ? "in" : "out of",
	       head->iterations);
	if (has_root_column(head))
		printf("# %s\n", ina_call_row(head->collective)->name);
	printf("#%11s %11s %8s %5s", "size", "count", "type", "redop");
	print_root(head, "root");
	printf(" %5s %11s %7s %7s %12s %7s", "algo", "time", "algbw", "busbw", "wire/host",
	       "#wrong");
	if (head->compare)
		printf(" | %11s %7s %12s %7s %8s", "ring time", "busbw", "wire/host", "#wrong",
		       "speed-up");
	printf("\n#%11s %11s %8s %5s", "(B)", "(elements)", "", "");
	print_root(head, "");
	printf(" %5s %11s %7s %7s %12s %7s", "", "(us)", "(GB/s)", "(GB/s)", "(B)", "");
	if (head->compare)
		printf(" | %11s %7s %12s %7s %8s", "(us)", "(GB/s)", "(B)", "", "(x)");
	printf("\n");
	fflush(stdout);
}

static void print_wire(double bytes)
{
	if (bytes < 0)
		printf(" %12s", "?");
	else
		printf(" %12.0f", bytes);
}

static void print_wrong(const struct perf_row *row, uint64_t wrong)
{
	if (row->checked)
		printf(" %7" PRIu64, wrong);
	else
		printf(" %7s", "N/A");
}

static double speed_up(const struct perf_row *row)
{
	return row->result.time_s > 0 ? row->ring.time_s / row->result.time_s : 0;
}

void perf_table_row(const struct perf_head *head, const struct perf_row *row)
{
	const struct perf_result *result = &row->result;

	printf(" %11" PRIu64 " %11" PRIu64 " %8s %5s", row->bytes, row->count,
	       perf_type_name(row->type),
	       ina_call_row(head->collective)->combines ? perf_op_name(row->op) : "none");
	print_root(head, NULL);
	printf(" %5s %11.1f %7.4f %7.4f", algorithm_name(result->algorithm), result->time_s * 1e6,
	       perf_algbw(row->bytes, result->time_s),
	       perf_busbw(head, row->bytes, result->time_s));
	print_wire(result->wire_bytes);
	print_wrong(row, result->wrong);
	if (row->compared) {
		printf(" | %11.1f %7.4f", row->ring.time_s * 1e6,
		       perf_busbw(head, row->bytes, row->ring.time_s));
		print_wire(row->ring.wire_bytes);
		print_wrong(row, row->ring.wrong);
		printf(" %8.2f", speed_up(row));
	}
	if (row->model)
		printf("  %s", row->model);
	printf("\n");
	fflush(stdout);
}

static json_t *result_json(const struct perf_row *row, const struct perf_result *result,
                           const struct perf_head *head)
{
	json_t *object = json_pack(
	        "{s:s, s:f, s:f, s:f}", "algorithm", algorithm_name(result->algorithm), "time_us",
	        result->time_s * 1e6, "algbw_GBps", perf_algbw(row->bytes, result->time_s),
	        "busbw_GBps", perf_busbw(head, row->bytes, result->time_s));

	json_object_set_new(object, "wire_bytes",
	                    result->wire_bytes < 0 ? json_null() : json_real(result->wire_bytes));
	json_object_set_new(object, "wrong",
	                    row->checked ? json_integer((json_int_t)result->wrong) : json_null());
	json_object_set_new(object, "fallbacks", json_integer((json_int_t)result->fallbacks));
	json_object_set_new(object, "rejoins", json_integer((json_int_t)result->rejoins));
	json_object_set_new(object, "yields", json_integer((json_int_t)result->yields));
	return object;
}

static json_t *schedules_json(const struct perf_row *row, const struct perf_head *head)
{
	static const char *const names[] = {"flat", "leader", "parallel"};
	json_t *object = json_pack("{s:s}", "picked", names[row->picked]);

	for (int s = 0; s < 3; s++) {
		json_t *one = result_json(row, &row->schedules[s], head);

		json_object_set_new(one, "model_us", json_real(row->modelled_s[s] * 1e6));
		json_object_set_new(object, names[s], one);
	}
	return object;
}

static json_t *row_json(const struct perf_row *row, const struct perf_head *head)
{
	json_t *object = json_pack("{s:I, s:I, s:s, s:s}", "size_bytes", (json_int_t)row->bytes,
	                           "count", (json_int_t)row->count, "type",
	                           perf_type_name(row->type), "op", perf_op_name(row->op));

	json_object_set_new(object, "model", row->model ? json_string(row->model) : json_null());
	json_object_set_new(object, "result", result_json(row, &row->result, head));
	if (row->has_schedules)
		json_object_set_new(object, "schedules", schedules_json(row, head));
	if (row->compared) {
		json_object_set_new(object, "ring", result_json(row, &row->ring, head));
		json_object_set_new(object, "speed_up", json_real(speed_up(row)));
	}
	return object;
}

int perf_table_json(const char *path, const struct perf_head *head, const struct perf_row *rows,
                    size_t row_count)
{
	json_t *list = json_array();
	json_t *root;
	int result;

	for (size_t i = 0; i < row_count; i++)
		json_array_append_new(list, row_json(&rows[i], head));
	root = json_pack("{s:i, s:s, s:s, s:i, s:i, s:i, s:b, s:i, s:I, s:o}", "ranks", head->ranks,
	                 "collective", ina_call_row(head->collective)->name, "device",
	                 head->stats.device, "path_mtu", (int)head->stats.path_mtu, "message_bytes",
	                 (int)head->stats.message_bytes, "window", (int)head->stats.window,
	                 "in_place", head->in_place, "iterations", head->iterations, "seed",
	                 (json_int_t)head->seed, "rows", list);
	if (root && head->fixed_bound > 0)
		json_object_set_new(root, "fixed_point",
		                    json_pack("{s:f, s:f}", "bound", head->fixed_bound, "farthest",
		                              head->farthest));
	result = root ? json_dump_file(root, path, JSON_INDENT(1)) : -1;
	json_decref(root);
	return result;
}
