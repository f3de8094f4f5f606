/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursive doubling: all-reduces of one message. In step s each rank exchanges what it has with
 * the rank 2^s away and combines the two, so after log2 n steps all have the sum of all (Thakur,
 * Rabenseifner and Gropp 2005, "Optimization of collective communication operations in MPICH",
 * section 4). Where n is no power of two, there is a step before these and one behind them
 * (rdma/partners.h). The ring has 2 (n - 1).
 *
 * What two ranks combine is of ranks side by side, and the lower ones' part is the first operand
 * at both: all ranks make the same additions, and have the same bits.
 *
 * There are no credits. A partner sends the message of the next all-reduce only when it has ours of
 * this one, and the one after that only when it has ours of the next, which we send when we have
 * taken its message of this one. So two receives a partner are always enough, and two places for
 * what is sent: what was sent two all-reduces ago has come, and a packet of it that is sent once
 * more is a duplicate to its receiver, whatever it carries.
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

#define INA_DOUBLING_STEPS_MAX (INA_PARTNERS_MAX + 1)

struct ina_doubling_step {
	int partner; /* which */
	bool sends;
	bool receives;
	bool ends; /* what is received is the result */
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
	struct ina_doubling_step steps[INA_DOUBLING_STEPS_MAX];
	int step_count;
	uint32_t calls; /* all-reduces so far */
	/* What is being transferred. */
	struct ina_transfer transfer;
	int step;
	bool has_sent;  /* in this step */
	int partial;    /* the place of what this rank has so far */
	uint32_t flags; /* INA_WIRE_OVERFLOW, INA_WIRE_REJOIN: here or at those it has heard of */
	uint32_t came;  /* messages */
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

/* Is this one of its all-reduces? */
static inline bool ina_doubling_takes(const struct ina_doubling *doubling,
                                      const struct ina_transfer *transfer)
{
	return doubling->step_count > 0 && ina_doubling_length(transfer) <= INA_DOUBLING_BYTES;
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
	return doubling->step == doubling->step_count;
}

/* The rank from which a message is to come next. */
static inline int ina_doubling_awaited(const struct ina_doubling *doubling)
{
	return doubling->partners[doubling->steps[doubling->step].partner].rank;
}

/* Nothing but a message helps: no acknowledgement allows anything. */
bool ina_doubling_awaits_message(const struct ina_doubling *doubling);

#endif
