/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements each collective as an all-reduce, by its row in tables/collectives.h: its buffers, and
 * the work before and after it.
 *
 * 	reduce          on ranks that do not want the result, it goes to scratch memory
 * 	reduce-scatter  the whole result goes to scratch memory, this rank's block from there to
 * recv all-gather      each rank adds its block and zeros, as bytes, so the sums are the blocks
 * 	broadcast       the same, but only the root adds elements
 * 	barrier         has no elements
 * 	an average      is the sum of other elements (elements/average.h), which are made at recv,
 * 	                or in scratch memory if they have more bytes
 *
 * Long blocks are instead scattered or gathered by half of the ring, bypassing the aggregator: a
 * rank then sends only (n - 1) / n of all blocks.
 */
#ifndef INA_ENGINE_COLLECTIVE_H
#define INA_ENGINE_COLLECTIVE_H

#include "comm.h"

/*
 * The mark of the collective's messages; 0 if number type and operation identify it. Each kind,
 * root, type and operation has a different mark, so the first message shows that ranks have made
 * different calls.
 */
uint32_t ina_collective_mark(const struct ina_collective *what);

/* The bytes of `count` elements. */
size_t ina_collective_bytes(const struct ina_collective *what);

/* The bytes at send and recv that the call reads and writes on this rank. */
size_t ina_collective_send_bytes(const struct ina_comm *comm, const struct ina_collective *what);
size_t ina_collective_recv_bytes(const struct ina_comm *comm, const struct ina_collective *what);

/*
 * Does it bypass the aggregator? All ranks get the same answer, whether or not an aggregator is in
 * use at the moment, because they learn at different times that it is lost.
 */
bool ina_collective_is_apart(const struct ina_comm *comm, const struct ina_collective *what);

/*
 * Makes the request's transfer, and does the work before it. Also called when a transfer begins
 * again that has not produced any result. Returns INA_OK or INA_ERR_MEMORY.
 */
enum ina_status ina_collective_begin(struct ina_request *request, struct ina_failure *failure);

/* Called when the transfer is done: puts the result in its place. */
void ina_collective_end(struct ina_request *request);

#endif
