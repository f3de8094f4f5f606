/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that threads get in the order in which they ask for it. With a plain mutex a thread that
 * gives it up and takes it again at once, as one that makes progress does, may keep all others out.
 */
#ifndef INA_ENGINE_GATE_H
#define INA_ENGINE_GATE_H

#include <pthread.h>
#include <stdint.h>

struct ina_gate {
	pthread_mutex_t mutex; /* of what follows; nobody waits long for it */
	pthread_cond_t turn;
	pthread_cond_t event;
	uint64_t asked; /* so many have asked to enter, */
	uint64_t left;  /* and so many have left */
	uint64_t events;
};

void ina_gate_init(struct ina_gate *gate);
void ina_gate_destroy(struct ina_gate *gate);

void ina_gate_enter(struct ina_gate *gate);
void ina_gate_leave(struct ina_gate *gate);

/* Inside: an event wakes those that wait for one. */
void ina_gate_tell(struct ina_gate *gate);

/* Inside: leaves, waits for an event that was not told before, and enters again. */
void ina_gate_await(struct ina_gate *gate);

#endif
