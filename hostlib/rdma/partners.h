/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With whom a rank exchanges whole messages in recursive doubling, beside its neighbours in the
 * ring. Where the ranks are no power of two, each of the first even ranks has the odd rank behind
 * it add its elements and hand it the result, and the others are one (Thakur, Rabenseifner and
 * Gropp 2005, "Optimization of collective communication operations in MPICH", section 4).
 */
#ifndef INA_RDMA_PARTNERS_H
#define INA_RDMA_PARTNERS_H

#include <stdbool.h>

#include "hostlib/include/ina.h"

/* The binary logarithm of INA_MAX_RANKS, and the one who is added. */
#define INA_PARTNERS_MAX 11

/*
 * In the order in which they are needed; returns how many. *adds: the first has this rank add what
 * it brings, *is_added: this rank has its only partner do so.
 */
int ina_partners(int rank, int ranks, int partners[INA_PARTNERS_MAX], bool *adds, bool *is_added);

#endif
