/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that a communicator keeps for each thread that calls it. Without a progress thread,
 * there is only one such state, because one thread at a time uses the communicator.
 */
#ifndef INA_ENGINE_CALLER_H
#define INA_ENGINE_CALLER_H

#include <pthread.h>
#include <stdbool.h>

#include "hostlib/include/ina.h"

struct ina_request;

/* A group, from ina_group_start() to ina_group_end(). */
struct ina_group {
	bool is_open;
	struct ina_request *first;
	struct ina_request *last;
};

struct ina_caller {
	struct ina_caller *next;
	pthread_t thread;
	struct ina_group group;
	/* the text of ina_error(), valid until this thread calls it again */
	char error[INA_ERROR_SIZE];
};

/* A list of callers. Without a progress thread, the first one stands for all threads. */
struct ina_callers {
	struct ina_caller first;
	bool by_thread;
};

/* The state of the calling thread; NULL if the communicator keeps none for it. */
struct ina_caller *ina_callers_find(struct ina_callers *callers);

/* The same, but creates the state if necessary. NULL if memory runs out. */
struct ina_caller *ina_callers_get(struct ina_callers *callers);

/* Is there a request in a group that has not ended yet? */
bool ina_callers_have_grouped(const struct ina_callers *callers);

void ina_callers_free(struct ina_callers *callers);

#endif
