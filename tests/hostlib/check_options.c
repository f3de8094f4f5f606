/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The visible effects of the fields of struct ina_options. To be run by four ranks on two machines,
 * in virtual time, with an aggregator that swallows everything:
 *
 *	check_options
 *
 * Exits with 0 if each field did what ina.h says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "ina.h"

#define COUNT 20000u
#define CALLS 4

static int port = INA_DEFAULT_PORT;

/* The lines passed to options.log. */
struct lines {
	int count;
	int bad;
};

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "check_options: %s: %s\n", what, why);
	return -1;
}

static void take_line(void *context, const char *line)
{
	struct lines *lines = context;

	lines->count++;
	lines->bad |= !line[0] || strchr(line, '\n');
}

static void init(struct ina_options *options)
{
	ina_options_init(options);
	options->join_timeout_ms = 50;
}

/* Opens, all-reduces, reads the counters and closes. */
static int use(const char *what, struct ina_options *options, struct ina_stats *stats)
{
	static int32_t send[COUNT], recv[COUNT];
	static char root[64];
	char why[INA_ERROR_SIZE];
	ina_comm *comm;
	int ranks;

	/* Each opening uses a different port, so an early rank does not meet a rank that is still
	 * in the one before. */
	snprintf(root, sizeof(root), "%s:%d", getenv("INA_ROOT"), ++port);
	options->root = root;
	if (ina_open(options, &comm, why, sizeof(why)) != INA_OK)
		return complain(what, why);
	ranks = ina_comm_ranks(comm);
	for (int call = 0; call < CALLS; call++) {
		for (size_t i = 0; i < COUNT; i++)
			send[i] = (ina_comm_rank(comm) + 1) * (int32_t)i;
		if (ina_allreduce(comm, send, recv, COUNT, INA_INT32, INA_SUM) != INA_OK)
			return complain(what, ina_error(comm));
		for (size_t i = 0; i < COUNT; i++)
			if (recv[i] != ranks * (ranks + 1) / 2 * (int32_t)i)
				return complain(what, "a wrong sum");
	}
	ina_comm_stats(comm, stats, sizeof(*stats));
	return ina_close(comm) == INA_OK ? 0 : complain(what, "ina_close failed");
}

static int check_log(void)
{
	struct lines lines = {0};
	struct ina_options options;
	struct ina_stats stats;

	init(&options);
	options.log = take_line;
	options.log_context = &lines;
	if (use("log", &options, &stats) != 0)
		return -1;
	return lines.count > 0 && !lines.bad ? 0 : complain("log", "no line, or a bad one");
}

static int check_device(void)
{
	struct ina_options options;
	struct ina_stats stats;
	char why[INA_ERROR_SIZE];
	ina_comm *comm;

	init(&options);
	options.device = "rxe0";
	if (use("device", &options, &stats) != 0)
		return -1;
	if (strcmp(stats.device, "rxe0") != 0)
		return complain("device", stats.device);
	options.device = "nowhere7";
	if (ina_open(&options, &comm, why, sizeof(why)) != INA_ERR_DEVICE ||
	    !strstr(why, "nowhere7"))
		return complain("a device that is not there", why);
	return 0;
}

static int check_schedule(void)
{
	static const struct {
		enum ina_schedule schedule;
		unsigned int rails, machines, local_ranks;
	} wanted[] = {{INA_SCHEDULE_FLAT, 0, 4, 1},
	              {INA_SCHEDULE_LEADER, 1, 2, 2},
	              {INA_SCHEDULE_PARALLEL, 2, 2, 2},
	              {INA_SCHEDULE_AUTO, 2, 2, 2}};
	struct ina_options options;
	struct ina_stats stats;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		init(&options);
		options.schedule = wanted[i].schedule;
		if (use("schedule", &options, &stats) != 0)
			return -1;
		if (stats.rails != wanted[i].rails || stats.machines != wanted[i].machines ||
		    stats.local_ranks != wanted[i].local_ranks) {
			fprintf(stderr,
			        "check_options: schedule %d: %u rails, %u machines, %u ranks\n",
			        (int)wanted[i].schedule, stats.rails, stats.machines,
			        stats.local_ranks);
			return -1;
		}
	}
	return 0;
}

static int check_polling(void)
{
	static const unsigned int counts[] = {0, 1, 10000};
	struct ina_options options;
	struct ina_stats stats;

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		init(&options);
		options.poll_count = counts[i];
		if (use("poll_count", &options, &stats) != 0)
			return -1;
	}
	return 0;
}

/*
 * The library keeps no registrations. Between machines' leaders buffers are copied, so only flat
 * ranks register the caller's.
 */
static int check_registrations(void)
{
	struct ina_options options;
	struct ina_stats stats;

	init(&options);
	options.schedule = INA_SCHEDULE_FLAT;
	if (use("registrations", &options, &stats) != 0)
		return -1;
	return stats.registrations == 2 * CALLS
	               ? 0
	               : complain("registrations", "another number of them");
}

/* The aggregator never answers: the rank waits this long. */
static int check_join_timeout(void)
{
	static const int timeouts_ms[] = {300, 1000};
	struct ina_options options;
	struct ina_stats stats;

	for (size_t i = 0; i < sizeof(timeouts_ms) / sizeof(*timeouts_ms); i++) {
		double start_s, took_s;

		init(&options);
		options.schedule = INA_SCHEDULE_LEADER;
		options.join_timeout_ms = timeouts_ms[i];
		start_s = ina_now_s();
		if (use("join_timeout_ms", &options, &stats) != 0)
			return -1;
		took_s = ina_now_s() - start_s;
		if (took_s < timeouts_ms[i] / 1e3 || took_s > timeouts_ms[i] / 1e3 + 0.2) {
			fprintf(stderr, "check_options: %d ms took %.3f s\n", timeouts_ms[i],
			        took_s);
			return -1;
		}
	}
	return 0;
}

int main(void)
{
	return check_log() != 0 || check_device() != 0 || check_schedule() != 0 ||
	       check_polling() != 0 || check_registrations() != 0 || check_join_timeout() != 0;
}
