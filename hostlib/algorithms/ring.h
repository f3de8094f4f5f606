/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring all-reduce: reduce-scatter, then all-gather, each of n - 1 steps (Patarasuk and Yuan
 * 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations"). Every rank sends
 * and receives 2 (n - 1) / n times the data.
 *
 * The data are cut into n chunks, one for each rank, and each chunk into messages. In step s (0 to
 * 2n - 3) rank r sends chunk r - s and receives chunk r - s - 1, modulo n. So a rank sends in each
 * step the messages that it received in the step before. Message k of a step can leave as soon as
 * message k of the step before has arrived and has been added.
 *
 * If a chunk has few messages, these are made shorter. A step can begin when the first message of
 * the step before has arrived, so the length of that message limits how short a step can be.
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
 * The receiver gives credits: a running count of posted receives, as the immediate data of empty
 * SENDs on the same queue pair. The sender never sends more messages than that.
 */
#ifndef INA_ALGORITHMS_RING_H
#define INA_ALGORITHMS_RING_H

#include "algorithm.h"
#include "hostlib/rdma/completions.h"
#include "hostlib/rdma/post.h"

/*
 * The most credits under way. They are cumulative, so a later one makes up for one that was held
 * back.
 */
#define INA_RING_CREDIT_SENDS_MAX 4u

/* The most receives that are posted in advance; each has a slot and staging. */
static inline uint32_t ina_ring_receives(uint32_t window)
{
	return 2 * window;
}

/* A place in the sequence of messages of one direction. */
struct ina_ring_cursor {
	int shift; /* the chunk of step s is rank - shift - s, modulo n */
	int step;
	uint64_t slice; /* number of the message in its chunk */
	uint64_t index; /* number of messages before this one */
};

struct ina_ring {
	struct ina_connection_context connection;
	/* Counts of the connection. */
	uint64_t sends;    /* posted */
	uint64_t receives; /* posted */
	uint64_t arrived;  /* completed receives */
	uint32_t credit;   /* sends that the successor allows, modulo 2^32 */
	/* receives that were announced to the predecessor, modulo 2^32 */
	uint32_t announced;
	unsigned int credit_sends; /* credits whose sends have not completed */
	/* The transfer under way. */
	struct ina_transfer transfer;
	uint32_t window;      /* the most messages under way */
	uint32_t limit_bytes; /* the most bytes of elements in a message */
	uint64_t out_count;   /* messages to send */
	uint64_t in_count;    /* messages to receive */
	/* messages of the first step, which can be sent immediately */
	uint64_t own_count;
	uint64_t sent;                  /* completed sends */
	struct ina_ring_cursor out;     /* next message to send */
	struct ina_ring_cursor in_post; /* next message to post a receive for */
	struct ina_ring_cursor in;      /* next message to arrive */
	/* an int32 addition overflowed, at this rank or an earlier one */
	bool overflow;
	/* set by rank 0; reaches all ranks in the first n - 1 steps */
	bool rejoin;
};

/* Posts the receives for credits. To be called once, before any credit can arrive. */
enum ina_status ina_ring_open(struct ina_ring *ring, struct ina_failure *failure);

void ina_ring_start(struct ina_ring *ring, const struct ina_transfer *transfer);
enum ina_status ina_ring_advance(struct ina_ring *ring, struct ina_failure *failure);
enum ina_status ina_ring_received(struct ina_ring *ring, uint32_t byte_len,
                                  struct ina_failure *failure);
void ina_ring_sent(struct ina_ring *ring);
enum ina_status ina_ring_credited(struct ina_ring *ring, uint32_t credit,
                                  struct ina_failure *failure);
void ina_ring_credit_sent(struct ina_ring *ring);

/* Does only a received message allow progress? False if a credit or an acknowledgement would. */
bool ina_ring_awaits_message(const struct ina_ring *ring);

static inline bool ina_ring_done(const struct ina_ring *ring)
{
	return ring->in.index == ring->in_count && ring->sent == ring->out_count;
}

#endif
