/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursive doubling: all-reduces of one message. In step s each rank exchanges its partial result
 * with the rank 2^s away, and both combine the two, so after log2 n steps all ranks have the sum
 * (Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations in
 * MPICH", section 4). If n is not a power of two, there is one more step before these and one after
 * them (rdma/partners.h). The ring has 2 (n - 1) steps.
 *
 * If n is a power of two, longer all-reduces use recursive halving and doubling (Rabenseifner's
 * algorithm, in the same section). In step s two partners split the part that both have: each sends
 * the half that the other keeps. After log2 n steps each rank has the result of one part. The same
 * steps in reverse order put the parts together. That sends as many bytes as the ring, in 2 log2 n
 * messages one after the other.
 *
 * Two ranks always combine partial results of adjacent ranks, and the lower ranks' part is the
 * first operand at both. So all ranks make the same additions and have the same bits.
 *
 * There are no credits. A partner sends its message of the next all-reduce only after it has
 * received ours of this one. It sends the one after that only after it has received ours of the
 * next all-reduce, which we send after we have taken its message of this one. So two receives for
 * each partner are always enough, and so are two places for sent messages: a message from two
 * all-reduces ago has arrived. If one of its packets is retransmitted, the receiver takes it for a
 * duplicate, whatever it carries. In halving and doubling, the same holds for each step with a
 * partner; an all-reduce has two of these.
 */
#ifndef INA_ALGORITHMS_DOUBLING_H
#define INA_ALGORITHMS_DOUBLING_H

#include "algorithm.h"
#include "hostlib/rdma/completions.h"
#include "hostlib/elements/reduce.h"
#include "hostlib/rdma/post.h"

/*
 * The longest message, in bytes of elements. With this length at 100 Gb/s in virtual time, 3 ranks
 * take 7.2 us, and 10.7 us with the ring; 4 ranks take 6.0 us, and 14.6 us with the ring. Measured
 * with: ina-lab run -n 3 --mtu 4096 --virtual-time --aggregator off -- ina-perf --algorithm ring
 */
#define INA_DOUBLING_BYTES 16384u

/*
 * The longest all-reduce for halving and doubling, in bytes; it must also have at most
 * INA_DOUBLING_BYTES for each rank. In virtual time at 100 Gb/s, with the command above, 8 ranks
 * take 14.6, 19.3 and 28.7 us for 32, 64 and 128 KiB, and 30.4, 30.7 and 31.4 us with the ring. 4
 * ranks take 10.6, 14.7 and 22.7 us, and 14.9, 15.6 and 21.0 us with the ring.
 */
#define INA_HALVING_BYTES 131072u

#define INA_DOUBLING_STEPS_MAX (2 * INA_PARTNERS_MAX)

struct ina_doubling_step {
	int partner; /* index of the partner */
	bool sends;
	bool receives;
	bool ends; /* the received elements are the result, and are not combined */
};

struct ina_doubling_steps {
	struct ina_doubling_step list[INA_DOUBLING_STEPS_MAX];
	int count; /* 0: this method is not available */
};

struct ina_doubling_partner {
	struct ibv_qp *qp;
	int rank;
	uint32_t sent;           /* messages sent on this connection, modulo 2^32 */
	uint32_t taken;          /* messages received and processed */
	uint32_t arrived;        /* completed receives: equal to `taken`, or one or two more */
	uint32_t byte_len[2];    /* of the messages that arrived, by their number modulo 2 */
	unsigned int unfinished; /* sends that have not completed */
};

struct ina_doubling {
	struct ina_message_context context;
	uint32_t lkey;
	uint8_t *memory; /* ina_doubling_memory() bytes */
	struct ina_doubling_partner partners[INA_PARTNERS_MAX];
	int partner_count;
	struct ina_doubling_steps doubling;
	struct ina_doubling_steps halving;
	uint32_t calls; /* number of all-reduces since the communicator was opened */
	/* The all-reduce under way. */
	struct ina_transfer transfer;
	const struct ina_doubling_steps *steps;
	int step;
	bool has_sent;   /* the message of this step was sent */
	int partial;     /* doubling: the place of the present partial result */
	uint32_t copied; /* halving: bytes of the places that messages have used */
	/* INA_WIRE_OVERFLOW and INA_WIRE_REJOIN, from this rank or from received messages */
	uint32_t flags;
	uint32_t came; /* messages received in this all-reduce */
};

/* Bytes of registered memory that are needed for this number of partners. */
size_t ina_doubling_memory(int partner_count);

/*
 * Prepares recursive doubling with the transport's partners, which must be connected, and posts the
 * receives. If there are no partners, no all-reduce uses it.
 */
enum ina_status ina_doubling_open(struct ina_doubling *doubling,
                                  const struct ina_transport *transport,
                                  const struct ina_message_context *context, uint8_t *memory,
                                  uint32_t lkey, struct ina_failure *failure);

/* Bytes of elements in its messages. Sums and products of 16-bit floats are sent as float32. */
static inline uint64_t ina_doubling_length(const struct ina_transfer *transfer)
{
	return transfer->total_bytes * (ina_type_widens(transfer->type, transfer->op) ? 2 : 1);
}

/*
 * Does recursive doubling, or halving and doubling, carry out this all-reduce? Halving is not used
 * for wide partial results, because these would double the bytes of all steps.
 */
static inline bool ina_doubling_takes(const struct ina_doubling *doubling,
                                      const struct ina_transfer *transfer)
{
	if (ina_doubling_length(transfer) <= INA_DOUBLING_BYTES)
		return doubling->doubling.count > 0;
	return doubling->halving.count > 0 && transfer->total_bytes <= INA_HALVING_BYTES &&
	       transfer->total_bytes <= INA_DOUBLING_BYTES * doubling->context.rank_count &&
	       transfer->part == INA_WHOLE && !ina_type_widens(transfer->type, transfer->op);
}

/*
 * ina_doubling_start() begins an all-reduce; flags: INA_WIRE_REJOIN if this rank asks for it.
 * ina_doubling_advance() makes all progress that is possible without waiting.
 */
void ina_doubling_start(struct ina_doubling *doubling, const struct ina_transfer *transfer,
                        uint32_t flags);
enum ina_status ina_doubling_advance(struct ina_doubling *doubling, struct ina_failure *failure);

/* Called when a receive from or a send to a partner has completed. */
void ina_doubling_received(struct ina_doubling *doubling, uint32_t partner, uint32_t byte_len);
void ina_doubling_sent(struct ina_doubling *doubling, uint32_t partner);

static inline bool ina_doubling_done(const struct ina_doubling *doubling)
{
	return doubling->step == doubling->steps->count;
}

/* The rank whose message is needed next. */
static inline int ina_doubling_awaited(const struct ina_doubling *doubling)
{
	return doubling->partners[doubling->steps->list[doubling->step].partner].rank;
}

/* Does only a received message allow progress? False if an acknowledgement would. */
bool ina_doubling_awaits_message(const struct ina_doubling *doubling);

#endif
