/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces among the hosts that bypass the aggregator, because it cannot combine their elements.
 * After a fault, the aggregator's sums are recovered through the ring that takes over and through
 * the memory of both. A rank may need these when another rank has already entered an all-reduce
 * that bypasses the aggregator. So such all-reduces have a separate ring of connections and
 * separate memory, and share only recursive doubling: a rank enters that only when it has all sums
 * of the earlier all-reduces.
 *
 * The connections are made on first use, when all ranks have entered the first such all-reduce.
 */
#ifndef INA_ALGORITHMS_APART_H
#define INA_ALGORITHMS_APART_H

#include "hostlib/control/agreement.h"
#include "hosts.h"

/* Epoch in the work requests of this ring. Those of the ring that takes over have epoch 0. */
#define INA_APART_EPOCH 1u

struct ina_innet;

struct ina_apart {
	struct ina_hosts hosts; /* must be the first member */
	/* the context of the ring that takes over, copied for this one */
	const struct ina_connection_context *like;
	const struct ina_turn *turn;    /* the communicator's current call */
	const struct ina_innet *beside; /* the aggregated connection */
	struct ina_memory memory;       /* slots and staging of this ring */
	enum {
		INA_APART_CLOSED,
		INA_APART_GATHERING, /* waits until all ranks have entered the call */
		INA_APART_CONNECTING,
		INA_APART_OPEN,
	} stage;
	struct ina_transfer waiting; /* the transfer that waits for the connections */
};

/*
 * Prepares the algorithm without opening connections. like: the context of the ring that takes
 * over, which is ready before any all-reduce.
 */
void ina_apart_attach(struct ina_apart *apart, const struct ina_completions *completions,
                      struct ina_doubling *doubling, const struct ina_connection_context *like);

/*
 * Makes all progress that is possible without waiting. Also called after a recovery, which may have
 * taken completions of this algorithm.
 */
enum ina_status ina_apart_go_on(void *apart, struct ina_failure *failure);

/* Its functions take a struct ina_apart. */
extern const struct ina_algorithm_row ina_apart_algorithm;

#endif
