/* SPDX-License-Identifier: Apache-2.0 */
/* The report has a row for each combination of call, size and reason that has occurred. */
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define SIZES 65 /* 0 bytes, and a range for each power of two */

#define BOTH(kind, blocking, nonblocking, ina)                                                     \
	[INA_MPI_##kind] = {"MPI_" #blocking, "MPI_" #nonblocking},
static const char *const NAMES[INA_MPI_KINDS][2] = {INA_MPI_COLLECTIVES(BOTH)};

static const char *const REASONS[INA_MPI_WHYS] = {
        [INA_MPI_BY_INA] = "",
        [INA_MPI_UNFIT] = "no aggregator adds such elements",
        [INA_MPI_HALVED] = "half a ring takes fewer bytes",
        [INA_MPI_WITHOUT] = "no aggregator",
        [INA_MPI_SMALL] = "smaller than INA_MPI_THRESHOLD",
        [INA_MPI_TYPE] = "libina has no such type",
        [INA_MPI_OP] = "libina has no such operation",
        [INA_MPI_BLOCKS] = "blocks of different sizes",
        [INA_MPI_HUGE] = "more bytes than MPI can pack",
        [INA_MPI_UNOPENED] = "no larger call before it on this communicator",
        [INA_MPI_INTER] = "an intercommunicator",
        [INA_MPI_FEW] = "one rank",
        [INA_MPI_MANY] = "more ranks than libina supports",
        [INA_MPI_FOREIGN] = "ranks of another MPI_COMM_WORLD",
        [INA_MPI_UNABLE] = "a rank cannot take part; see its stderr",
        [INA_MPI_ONE_HOST] = "all ranks on one host",
        [INA_MPI_LEFT] = "libina could not be opened; see stderr",
        [INA_MPI_ARGUMENT] = "arguments that MPI may reject",
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t counts[INA_MPI_KINDS][2][SIZES][INA_MPI_WHYS];

static int size_class(size_t bytes)
{
	return bytes == 0 ? 0 : 64 - __builtin_clzll(bytes);
}

void ina_mpi_report(const struct ina_mpi_call *call, size_t bytes, enum ina_mpi_why why)
{
	if (!ina_mpi_world.verbose)
		return;
	pthread_mutex_lock(&lock);
	counts[call->kind][call->started][size_class(bytes)][why]++;
	pthread_mutex_unlock(&lock);
}

static void print_row(FILE *out, const char *name, int size, enum ina_mpi_why why,
                      unsigned long long count)
{
	unsigned long long from = size == 0 ? 0 : 1ULL << (size - 1);
	bool by_aggregator = why == INA_MPI_BY_INA;
	bool by_hosts = why == INA_MPI_UNFIT || why == INA_MPI_HALVED || why == INA_MPI_WITHOUT;

	fprintf(out, "# %-26s %12llu %8llu %10llu %8llu %8llu  %s\n", name, from, count,
	        by_aggregator ? count : 0, by_hosts ? count : 0,
	        by_aggregator || by_hosts ? 0 : count, REASONS[why]);
}

/*
 * Appends the text to this rank's file, if there is one. Otherwise writes to stderr, where a
 * launcher may mix the lines of several ranks.
 */
static void put(const char *text)
{
	const char *folder_and_name = ina_mpi_world.verbose;
	char path[PATH_MAX];
	FILE *file;
	bool is_written;

	if (!strchr(folder_and_name, '/')) {
		fputs(text, stderr);
		return;
	}
	snprintf(path, sizeof(path), "%s.%d", folder_and_name, ina_mpi_world.rank);
	file = fopen(path, "a");
	is_written = file && fputs(text, file) >= 0;
	if (file && fclose(file) == 0 && is_written)
		return;
	fprintf(stderr, "ina-mpi: INA_MPI_VERBOSE: cannot write to %s: %s; the table is here\n%s",
	        path, strerror(errno), text);
}

void ina_mpi_report_print(void)
{
	char *text = NULL;
	size_t bytes;
	FILE *out;

	if (!ina_mpi_world.verbose)
		return;
	out = open_memstream(&text, &bytes);
	if (!out)
		return;
	fprintf(out, "# ina-mpi: rank %d\n# %-26s %12s %8s %10s %8s %8s  why not aggregated\n",
	        ina_mpi_world.rank, "call", "bytes from", "count", "aggregator", "ring", "MPI");
	for (int kind = 0; kind < INA_MPI_KINDS; kind++) {
		for (int i = 0; i < 2 * SIZES * INA_MPI_WHYS; i++) {
			int started = i / (SIZES * INA_MPI_WHYS);
			int size = i / INA_MPI_WHYS % SIZES;
			int why = i % INA_MPI_WHYS;
			uint64_t count = counts[kind][started][size][why];

			if (count > 0)
				print_row(out, NAMES[kind][started], size, why, count);
		}
	}
	fclose(out);
	put(text);
	free(text);
}
