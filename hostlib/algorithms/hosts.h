/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The all-reduce among the hosts, used if no aggregator sums. Short all-reduces use recursive
 * doubling, others the ring. All ranks choose the same, because the choice depends only on the
 * transfer.
 */
#ifndef INA_ALGORITHMS_HOSTS_H
#define INA_ALGORITHMS_HOSTS_H

#include "completing.h"
#include "doubling.h"
#include "ring.h"

struct ina_hosts {
	struct ina_completing completing;
	struct ina_ring ring;
	struct ina_doubling *doubling; /* owned by the network */
	bool doubles;                  /* the latest all-reduce uses recursive doubling */
	/*
	 * Rank 0 sets ask_rejoin before start() to ask all ranks to JOIN again before the next
	 * transfer. The messages carry this to all ranks, which then have `rejoin` set.
	 */
	bool ask_rejoin;
	bool rejoin;
};

/* Sets the completions that drive the algorithm. */
void ina_hosts_attach(struct ina_hosts *hosts, const struct ina_completions *completions,
                      struct ina_doubling *doubling);

/* Bytes of memory that a transfer needs for wide partial results (struct ina_transfer); 0: none. */
uint64_t ina_hosts_wide_bytes(const struct ina_hosts *hosts, const struct ina_transfer *transfer);

/* For a caller that takes the completions itself: makes all progress that they allow. */
enum ina_status ina_hosts_go_on(void *hosts, struct ina_failure *failure);

/* Its functions take a struct ina_hosts. */
extern const struct ina_algorithm_row ina_hosts_algorithm;

#endif
