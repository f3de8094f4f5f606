/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that calls a communicator, and what the communicator keeps for it. Without a thread of
 * the library there is one caller, whichever thread that is: the communicator belongs to one at a
 * time.
 */
#ifndef INA_ENGINE_CALLER_H
#define INA_ENGINE_CALLER_H

#include <pthread.h>
#include <stdbool.h>

#include "hostlib/include/ina.h"

struct ina_request;

/* ina_group_start() to ina_group_end() */
struct ina_group {
	bool is_open;
	struct ina_request *first;
	struct ina_request *last;
};

struct ina_caller {
	struct ina_caller *next;
	pthread_t thread;
	struct ina_group group;
	char error[INA_ERROR_SIZE]; /* for ina_error(), until the thread's next call of that */
};

/* A list, of which the first one stands for all threads where there is no thread of the library. */
struct ina_callers {
	struct ina_caller first;
	bool by_thread;
};

/* The calling thread; NULL: nothing is kept for it. */
struct ina_caller *ina_callers_find(struct ina_callers *callers);

/* The same, made if need be; NULL: no memory. */
struct ina_caller *ina_callers_get(struct ina_callers *callers);

/* Is any request in a group that has not been ended? */
bool ina_callers_have_grouped(const struct ina_callers *callers);

void ina_callers_free(struct ina_callers *callers);

#endif
