/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines about what a communicator does, for callers who asked for them. The caller's function gets
 * them between calls, when nothing of the communicator is under change, so that it may call the
 * library: until then they wait here.
 */
#ifndef INA_OPTIONS_LOG_H
#define INA_OPTIONS_LOG_H

#include <pthread.h>

#include "error.h"

struct ina_log_line {
	struct ina_log_line *next;
	char text[INA_ERROR_SIZE];
};

struct ina_log {
	void (*write)(void *context, const char *line); /* the caller's; NULL: none */
	void *context;
	bool to_stderr; /* INA_LOG */
	int rank;
	int ranks;
	struct ina_log
	        *outlet; /* where the lines wait: of the program's communicator; NULL: here */
	struct ina_log_line *first;
	struct ina_log_line *last;
	/* This thread is in the caller's function. */
	bool is_writing;
	pthread_t writer;
};

/* From the options and INA_LOG ("info" or "off"), but for the outlet. INA_OK or INA_ERR_ARGUMENT.
 */
enum ina_status ina_log_open(struct ina_log *log, const struct ina_options *options,
                             struct ina_failure *failure);
void ina_log_close(struct ina_log *log);

/*
 * A line for the caller's log function; without one to stderr, where INA_LOG is "info". Without
 * memory for it, it is lost.
 */
void ina_log(struct ina_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The oldest line that waits, to be freed; NULL: there is none, or one is being written. */
struct ina_log_line *ina_log_begin(struct ina_log *log);

/* Given to the caller's function: between the two, the communicator need not be locked. */
void ina_log_write(const struct ina_log *log, const struct ina_log_line *line);

/* It has been written. */
void ina_log_end(struct ina_log *log, struct ina_log_line *line);

#endif
