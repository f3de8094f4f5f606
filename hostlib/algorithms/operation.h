/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfers of the in-network all-reduce, and the contents of their messages. Messages are
 * numbered from the first one of the connection; a function's `number` must be one of the
 * operation's messages.
 *
 * Fixed point (elements/block_float.h): a block is the elements of a message. A block is sent when
 * the largest exponent of all ranks for it is known. That exponent arrives in the header of the
 * message W before. The first W messages carry only exponents.
 */
#ifndef INA_ALGORITHMS_OPERATION_H
#define INA_ALGORITHMS_OPERATION_H

#include "completing.h"
#include "congestion.h"
#include "hostlib/rdma/post.h"

/* The most transfers in a window. */
#define INA_INNET_OPERATIONS 32u

/* A transfer in the window. It has messages [first, first + count) of the connection. */
struct ina_operation {
	struct ina_message_context context;
	struct ina_transfer transfer;
	uint64_t first;
	uint64_t count;
	/*
	 * Fixed point: number of messages without elements at its beginning, at most a window;
	 * otherwise 0.
	 */
	uint64_t lead;
	uint64_t blocks_fixed;
	uint64_t blocks_float; /* blocks with an infinity or a NaN */
	bool overflow;         /* an int32 sum overflowed */
	uint64_t congested;    /* messages that met congestion */
};

struct ina_innet {
	struct ina_completing completing;
	struct ina_connection_context connection;
	struct ina_memory *memory; /* registrations of the caller's buffers */
	/* the most posted receives, with a slot for each: a window, or more */
	uint32_t receives;
	/* for a LEAVE, whatever else is under way; owned by the network */
	struct ina_slot *leave_slot;
	uint32_t contributors_due; /* expected in a message's trailer */
	uint32_t rank_due;         /* expected in a message's trailer */
	/* this rank's place among the switches, for its JOIN (tree.h) */
	uint32_t place;
	/*
	 * Keep the last sums for other ranks, so that a transfer may end before its last sends are
	 * acknowledged. False if no sums are awaited.
	 */
	bool keeps;
	/*
	 * Counts of messages of the connection. numbered: in transfers that were started, and so
	 * the first message of the next transfer.
	 */
	uint64_t numbered;
	uint64_t expected;       /* receives posted */
	uint64_t posted;         /* sends posted */
	uint64_t received;       /* sums received and checked */
	uint64_t finished;       /* received, and copied to the result */
	uint64_t unacknowledged; /* sends that have not completed */
	/*
	 * Bytes of elements in messages that are posted and not finished. Negative if the
	 * predecessor's messages arrive before ours are sent: without an aggregator (plain.h) they
	 * do not depend on ours.
	 */
	int64_t awaited_bytes;
	struct ina_congestion congestion;
	/* The transfers under way. */
	struct ina_operation operations[INA_INNET_OPERATIONS]; /* a ring buffer, from `oldest` on */
	unsigned int oldest;
	unsigned int operation_count;
	/* a sum has reported that another job was refused and wants a context */
	bool asked;
	/* rank 0: the next message announces that the job gives up its context */
	bool says_leave;
	bool is_leaving;    /* a sum has announced that the job gives up its context */
	uint64_t leaves_at; /* transfers that would begin at this message or later use the ring */
	uint32_t contributors;    /* in the last message received */
	uint32_t granted_packets; /* from the JOIN's sum; later the smallest of all ranks */
	uint32_t before; /* number of jobs that the top had before this one, from the JOIN's sum */
	/*
	 * By message number, modulo 2 W: for fixed point, the exponent of the block for all ranks;
	 * and whether the sum of the message overflowed.
	 */
	int32_t exponents[2 * INA_WINDOW_PACKETS_MAX];
	bool overflowed[2 * INA_WINDOW_PACKETS_MAX];
};

/*
 * The index in `operations` of the transfer that has this message; -1 if that transfer has ended or
 * was not started.
 */
int ina_operation_find(const struct ina_innet *innet, uint64_t number);

/* The transfer that has this message, which must be under way. */
struct ina_operation *ina_operation_of(struct ina_innet *innet, uint64_t number);

/* Fixed point: is this one of the first messages, which have no elements? */
bool ina_operation_is_lead(const struct ina_operation *operation, uint64_t number);

/* The elements of a message in its transfer: the offset and the length, in bytes. */
uint64_t ina_operation_offset(const struct ina_innet *innet, const struct ina_operation *operation,
                              uint64_t number);
uint32_t ina_operation_length(const struct ina_innet *innet, const struct ina_operation *operation,
                              uint64_t number);

/*
 * The bytes of the collective from this message on, plus its mark; the header has them modulo 2^32.
 * For a JOIN, the place.
 */
uint32_t ina_operation_remaining(const struct ina_innet *innet,
                                 const struct ina_operation *operation, uint64_t number);

/*
 * ina_operation_result() is the place of a message's sum in the result. ina_operation_staging() is
 * the place where a sum is kept until all ranks have it.
 */
uint8_t *ina_operation_result(const struct ina_innet *innet, const struct ina_operation *operation,
                              uint64_t number);
uint8_t *ina_operation_staging(const struct ina_innet *innet, uint64_t number);

/*
 * Is the sum received in staging memory? This is necessary in place, because a sum must not
 * overwrite a contribution that a fallback might need. It is also necessary for the last sums,
 * which must outlive the transfer, and for memory that is not registered.
 */
bool ina_operation_is_staged(const struct ina_innet *innet, const struct ina_operation *operation,
                             uint64_t number);

/* The memory in which the sum is received, and its local key; NULL if it has no elements. */
uint8_t *ina_operation_receive_buffer(const struct ina_innet *innet,
                                      const struct ina_operation *operation, uint64_t number,
                                      uint32_t *lkey);

/* The number type in the header of a message. */
enum ina_wire_number_type ina_operation_number_type(struct ina_innet *innet,
                                                    const struct ina_operation *operation,
                                                    uint64_t number);

/* Are the elements integers that were made from float32? */
bool ina_operation_is_fixed(struct ina_innet *innet, const struct ina_operation *operation,
                            uint64_t number);

/*
 * The exponent, for all ranks, of the block that a message carries. It arrives in the message
 * `lead` before.
 */
int32_t *ina_operation_exponent(struct ina_innet *innet, uint64_t number);

/*
 * The exponent in the header of a message: this rank's own, of the block that the message
 * announces; 0 if it announces no block.
 */
int32_t ina_operation_own_exponent(const struct ina_innet *innet,
                                   const struct ina_operation *operation, uint64_t number);

/*
 * The elements that are sent in a message, and their local key: the caller's, a copy, or the
 * integers made from them. NULL if there are no elements.
 */
const uint8_t *ina_operation_source(struct ina_innet *innet, const struct ina_operation *operation,
                                    uint64_t number, uint32_t *lkey);

#endif
