/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a communicator with the options of the command line. */
#include "perf_open.h"

void perf_fill_options(const struct perf_options *perf, enum ina_algorithm algorithm,
                       enum ina_schedule schedule, struct ina_options *options)
{
	ina_options_init(options);
	options->algorithm = algorithm;
	options->fixed_point = perf->fixed_point;
	options->schedule = schedule;
	if (perf->timeout_s)
		options->timeout_ms = perf->timeout_s * 1000;
	if (perf->doctor) /* a rank that is missing after that is not merely slow to start */
		options->open_timeout_ms = 15000;
	if (perf->window)
		options->window = perf->window;
	if (perf->message)
		options->message_bytes = perf->message;
}

enum ina_status perf_open(const struct perf_options *perf, enum ina_algorithm algorithm,
                          enum ina_schedule schedule, ina_comm **comm, char *why, size_t why_size)
{
	struct ina_options options;

	perf_fill_options(perf, algorithm, schedule, &options);
	return ina_open(&options, comm, why, why_size);
}
