/* SPDX-License-Identifier: Apache-2.0 */
/* A fair lock: each thread that enters takes a number, and waits until the number is called. */
#include "gate.h"

void ina_gate_init(struct ina_gate *gate)
{
	*gate = (struct ina_gate){0};
	pthread_mutex_init(&gate->mutex, NULL);
	pthread_cond_init(&gate->turn, NULL);
	pthread_cond_init(&gate->event, NULL);
}

void ina_gate_destroy(struct ina_gate *gate)
{
	pthread_cond_destroy(&gate->event);
	pthread_cond_destroy(&gate->turn);
	pthread_mutex_destroy(&gate->mutex);
}

static void enter(struct ina_gate *gate)
{
	uint64_t number = gate->asked++;

	while (gate->left != number)
		pthread_cond_wait(&gate->turn, &gate->mutex);
}

static void leave(struct ina_gate *gate)
{
	gate->left++;
	if (gate->left != gate->asked)
		pthread_cond_broadcast(&gate->turn);
}

void ina_gate_enter(struct ina_gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	enter(gate);
	pthread_mutex_unlock(&gate->mutex);
}

void ina_gate_leave(struct ina_gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	leave(gate);
	pthread_mutex_unlock(&gate->mutex);
}

void ina_gate_tell(struct ina_gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	gate->events++;
	pthread_cond_broadcast(&gate->event);
	pthread_mutex_unlock(&gate->mutex);
}

void ina_gate_await(struct ina_gate *gate)
{
	uint64_t events;

	pthread_mutex_lock(&gate->mutex);
	events = gate->events;
	leave(gate);
	while (gate->events == events)
		pthread_cond_wait(&gate->event, &gate->mutex);
	enter(gate);
	pthread_mutex_unlock(&gate->mutex);
}
