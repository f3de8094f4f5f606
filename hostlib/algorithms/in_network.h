/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The in-network all-reduce: a window of messages under way, each of which comes back as a sum.
 *
 * Message m + W is sent only after sum m has been received and send m completed. W messages are
 * no more packets than the aggregator's history, so what it forgets, every rank has received.
 *
 * And no message is sent while half a window of bytes awaits its sums. What a host has posted waits
 * in its transmit queue, and the acknowledgements that it owes wait behind. With all of W posted
 * at once they come a whole window late, when the neighbour has long sent its own W and may send no
 * more (rdma_rxe: 128 packets that are not acknowledged): the link idles for a round trip a window.
 * Half a window of data and half a window of late acknowledgements is a window, and it never does.
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
 *
 * Fixed point (elements/block_float.h): a block is the elements of a message. A block is sent when
 * all ranks' largest exponent of it is known, which comes back in the header of the message W
 * before; the first W messages have nothing but that.
 */
#ifndef INA_ALGORITHMS_IN_NETWORK_H
#define INA_ALGORITHMS_IN_NETWORK_H

#include "algorithm.h"
#include "hostlib/rdma/completions.h"
#include "hostlib/rdma/post.h"

/* Transfers in a window at most. */
#define INA_INNET_OPERATIONS 32u

/* A transfer in the window. Its messages are [first, first + count) of the connection. */
struct ina_operation {
	struct ina_message_context context;
	struct ina_transfer transfer;
	uint64_t first;
	uint64_t count;
	/* Fixed point: messages without elements at its beginning, the window's; else 0. */
	uint64_t lead;
	uint64_t blocks_fixed;
	uint64_t blocks_float; /* those with an infinity or a NaN in them */
	bool overflow;         /* some int32 sum overflowed */
};

struct ina_innet {
	struct ina_connection_context connection;
	const struct ina_completions *completions;
	struct ina_memory *memory; /* of the caller's buffers */
	uint32_t receives;         /* posted at most, and slots for them: the window, or more */
	uint32_t contributors_due; /* in a message's trailer */
	uint32_t rank_due;         /* likewise */
	bool keeps;                /* the last sums for others; not where none are awaited */
	bool ends_early;           /* a transfer, before its last sends are acknowledged */
	uint8_t *integers; /* of the library, limit_bytes for each of W messages: fixed point */
	/* Messages of the connection so far. */
	uint64_t numbered;       /* of the transfers that were started: the next one's first */
	uint64_t expected;       /* receives posted */
	uint64_t posted;         /* sends posted */
	uint64_t received;       /* sums, checked */
	uint64_t finished;       /* received, and in the result */
	uint64_t unacknowledged; /* sends that have not completed */
	/*
	 * Elements of the messages posted and not finished. Negative where the predecessor's come
	 * first: without an aggregator (plain.h) they need no message of ours.
	 */
	int64_t awaited_bytes;
	/* What is being transferred, the oldest first. */
	struct ina_operation operations[INA_INNET_OPERATIONS]; /* a ring */
	unsigned int oldest;
	unsigned int operation_count;
	uint32_t contributors; /* in the message received last */
	/* By message, modulo 2 W. */
	int32_t exponents[2 * INA_WINDOW_PACKETS_MAX]; /* fixed point: of its block, all ranks' */
	bool overflowed[2 * INA_WINDOW_PACKETS_MAX];   /* its sum did */
};

/* Its functions take a struct ina_innet. */
extern const struct ina_algorithm_row ina_in_network_algorithm;

/* A fresh connection: its messages begin with 0. */
void ina_innet_reset(struct ina_innet *innet);

/*
 * Starts a transfer behind those under way; for INA_WIRE_JOIN and INA_WIRE_LEAVE it is empty, and
 * any number of contributors is accepted and left in innet->contributors. exponent: of the header.
 */
void ina_innet_start(struct ina_innet *innet, enum ina_wire_type type, int32_t exponent,
                     const struct ina_transfer *transfer);

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

/* The transfer that began first of those under way; there is one. */
static inline const struct ina_operation *ina_innet_oldest(const struct ina_innet *innet)
{
	return &innet->operations[innet->oldest];
}

/* Messages of the connection whose sends have completed. */
static inline uint64_t ina_innet_acknowledged(const struct ina_innet *innet)
{
	return innet->posted - innet->unacknowledged;
}

/* Are all sums of the oldest transfer there? */
static inline bool ina_innet_is_summed(const struct ina_innet *innet)
{
	const struct ina_operation *operation = ina_innet_oldest(innet);

	return innet->finished >= operation->first + operation->count;
}

/*
 * Is the JOIN or LEAVE that is under way over? A JOIN is when it has come back and is acknowledged.
 * Else an aggregator that is reset could learn the flow again from a JOIN that is sent once more,
 * and take DATA that are sent once more, from memory that holds the sums, for contributions.
 */
static inline bool ina_innet_is_exchanged(const struct ina_innet *innet)
{
	return ina_innet_is_summed(innet) &&
	       (ina_innet_oldest(innet)->context.type != INA_WIRE_JOIN ||
	        innet->unacknowledged == 0);
}

/* And has it come back as a sum of all ranks? */
static inline bool ina_innet_is_joined(const struct ina_innet *innet)
{
	return ina_innet_is_exchanged(innet) &&
	       innet->contributors == (uint32_t)innet->connection.ranks;
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

/*
 * Adds what has been summed of the oldest transfer, which is done or goes on by another algorithm,
 * to the statistics. Returns whether any of it overflowed.
 */
bool ina_innet_count(const struct ina_innet *innet, struct ina_stats *stats);

/* No sum comes any more: all transfers are forgotten, and what completes from now on is ignored. */
void ina_innet_stop(struct ina_innet *innet);

/*
 * Sends a LEAVE, so that an aggregator forgets the flow. The transfers stay as they were, for what
 * is to be known of them. ends_connection: the queue pairs are stopped next, so the LEAVE gets 20
 * ms to leave the host.
 */
void ina_innet_abandon(struct ina_innet *innet, bool ends_connection);

#endif
