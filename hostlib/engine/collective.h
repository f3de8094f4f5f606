/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each collective is: an all-reduce, from and to where, with what is to be done before and
 * after it.
 *
 *	reduce          where nobody wants the result, it goes to scratch memory
 *	reduce-scatter  the whole result goes to scratch memory, and this rank's block from there
 *	all-gather      each rank adds its own block and zeros, as bytes: sums are what was added
 *	broadcast       the same, where only the root adds anything
 *	barrier         nothing is added
 *	an average      is the sum of other elements (elements/average.h), which are made at recv,
 *or in scratch memory where they have more bytes
 *
 * Long blocks are scattered and gathered by half of the ring in place of that, beside the
 * aggregator where there is one: a rank sends (n - 1) / n of all blocks.
 */
#ifndef INA_ENGINE_COLLECTIVE_H
#define INA_ENGINE_COLLECTIVE_H

#include "comm.h"

/*
 * What its messages tell it by, apart from their number type and operation; 0: these say all.
 * Another number for each kind, root, type and operation, so that ranks that call different things
 * are found at the first message.
 */
uint32_t ina_collective_mark(const struct ina_collective *what);

/* Bytes of its `count` elements. */
size_t ina_collective_bytes(const struct ina_collective *what);

/* Bytes at the caller's send and recv that the call reads and writes at this rank. */
size_t ina_collective_send_bytes(const struct ina_comm *comm, const struct ina_collective *what);
size_t ina_collective_recv_bytes(const struct ina_comm *comm, const struct ina_collective *what);

/*
 * Does it go among the hosts beside the aggregator? All ranks say the same, whether that is there
 * at the moment or not: they learn of it at different times.
 */
bool ina_collective_is_apart(const struct ina_comm *comm, const struct ina_collective *what);

/*
 * Makes the request's transfer, and does what comes before it; again, where a transfer that had not
 * brought any result begins anew. INA_OK or INA_ERR_MEMORY.
 */
enum ina_status ina_collective_begin(struct ina_request *request, struct ina_failure *failure);

/* The transfer is done: the result, where it belongs. */
void ina_collective_end(struct ina_request *request);

#endif
