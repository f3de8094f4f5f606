/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of the in-network all-reduce: messages under way, each of which comes back as a sum.
 *
 * Message m + W is sent only after sum m has been received and send m completed. W messages are
 * no more packets than the aggregator's history, so what it forgets, every rank has received.
 *
 * And no message is sent while half a window of bytes awaits its sums. What a host has posted waits
 * in its transmit queue, and the acknowledgements that it owes wait behind. With all of W posted
 * at once they come a whole window late, when the neighbour has long sent its own W and may send no
 * more (rdma_rxe: 128 packets that are not acknowledged): the link idles for a round trip a window.
 * Half a window of data and half a window of late acknowledgements is a window, and it never does.
 * Where congestion is controlled (congestion.h), fewer messages may be under way.
 *
 * The window belongs to the connection, and its messages are counted from the connection's first.
 * A transfer begins behind the one before it as soon as that has sent its last message: the window
 * does not drain between all-reduces that are started one after the other, and small ones share it.
 * Sums come in the order of messages, so transfers end in the order in which they began.
 *
 * A transfer is done when its sums have come; the last sends' acknowledgements may be on their way
 * still. The contribution is the caller's again: the aggregator has it, or there would be no sum,
 * and should a packet have to be sent once more, it is answered from the history, whatever it
 * carries. Should the aggregator be gone by then, what passes is no sum to anybody, and the ring
 * takes the messages from whom has the sums. Only the registration has to stay.
 *
 * A rank that has finished a transfer cannot know that the others have the sums of its last W
 * messages, and must be able to give them those. So these are received in the library's memory and
 * copied; they stay there, in 2 W places, until every rank is known to have them.
 */
#ifndef INA_ALGORITHMS_WINDOW_H
#define INA_ALGORITHMS_WINDOW_H

#include "operation.h"

/* The transfer that began first of those under way; there is one. */
static inline const struct ina_operation *ina_innet_oldest(const struct ina_innet *innet)
{
	return &innet->operations[innet->oldest];
}

/* A fresh connection: its messages begin with 0. */
void ina_innet_reset(struct ina_innet *innet);

/*
 * Starts a transfer behind those under way; for INA_WIRE_JOIN and INA_WIRE_LEAVE it is empty. But
 * for INA_WIRE_DATA any number of contributors is accepted, and left in innet->contributors.
 * exponent: of the header.
 */
void ina_innet_start(struct ina_innet *innet, enum ina_wire_type type, int32_t exponent,
                     const struct ina_transfer *transfer);

/* Posts the receives of what is started, as far as there is memory for them. */
enum ina_status ina_innet_expect(struct ina_innet *innet, struct ina_failure *failure);

/* Posts what may be posted. */
enum ina_status ina_innet_advance(struct ina_innet *innet, struct ina_failure *failure);

/* A receive has completed, with this many bytes; a send has completed. */
enum ina_status ina_innet_received(struct ina_innet *innet, uint32_t byte_len,
                                   struct ina_failure *failure);
void ina_innet_sent(struct ina_innet *innet);

/* Is anything being transferred? */
static inline bool ina_innet_is_busy(const struct ina_innet *innet)
{
	return innet->operation_count > 0;
}

/* Messages of the connection whose sends have completed. */
static inline uint64_t ina_innet_acknowledged(const struct ina_innet *innet)
{
	return innet->posted - innet->unacknowledged;
}

/*
 * Does the job give its context away before another transfer begins? All ranks say so before the
 * same one: its first message is a window behind the one that told them, so none has begun it
 * before.
 */
static inline bool ina_innet_leaves(const struct ina_innet *innet)
{
	return innet->is_leaving && innet->numbered >= innet->leaves_at;
}

/* Are all sums of the oldest transfer there? */
static inline bool ina_innet_is_summed(const struct ina_innet *innet)
{
	const struct ina_operation *operation = ina_innet_oldest(innet);

	return innet->finished >= operation->first + operation->count;
}

/* Sums of the oldest transfer that have come, and how many bytes of its elements these are. */
uint64_t ina_innet_sums(const struct ina_innet *innet);
uint64_t ina_innet_summed_bytes(const struct ina_innet *innet);

/* The connection is at its end: puts what has been received into the result. */
void ina_innet_salvage(struct ina_innet *innet);

/*
 * Copies the sum of message `number` of the connection to `to`, which has room for limit_bytes: one
 * of the last W that have come. Returns whether it overflowed. Between ina_innet_salvage() and the
 * next use of the staging.
 */
bool ina_innet_copy_sum(const struct ina_innet *innet, uint64_t number, uint8_t *to);

/* A sum that another rank has copied so: into the result, as the next that was received. */
void ina_innet_supply(struct ina_innet *innet, const uint8_t *sum, bool overflow);

/* No sum comes any more: all transfers are forgotten, and what completes from now on is ignored. */
void ina_innet_stop(struct ina_innet *innet);

/* May another message be sent, if there is one? */
bool ina_innet_has_place(const struct ina_innet *innet);

#endif
