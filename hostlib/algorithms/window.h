/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The window of the in-network all-reduce: the messages under way, each of which comes back as a
 * sum. Message m + W is sent only after sum m has been received and send m has completed. W
 * messages are no more packets than the aggregator's history, so every rank has received the sums
 * that the history no longer has.
 *
 * No message is sent while half a window of bytes awaits sums. The messages that a host has posted
 * wait in its transmit queue, and the acknowledgements that it owes wait there after them. If a
 * host posted all W messages, the acknowledgements would come a whole window late. By then its
 * neighbour has sent all its W messages and may send no more (rdma_rxe: 128 unacknowledged
 * packets), so the link would idle for a round trip with each window. With half a window of data,
 * there is room for half a window of late acknowledgements, and the link never idles.
 *
 * With congestion control (congestion.h), fewer messages may be under way.
 *
 * The window belongs to the connection, and messages are counted from the connection's first. A
 * transfer begins as soon as the transfer before it has sent its last message. So the window does
 * not drain between consecutive all-reduces, and small ones share it. Sums arrive in the order of
 * messages, so transfers end in the order in which they began.
 *
 * A transfer is done when its sums have arrived; the acknowledgements of the last sends may still
 * be on their way. The contribution belongs to the caller again: the aggregator has it, otherwise
 * there would be no sum. If a packet must be retransmitted, the history answers it, whatever it
 * carries. If the aggregator no longer exists by then, no rank takes the packet that passes for a
 * sum, and the ring gets the messages from a rank that has the sums. Only the registration must
 * stay.
 *
 * A rank that has finished a transfer cannot know whether the others have the sums of its last W
 * messages, and must be able to supply these. So they are received in the library's memory and
 * copied. They stay there, in 2 W places, until it is known that every rank has them.
 */
#ifndef INA_ALGORITHMS_WINDOW_H
#define INA_ALGORITHMS_WINDOW_H

#include "operation.h"

/* The oldest transfer under way; there must be one. */
static inline const struct ina_operation *ina_innet_oldest(const struct ina_innet *innet)
{
	return &innet->operations[innet->oldest];
}

/* Resets the state for a fresh connection, whose messages start at 0. */
void ina_innet_reset(struct ina_innet *innet);

/*
 * Starts a transfer after those under way. For INA_WIRE_JOIN and INA_WIRE_LEAVE the transfer is
 * empty. For these types any number of contributors is accepted, and stored in innet->contributors.
 * exponent: the field of the header.
 */
void ina_innet_start(struct ina_innet *innet, enum ina_wire_type type, int32_t exponent,
                     const struct ina_transfer *transfer);

/* Posts the receives of the transfers that were started, as far as there is memory for them. */
enum ina_status ina_innet_expect(struct ina_innet *innet, struct ina_failure *failure);

/* Finishes received messages, and posts messages that may be sent. */
enum ina_status ina_innet_advance(struct ina_innet *innet, struct ina_failure *failure);

/* Called when a receive has completed, with this number of bytes, or a send. */
enum ina_status ina_innet_received(struct ina_innet *innet, uint32_t byte_len,
                                   struct ina_failure *failure);
void ina_innet_sent(struct ina_innet *innet);

/* Is any transfer under way? */
static inline bool ina_innet_is_busy(const struct ina_innet *innet)
{
	return innet->operation_count > 0;
}

/* The number of messages of the connection whose sends have completed. */
static inline uint64_t ina_innet_acknowledged(const struct ina_innet *innet)
{
	return innet->posted - innet->unacknowledged;
}

/*
 * Does the job give up its context before another transfer begins? All ranks decide this before the
 * same transfer. Its first message is at least a window after the message that announced it, so no
 * rank has begun that transfer before it read the announcement.
 */
static inline bool ina_innet_leaves(const struct ina_innet *innet)
{
	return innet->is_leaving && innet->numbered >= innet->leaves_at;
}

/* Have all sums of the oldest transfer arrived? */
static inline bool ina_innet_is_summed(const struct ina_innet *innet)
{
	const struct ina_operation *operation = ina_innet_oldest(innet);

	return innet->finished >= operation->first + operation->count;
}

/*
 * The number of sums of the oldest transfer that have arrived, and the bytes of its elements in
 * them.
 */
uint64_t ina_innet_sums(const struct ina_innet *innet);
uint64_t ina_innet_summed_bytes(const struct ina_innet *innet);

/* Called at the end of the connection: copies received sums into the result. */
void ina_innet_salvage(struct ina_innet *innet);

/*
 * Copies the sum of message `number` of the connection to `to`, which has room for limit_bytes. It
 * must be one of the last W sums that have arrived. Returns whether it overflowed. Valid after
 * ina_innet_salvage(), and before the staging is used again.
 */
bool ina_innet_copy_sum(const struct ina_innet *innet, uint64_t number, uint8_t *to);

/*
 * Copies the next sum into the result. Another rank has obtained it with ina_innet_copy_sum(); it
 * counts as received.
 */
void ina_innet_supply(struct ina_innet *innet, const uint8_t *sum, bool overflow);

/* Forgets all transfers: no sum can arrive any more, and later completions are ignored. */
void ina_innet_stop(struct ina_innet *innet);

/* Does the window have room for another message? */
bool ina_innet_has_place(const struct ina_innet *innet);

#endif
