/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduces among the hosts where there is an aggregator, too, which is not asked: it cannot add
 * what they are of. What the aggregator's sums are recovered by, after a fault, is the ring that
 * takes over, and the memory of both; a rank may be in need of that when another one has gone on
 * to such an all-reduce. So this has a ring of connections and memory of its own, and shares but
 * recursive doubling: a rank comes to that only when it has all sums of the all-reduces before.
 *
 * The connections are made when the first all-reduce needs them: when all ranks have come to it.
 */
#ifndef INA_ALGORITHMS_APART_H
#define INA_ALGORITHMS_APART_H

#include "hostlib/control/agreement.h"
#include "hosts.h"

/* In the work requests of its ring; those of the ring that takes over have 0. */
#define INA_APART_EPOCH 1u

struct ina_innet;

struct ina_apart {
	struct ina_hosts hosts;                    /* the first member */
	const struct ina_connection_context *like; /* what its own is made after */
	const struct ina_turn *turn;               /* the communicator's */
	const struct ina_innet *beside;            /* the aggregated connection */
	struct ina_memory memory;                  /* slots and staging */
	enum {
		INA_APART_CLOSED,
		INA_APART_GATHERING, /* all ranks are to be there */
		INA_APART_CONNECTING,
		INA_APART_OPEN,
	} stage;
	struct ina_transfer waiting; /* for its connections */
};

/* like: the context of the ring that takes over, which is made before any all-reduce. */
void ina_apart_attach(struct ina_apart *apart, const struct ina_completions *completions,
                      struct ina_doubling *doubling, const struct ina_connection_context *like);

/* As far as it goes: also after a recovery, which has taken its completions. */
enum ina_status ina_apart_go_on(void *apart, struct ina_failure *failure);

/* Its functions take a struct ina_apart. */
extern const struct ina_algorithm_row ina_apart_algorithm;

#endif
