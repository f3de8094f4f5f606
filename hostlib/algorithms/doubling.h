/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursive doubling: all-reduces of one message. In step s each rank exchanges what it has with
 * the rank 2^s away and combines the two, so after log2 n steps all have the sum of all (Thakur,
 * Rabenseifner and Gropp 2005, "Optimization of collective communication operations in MPICH",
 * section 4). Where n is no power of two, there is a step before these and one behind them
 * (rdma/partners.h). The ring has 2 (n - 1).
 *
 * Longer all-reduces of a power of two go by recursive halving and doubling (Rabenseifner's
 * algorithm, in the same section): in step s two partners exchange halves of what both have, each
 * gives away the half that the other keeps, and after log2 n steps each rank has the result of one
 * part. The same steps in the opposite order put the parts together. That is as many bytes as the
 * ring sends, in 2 log2 n messages one behind the other.
 *
 * What two ranks combine is of ranks side by side, and the lower ones' part is the first operand
 * at both: all ranks make the same additions, and have the same bits.
 *
 * There are no credits. A partner sends the message of the next all-reduce only when it has ours of
 * this one, and the one after that only when it has ours of the next, which we send when we have
 * taken its message of this one. So two receives a partner are always enough, and two places for
 * what is sent: what was sent two all-reduces ago has come, and a packet of it that is sent once
 * more is a duplicate to its receiver, whatever it carries. Of halving and doubling that is true of
 * each step with a partner, of which an all-reduce has two.
 */
#ifndef INA_ALGORITHMS_DOUBLING_H
#define INA_ALGORITHMS_DOUBLING_H

#include "algorithm.h"
#include "hostlib/rdma/completions.h"
#include "hostlib/elements/reduce.h"
#include "hostlib/rdma/post.h"

/*
 * The longest message, in bytes of elements. In virtual time, at 100 Gb/s, the ring takes 10.7 us
 * for this length in place of 7.2 with 3 ranks, and 14.6 in place of 6.0 with 4:
 * ina-lab run -n 3 --mtu 4096 --virtual-time --aggregator off -- ina-perf --algorithm ring
 */
#define INA_DOUBLING_BYTES 16384u

/*
 * The longest that halving and doubling takes, and INA_DOUBLING_BYTES a rank at most. In virtual
 * time, at 100 Gb/s, by the command above, with 8 ranks it takes 14.6, 19.3 and 28.7 us for 32, 64
 * and 128 KiB, and the ring 30.4, 30.7 and 31.4; with 4 ranks 10.6, 14.7 and 22.7 us, and the ring
 * 14.9, 15.6 and 21.0.
 */
#define INA_HALVING_BYTES 131072u

#define INA_DOUBLING_STEPS_MAX (2 * INA_PARTNERS_MAX)

struct ina_doubling_step {
	int partner; /* which */
	bool sends;
	bool receives;
	bool ends; /* what is received is the result */
};

struct ina_doubling_steps {
	struct ina_doubling_step list[INA_DOUBLING_STEPS_MAX];
	int count; /* 0: there are none */
};

struct ina_doubling_partner {
	struct ibv_qp *qp;
	int rank;
	uint32_t sent;           /* messages so far, modulo 2^32 */
	uint32_t taken;          /* received, and taken in */
	uint32_t arrived;        /* receives completed: taken, or one or two more */
	uint32_t byte_len[2];    /* of these */
	unsigned int unfinished; /* sends that have not completed */
};

struct ina_doubling {
	struct ina_message_context context;
	uint32_t lkey;
	uint8_t *memory; /* ina_doubling_memory() */
	struct ina_doubling_partner partners[INA_PARTNERS_MAX];
	int partner_count;
	struct ina_doubling_steps doubling;
	struct ina_doubling_steps halving;
	uint32_t calls; /* all-reduces so far */
	/* What is being transferred. */
	struct ina_transfer transfer;
	const struct ina_doubling_steps *steps;
	int step;
	bool has_sent;   /* in this step */
	int partial;     /* doubling: the place of what this rank has so far */
	uint32_t copied; /* halving: bytes of the places that messages have taken */
	uint32_t flags;  /* INA_WIRE_OVERFLOW, INA_WIRE_REJOIN: here or at those it has heard of */
	uint32_t came;   /* messages */
};

/* Registered memory that it needs with so many partners. */
size_t ina_doubling_memory(int partner_count);

/* partners: the fabric's, connected. Posts their receives. Without partners it is for nothing. */
enum ina_status ina_doubling_open(struct ina_doubling *doubling, const struct ina_fabric *fabric,
                                  const struct ina_message_context *context, uint8_t *memory,
                                  uint32_t lkey, struct ina_failure *failure);

/* Bytes of elements in its messages: of 16 bits, they travel as float32 where they are added up. */
static inline uint64_t ina_doubling_length(const struct ina_transfer *transfer)
{
	return transfer->total_bytes * (ina_type_widens(transfer->type, transfer->op) ? 2 : 1);
}

/* Is this one of its all-reduces? Wide partial results would be twice as many bytes in all steps.
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

/* flags: INA_WIRE_REJOIN, where this rank asks for it. */
void ina_doubling_start(struct ina_doubling *doubling, const struct ina_transfer *transfer,
                        uint32_t flags);
enum ina_status ina_doubling_advance(struct ina_doubling *doubling, struct ina_failure *failure);

/* A receive, or a send, of a partner has completed. */
void ina_doubling_received(struct ina_doubling *doubling, uint32_t partner, uint32_t byte_len);
void ina_doubling_sent(struct ina_doubling *doubling, uint32_t partner);

static inline bool ina_doubling_done(const struct ina_doubling *doubling)
{
	return doubling->step == doubling->steps->count;
}

/* The rank from which a message is to come next. */
static inline int ina_doubling_awaited(const struct ina_doubling *doubling)
{
	return doubling->partners[doubling->steps->list[doubling->step].partner].rank;
}

/* Nothing but a message helps: no acknowledgement allows anything. */
bool ina_doubling_awaits_message(const struct ina_doubling *doubling);

#endif
