/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The all-reduce among the hosts, where nothing on the way adds up: by recursive doubling where it
 * is short, else by ring. All ranks decide by its length, and so alike.
 */
#ifndef INA_ALGORITHMS_HOSTS_H
#define INA_ALGORITHMS_HOSTS_H

#include "completing.h"
#include "doubling.h"
#include "ring.h"

struct ina_hosts {
	struct ina_completing completing;
	struct ina_ring ring;
	struct ina_doubling *doubling; /* the network has one */
	bool doubles;                  /* the latest all-reduce */
	/*
	 * Rank 0 asks all to JOIN again before the next transfer: set at rank 0 before start(). The
	 * messages bring it to all, who then have `rejoin`.
	 */
	bool ask_rejoin;
	bool rejoin;
};

/* Whose completions it goes on by. */
void ina_hosts_attach(struct ina_hosts *hosts, const struct ina_completions *completions,
                      struct ina_doubling *doubling);

/* Memory for wide partial results that a transfer needs (struct ina_transfer); 0: none. */
uint64_t ina_hosts_wide_bytes(const struct ina_hosts *hosts, const struct ina_transfer *transfer);

/* For whoever takes these himself: goes on as far as they allow. */
enum ina_status ina_hosts_go_on(void *hosts, struct ina_failure *failure);

/* Its functions take a struct ina_hosts. */
extern const struct ina_algorithm_row ina_hosts_algorithm;

#endif
