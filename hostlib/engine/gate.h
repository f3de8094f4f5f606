/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that threads get in the order in which they ask for it. With a plain mutex, a thread that
 * releases it and takes it again immediately, like a progress thread, can keep all other threads
 * out.
 */
#ifndef INA_ENGINE_GATE_H
#define INA_ENGINE_GATE_H

#include <pthread.h>
#include <stdint.h>

struct ina_gate {
	pthread_mutex_t mutex; /* protects the fields below; never held for long */
	pthread_cond_t turn;
	pthread_cond_t event;
	uint64_t asked; /* number of threads that have asked to enter */
	uint64_t left;  /* number of threads that have left */
	uint64_t events;
};

void ina_gate_init(struct ina_gate *gate);
void ina_gate_destroy(struct ina_gate *gate);

void ina_gate_enter(struct ina_gate *gate);
void ina_gate_leave(struct ina_gate *gate);

/* Called inside the gate: wakes the threads that wait for an event. */
void ina_gate_tell(struct ina_gate *gate);

/* Called inside the gate: leaves, waits for the next event, and enters again. */
void ina_gate_await(struct ina_gate *gate);

#endif
