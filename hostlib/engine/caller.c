/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that call a communicator. */
#include "caller.h"

#include <stdlib.h>

struct ina_caller *ina_callers_find(struct ina_callers *callers)
{
	struct ina_caller *caller = &callers->first;

	if (!callers->by_thread)
		return caller;
	for (caller = caller->next; caller; caller = caller->next) {
		if (pthread_equal(caller->thread, pthread_self()))
			return caller;
	}
	return NULL;
}

struct ina_caller *ina_callers_get(struct ina_callers *callers)
{
	struct ina_caller *caller = ina_callers_find(callers);

	if (caller)
		return caller;
	caller = calloc(1, sizeof(*caller));
	if (!caller)
		return NULL;
	caller->thread = pthread_self();
	caller->next = callers->first.next;
	callers->first.next = caller;
	return caller;
}

bool ina_callers_have_grouped(const struct ina_callers *callers)
{
	for (const struct ina_caller *caller = &callers->first; caller; caller = caller->next) {
		if (caller->group.first)
			return true;
	}
	return false;
}

void ina_callers_free(struct ina_callers *callers)
{
	while (callers->first.next) {
		struct ina_caller *caller = callers->first.next;

		callers->first.next = caller->next;
		free(caller);
	}
}
