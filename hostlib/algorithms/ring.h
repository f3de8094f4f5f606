/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring all-reduce: reduce-scatter, then all-gather, each of n - 1 steps
 * (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations"). Every rank sends and receives 2 (n - 1) / n times the data.
 *
 * The data are cut in n chunks, one a rank; a chunk is cut in messages. In step s (0 to 2n - 3)
 * rank r sends chunk r - s and receives chunk r - s - 1, modulo n: so what is sent in a step is
 * what was received in the step before, message by message, and message k of a step can leave as
 * soon as message k of the step before has come and been added.
 *
 * Messages are shorter where a chunk would be few of them: a step can begin when the first message
 * of the step before has come, so the fewer the bytes in it, the less time a step takes at least.
 *
 * A rank sends no message that is more than half a window ahead of those that it has received. A
 * host's acknowledgements wait in its transmit queue after the messages that it has posted. If each
 * rank posted a whole window, all acknowledgements would come together, when the queues are empty,
 * and the links would idle for a round trip with each window. With half a window, a queue is not
 * yet empty when the next messages are posted (window.h).
 *
 * For a reduce-scatter the first half of the steps is enough, and for an all-gather the second
 * (enum ina_part).
 *
 * The receiver gives credits, a running count of receives posted, as the immediate data of
 * empty SENDs on the same queue pair; the sender never sends more than that.
 */
#ifndef INA_ALGORITHMS_RING_H
#define INA_ALGORITHMS_RING_H

#include "algorithm.h"
#include "hostlib/rdma/completions.h"
#include "hostlib/rdma/post.h"

/* Credits under way at once: they are cumulative, so a later one makes up for one held back. */
#define INA_RING_CREDIT_SENDS_MAX 4u

/* Receives posted ahead at most, and slots and staging for them. */
static inline uint32_t ina_ring_receives(uint32_t window)
{
	return 2 * window;
}

/* A place in the sequence of messages of one direction. */
struct ina_ring_cursor {
	int shift; /* the chunk of step s is rank - shift - s */
	int step;
	uint64_t slice; /* message within the chunk */
	uint64_t index; /* messages before this one */
};

struct ina_ring {
	struct ina_connection_context connection;
	/* Of the connection so far. */
	uint64_t sends;            /* posted */
	uint64_t receives;         /* posted */
	uint64_t arrived;          /* receives completed */
	uint32_t credit;           /* sends that the successor allows, modulo 2^32 */
	uint32_t announced;        /* receives that the predecessor has been told of, modulo 2^32 */
	unsigned int credit_sends; /* not yet completed */
	/* What is being transferred. */
	struct ina_transfer transfer;
	uint32_t window;                /* messages under way at most */
	uint32_t limit_bytes;           /* of elements in one */
	uint64_t out_count;             /* messages to send */
	uint64_t in_count;              /* messages to receive */
	uint64_t own_count;             /* messages of the first step, which wait for nobody */
	uint64_t sent;                  /* sends completed */
	struct ina_ring_cursor out;     /* next to send */
	struct ina_ring_cursor in_post; /* next to post a receive for */
	struct ina_ring_cursor in;      /* next to arrive */
	bool overflow;                  /* some int32 addition overflowed, here or before */
	bool rejoin;                    /* set at rank 0, it reaches all in the first n - 1 steps */
};

/* Posts the receives for credits. Once, before any credit can come. */
enum ina_status ina_ring_open(struct ina_ring *ring, struct ina_failure *failure);

void ina_ring_start(struct ina_ring *ring, const struct ina_transfer *transfer);
enum ina_status ina_ring_advance(struct ina_ring *ring, struct ina_failure *failure);
enum ina_status ina_ring_received(struct ina_ring *ring, uint32_t byte_len,
                                  struct ina_failure *failure);
void ina_ring_sent(struct ina_ring *ring);
enum ina_status ina_ring_credited(struct ina_ring *ring, uint32_t credit,
                                  struct ina_failure *failure);
void ina_ring_credit_sent(struct ina_ring *ring);

/* Nothing but a message helps: neither a credit nor an acknowledgement allows anything. */
bool ina_ring_awaits_message(const struct ina_ring *ring);

static inline bool ina_ring_done(const struct ina_ring *ring)
{
	return ring->in.index == ring->in_count && ring->sent == ring->out_count;
}

#endif
