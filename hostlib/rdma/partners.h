/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The partners with which a rank exchanges whole messages in recursive doubling; its neighbours in
 * the ring are separate. If the number of ranks is not a power of two, each of the first even ranks
 * passes its elements to the next odd rank, which adds them and later returns the result. The
 * remaining ranks are a power of two (Thakur, Rabenseifner and Gropp 2005, "Optimization of
 * collective communication operations in MPICH", section 4).
 */
#ifndef INA_RDMA_PARTNERS_H
#define INA_RDMA_PARTNERS_H

#include <stdbool.h>

#include "hostlib/include/ina.h"

/* The binary logarithm of INA_MAX_RANKS, and one more for a rank whose elements are added first. */
#define INA_PARTNERS_MAX 11

/*
 * Lists the partners in the order in which they are needed, and returns their number. *adds: this
 * rank adds the elements of its first partner. *is_added: this rank's only partner adds this rank's
 * elements.
 */
int ina_partners(int rank, int ranks, int partners[INA_PARTNERS_MAX], bool *adds, bool *is_added);

#endif
