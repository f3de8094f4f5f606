/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The aggregated all-reduce: a window of messages under way, each of which comes back as a sum.
 *
 * Message m + W is sent only after sum m has been received and send m completed. W messages are
 * no more packets than the aggregator's history, so what it forgets, every rank has received.
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
 * Fixed point (fixed.h): a block is the elements of a message. A block is sent when all ranks'
 * largest exponent of it is known, which comes back in the header of the message W before; the
 * first W messages have nothing but that.
 */
#ifndef INA_WINDOW_H
#define INA_WINDOW_H

#include "options.h"
#include "transfer.h"

struct ina_window {
	struct ina_lane lane;
	uint32_t receives;         /* posted at most, and slots for them: the window, or more */
	uint32_t contributors_due; /* in a message's trailer */
	uint32_t rank_due;         /* likewise */
	bool keeps;                /* the last sums for others; not where none are awaited */
	uint64_t numbered;         /* messages of the connection so far: the next message number */
	uint64_t unacknowledged;   /* sends of the connection that have not completed */
	uint8_t *integers; /* of the library, limit_bytes for each of W messages: fixed point */
	/* What is being transferred. */
	bool active;
	struct ina_transfer transfer;
	uint64_t first;        /* message number of message 0 */
	uint64_t count;        /* messages */
	uint64_t expected;     /* receives posted */
	uint64_t posted;       /* sends posted */
	uint64_t received;     /* sums, checked */
	uint64_t finished;     /* received, and in the result */
	uint32_t contributors; /* in the message received last */
	bool overflow;         /* some int32 sum overflowed */
	/* Fixed point: message m of the transfer has block m - lead, and block m's exponent. */
	uint64_t lead; /* messages without elements: the window's; else 0 */
	int32_t exponents[2 * INA_WINDOW_PACKETS_MAX]; /* of blocks, all ranks', modulo 2 W */
	uint64_t blocks_fixed;
	uint64_t blocks_float;  /* those with an infinity or a NaN in them */
	bool previous_overflow; /* the same of the transfer before */
};

/*
 * Starts a transfer; for INA_WIRE_JOIN and INA_WIRE_LEAVE it is empty, and any number of
 * contributors is accepted and left in window->contributors. exponent: of the header.
 */
void ina_window_start(struct ina_window *window, enum ina_wire_type type, int32_t exponent,
                      const struct ina_transfer *transfer);

/* Posts what may be posted. */
enum ina_status ina_window_advance(struct ina_window *window, struct ina_failure *failure);

/* A receive has completed, with this many bytes; a send has completed. */
enum ina_status ina_window_received(struct ina_window *window, uint32_t byte_len,
                                    struct ina_failure *failure);
void ina_window_sent(struct ina_window *window);

/* What is not summed, a receiver may still want from the sender's memory. */
static inline bool ina_window_done(const struct ina_window *window)
{
	return window->finished == window->count && (window->keeps || window->unacknowledged == 0);
}

/* Nothing but a sum helps: neither may more be sent, nor will an acknowledgement allow it. */
static inline bool ina_window_awaits_message(const struct ina_window *window)
{
	return window->active && window->received < window->posted &&
	       window->unacknowledged < window->lane.window;
}

/* Messages of the connection whose sends have completed. */
static inline uint64_t ina_window_acknowledged(const struct ina_window *window)
{
	return (window->active ? window->first + window->posted : window->numbered) -
	       window->unacknowledged;
}

/* Messages of the connection whose sums have come, of this transfer and those before. */
static inline uint64_t ina_window_sums(const struct ina_window *window)
{
	return window->active ? window->first + window->received : window->numbered;
}

/* Of the transfer's elements, those of the sums received. */
uint64_t ina_window_summed_bytes(const struct ina_window *window);

/* The connection is at its end: puts what has been received into the result. */
void ina_window_salvage(struct ina_window *window);

/*
 * Copies the sum of message `number` of the connection to `to`, which has room for limit_bytes: one
 * of the last W that have come. Between ina_window_salvage() and the next use of the staging.
 */
void ina_window_copy_sum(const struct ina_window *window, uint64_t number, uint8_t *to);

/* A sum that another rank has copied so: into the result, as the next that was received. */
void ina_window_supply(struct ina_window *window, const uint8_t *sum);

/* No sum comes any more: what completes from now on is ignored. */
void ina_window_stop(struct ina_window *window);

/*
 * Sends a LEAVE, so that an aggregator forgets the flow, and stops. The transfer stays as it was,
 * for what is to be known of it.
 */
void ina_window_abandon(struct ina_window *window);

#endif
