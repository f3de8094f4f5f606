/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines about a communicator, for callers that asked for them. The caller's log function may
 * call the library, so it receives the lines between calls, when no state of the communicator is
 * being changed. Until then the lines wait here.
 */
#ifndef INA_OPTIONS_LOG_H
#define INA_OPTIONS_LOG_H

#include <pthread.h>

#include "error.h"

/* As INA_LOG. A level includes those before it. */
enum ina_log_level {
	INA_LOG_OFF,
	INA_LOG_WARN, /* what makes the communicator slower, or fails */
	INA_LOG_INFO, /* how it is connected; that the aggregator is back */
};

#define INA_LOG_FILE_SIZE 256

struct ina_log_line {
	struct ina_log_line *next;
	char text[INA_ERROR_SIZE];
};

struct ina_log {
	void (*write)(void *context, const char *line); /* the caller's log function; NULL: none */
	void *context;
	/* Without such a function, lines up to this level go to the file. */
	enum ina_log_level level;
	const char *file; /* a path; "": stderr */
	int rank;
	int ranks;
	struct ina_log
	        /*
	         * the log that keeps the lines: that of the caller's communicator; NULL: this one
	         */
	        *outlet;
	struct ina_log_line *first;
	struct ina_log_line *last;
	/* A thread is in the caller's log function; writer is that thread. */
	bool is_writing;
	pthread_t writer;
};

/*
 * Sets up the log from the options; keeps log->outlet. `file` must live as long as the log. Returns
 * INA_OK, or INA_ERR_ARGUMENT if lines are to go to a file that cannot be written.
 */
enum ina_status ina_log_open(struct ina_log *log, const struct ina_options *options,
                             enum ina_log_level level, const char *file,
                             struct ina_failure *failure);

/*
 * Add a line of level info, or warn, for the caller's log function. Without such a function, it is
 * written immediately if its level asks for it. If memory runs out, or the file cannot be written,
 * the line is lost.
 */
void ina_log(struct ina_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ina_warn(struct ina_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Takes the oldest waiting line, which the caller passes to ina_log_end(). Returns NULL if no line
 * waits, or while another line is being written.
 */
struct ina_log_line *ina_log_begin(struct ina_log *log);

/* Passes the line to the caller's log function. The communicator's lock need not be held here. */
void ina_log_write(const struct ina_log *log, const struct ina_log_line *line);

/* Ends the writing of a line, and frees it. */
void ina_log_end(struct ina_log *log, struct ina_log_line *line);

#endif
