/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transfers of the in-network all-reduce, and what each of their messages is. Messages are
 * numbered from the connection's first; `number` is of one of the operation's.
 *
 * Fixed point (elements/block_float.h): a block is the elements of a message. A block is sent when
 * all ranks' largest exponent of it is known, which comes back in the header of the message W
 * before; the first W messages have nothing but that.
 */
#ifndef INA_ALGORITHMS_OPERATION_H
#define INA_ALGORITHMS_OPERATION_H

#include "completing.h"
#include "congestion.h"
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
	uint64_t congested;    /* messages that met congestion */
};

struct ina_innet {
	struct ina_completing completing;
	struct ina_connection_context connection;
	struct ina_memory *memory;   /* of the caller's buffers */
	uint32_t receives;           /* posted at most, and slots for them: the window, or more */
	struct ina_slot *leave_slot; /* a LEAVE's, whatever else is under way; the network's */
	uint32_t contributors_due;   /* in a message's trailer */
	uint32_t rank_due;           /* likewise */
	uint32_t place;              /* of this rank among the switches, for its JOIN (tree.h) */
	/*
	 * The last sums for others, so that a transfer ends before its last sends are acknowledged;
	 * not where no sums are awaited.
	 */
	bool keeps;
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
	struct ina_congestion congestion;
	/* What is being transferred, the oldest first. */
	struct ina_operation operations[INA_INNET_OPERATIONS]; /* a ring */
	unsigned int oldest;
	unsigned int operation_count;
	bool asked;         /* a sum has said that another job was refused: it wants a context */
	bool says_leave;    /* rank 0: the next message is to say that the job gives its own away */
	bool is_leaving;    /* a sum has said so: */
	uint64_t leaves_at; /* what would begin at this message or later goes by ring */
	uint32_t contributors;    /* in the message received last */
	uint32_t granted_packets; /* what the JOIN's sum says; then the least of all ranks */
	uint32_t before; /* jobs that the top had before this one, as the JOIN's sum says */
	/* By message, modulo 2 W. */
	int32_t exponents[2 * INA_WINDOW_PACKETS_MAX]; /* fixed point: of its block, all ranks' */
	bool overflowed[2 * INA_WINDOW_PACKETS_MAX];   /* its sum did */
};

/* Whose message it is, in the ring of operations; -1: of one that is done with, or not begun. */
int ina_operation_find(const struct ina_innet *innet, uint64_t number);

/* The same where there is one: the message is under way. */
struct ina_operation *ina_operation_of(struct ina_innet *innet, uint64_t number);

/* Fixed point: one of the first, without elements. */
bool ina_operation_is_lead(const struct ina_operation *operation, uint64_t number);

/* A message's elements in its transfer: the first byte, and how many. */
uint64_t ina_operation_offset(const struct ina_innet *innet, const struct ina_operation *operation,
                              uint64_t number);
uint32_t ina_operation_length(const struct ina_innet *innet, const struct ina_operation *operation,
                              uint64_t number);

/* Bytes of the collective from this message on; the header has them modulo 2^32. JOIN: the place.
 */
uint32_t ina_operation_remaining(const struct ina_innet *innet,
                                 const struct ina_operation *operation, uint64_t number);

/* Where a message's sum belongs; and where it is kept until all ranks have it. */
uint8_t *ina_operation_result(const struct ina_innet *innet, const struct ina_operation *operation,
                              uint64_t number);
uint8_t *ina_operation_staging(const struct ina_innet *innet, uint64_t number);

/*
 * Is it received there? In place, a sum must not land on a contribution that a fall-back might
 * still need; the last ones must outlive the transfer; and the device cannot write to memory that
 * is not registered.
 */
bool ina_operation_is_staged(const struct ina_innet *innet, const struct ina_operation *operation,
                             uint64_t number);

/* Where it is received; NULL: it has no elements. */
uint8_t *ina_operation_receive_buffer(const struct ina_innet *innet,
                                      const struct ina_operation *operation, uint64_t number,
                                      uint32_t *lkey);

/* What a message says that its elements are. */
enum ina_wire_number_type ina_operation_number_type(struct ina_innet *innet,
                                                    const struct ina_operation *operation,
                                                    uint64_t number);

/* Are they integers that were made of float32? */
bool ina_operation_is_fixed(struct ina_innet *innet, const struct ina_operation *operation,
                            uint64_t number);

/* All ranks' exponent of the block that a message carries: the message `lead` before it says it. */
int32_t *ina_operation_exponent(struct ina_innet *innet, uint64_t number);

/* What a message says of the block that it speaks of, if there is one. */
int32_t ina_operation_own_exponent(const struct ina_innet *innet,
                                   const struct ina_operation *operation, uint64_t number);

/* What is sent of a message's elements: themselves, a copy, or the integers made of them. */
const uint8_t *ina_operation_source(struct ina_innet *innet, const struct ina_operation *operation,
                                    uint64_t number, uint32_t *lkey);

#endif
