/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines about a communicator. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void ina_log_open(struct ina_log *log, const struct ina_options *options, bool to_stderr)
{
	*log = (struct ina_log){
	        .outlet = log->outlet,
	        .write = options->log,
	        .context = options->log_context,
	        .to_stderr = to_stderr,
	        .rank = options->rank,
	        .ranks = options->ranks,
	};
}

void ina_log_close(struct ina_log *log)
{
	while (log->first) {
		struct ina_log_line *line = log->first;

		log->first = line->next;
		free(line);
	}
	log->last = NULL;
}

static void keep(struct ina_log *log, const char *text)
{
	struct ina_log_line *line = calloc(1, sizeof(*line));

	if (!line)
		return;
	snprintf(line->text, sizeof(line->text), "%s", text);
	if (log->last)
		log->last->next = line;
	else
		log->first = line;
	log->last = line;
}

void ina_log(struct ina_log *log, const char *format, ...)
{
	char line[INA_ERROR_SIZE];
	va_list arguments;

	if (!log->write && !log->to_stderr)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (log->write)
		keep(log->outlet ? log->outlet : log, line);
	else
		fprintf(stderr, "libina: rank %d of %d: %s\n", log->rank, log->ranks, line);
}

struct ina_log_line *ina_log_begin(struct ina_log *log)
{
	struct ina_log_line *line = log->first;

	/* Write one line at a time, so that the lines stay in order. */
	if (!line || log->is_writing)
		return NULL;
	log->first = line->next;
	if (!log->first)
		log->last = NULL;
	log->is_writing = true;
	log->writer = pthread_self();
	return line;
}

void ina_log_write(const struct ina_log *log, const struct ina_log_line *line)
{
	log->write(log->context, line->text);
}

void ina_log_end(struct ina_log *log, struct ina_log_line *line)
{
	log->is_writing = false;
	free(line);
}
