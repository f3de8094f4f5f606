/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines about a communicator. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns -1 with errno after an error. */
static int open_file(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
}

enum ina_status ina_log_open(struct ina_log *log, const struct ina_options *options,
                             enum ina_log_level level, const char *file,
                             struct ina_failure *failure)
{
	int fd;

	*log = (struct ina_log){
	        .outlet = log->outlet,
	        .write = options->log,
	        .context = options->log_context,
	        .level = level,
	        .file = file,
	        .rank = options->rank,
	        .ranks = options->ranks,
	};
	if (log->write || level == INA_LOG_OFF || !*file)
		return INA_OK;
	fd = open_file(file);
	if (fd < 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "cannot write the file %.200s of INA_LOG_FILE: %s", file,
		                strerror(errno));
	close(fd);
	return INA_OK;
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

/*
 * The file is open only while a line is written: lines are rare, files may be rotated, and a child
 * of fork() inherits nothing. One call for the line keeps it together if several ranks share a
 * file.
 */
static void write_line(const struct ina_log *log, const char *line)
{
	char text[INA_ERROR_SIZE + 60];
	int length = snprintf(text, sizeof(text), "libina: rank %d of %d: %s\n", log->rank,
	                      log->ranks, line);
	int fd = log->file[0] ? open_file(log->file) : STDERR_FILENO;
	ssize_t ignored = write(fd, text, (size_t)length);

	(void)ignored;
	if (fd >= 0 && fd != STDERR_FILENO)
		close(fd);
}

static void add(struct ina_log *log, enum ina_log_level level, const char *format,
                va_list arguments)
{
	char line[INA_ERROR_SIZE];

	if (!log->write && level > log->level)
		return;
	vsnprintf(line, sizeof(line), format, arguments);
	if (log->write)
		keep(log->outlet ? log->outlet : log, line);
	else
		write_line(log, line);
}

void ina_log(struct ina_log *log, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add(log, INA_LOG_INFO, format, arguments);
	va_end(arguments);
}

void ina_warn(struct ina_log *log, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add(log, INA_LOG_WARN, format, arguments);
	va_end(arguments);
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
