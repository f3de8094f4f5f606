/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What several ranks have said, in one: their votes in an agreement, or their reports of a fault.
 * What is put together in any order, and more than once, is the same; so it may come on several
 * ways. It has one size, whatever the number of ranks: which of them have spoken, and what counts
 * most of what they said.
 */
#ifndef INA_CONTROL_VOTES_H
#define INA_CONTROL_VOTES_H

#include "hostlib/options/ranks.h"

#define INA_CONTROL_TEXT 400

enum ina_call_kind {
	INA_CALL_NONE = 0,
	INA_CALL_ALLREDUCE,
	INA_CALL_REDUCE_SCATTER,
	INA_CALL_ALL_GATHER,
	INA_CALL_BROADCAST,
	INA_CALL_REDUCE,
	INA_CALL_BARRIER,
	INA_CALL_CLOSE,
};

/* A collective call, as ranks compare it. What a kind has no use for is 0. */
struct ina_call {
	uint64_t number; /* 1 for the first; CLOSE, NONE: how many came before it */
	uint64_t count;
	uint16_t kind; /* enum ina_call_kind */
	uint16_t root; /* ALLREDUCE: of how many it is made, 0 if it is one */
	uint16_t type; /* enum ina_type */
	uint16_t op;   /* enum ina_op */
};

/* Is it one that the ranks count? */
static inline bool ina_call_is_counted(const struct ina_call *call)
{
	return call->kind != INA_CALL_NONE && call->kind != INA_CALL_CLOSE;
}

/* "all-reduce"; "nothing". The strings live for ever. */
const char *ina_call_name(enum ina_call_kind kind);

/* The same call, but for the number? */
bool ina_calls_agree(const struct ina_call *a, const struct ina_call *b);

/* In which calls ranks are. */
struct ina_called {
	struct ina_call current;  /* kind NONE: in none, and it may come to any */
	struct ina_call previous; /* the one finished last */
	uint32_t rank;            /* the lowest one of which that is so */
	uint32_t reserved;
};

/*
 * The different ones of all ranks, and of very many the earliest: ranks that agree are a window of
 * small all-reduces apart at most, and those that do not are found by two.
 */
#define INA_CALLED_MAX 10

struct ina_calls {
	uint32_t count;
	uint32_t reserved;
	struct ina_called called[INA_CALLED_MAX]; /* the earliest first */
};

struct ina_value {
	uint32_t value;
	uint32_t rank;
};

/* Of one agreement. */
struct ina_votes {
	uint32_t phase;
	uint32_t status;      /* INA_OK: nobody has failed */
	uint32_t failed_rank; /* who has, with that status and text */
	uint32_t reserved;
	struct ina_ranks voted;
	struct ina_value least; /* of those that have not failed */
	struct ina_value most;
	struct ina_calls calls;
	char text[INA_CONTROL_TEXT];
};

/* What one rank knows of a fault. */
struct ina_fault {
	struct ina_call current; /* as in struct ina_called, with the next one */
	struct ina_call previous;
	uint32_t status;  /* INA_OK: nothing wrong here */
	uint32_t message; /* of the all-reduce, 0 for the first, where the fault was seen */
	uint64_t sums;    /* messages of the aggregated connection whose sum this rank has */
	char text[INA_CONTROL_TEXT];
};

/* What several know. */
struct ina_faults {
	uint32_t round;   /* faults that were recovered from before */
	uint32_t status;  /* the worst that was seen, and then the first; INA_OK: nothing was */
	uint32_t rank;    /* where */
	uint32_t message; /* as above */
	struct ina_ranks reported;
	uint64_t least_sums;
	uint64_t most_sums;
	uint32_t owner; /* a rank that has most_sums */
	uint32_t reserved;
	struct ina_call call; /* that `rank` was in; kind NONE: in none */
	struct ina_calls calls;
	char text[INA_CONTROL_TEXT];
};

/* Two calls that can never meet, however long one waits? */
bool ina_calls_conflict(const struct ina_call *a, const struct ina_call *b);

/* Does any of these conflict with the call? */
bool ina_calls_have_conflict(const struct ina_calls *calls, const struct ina_call *call);

/* Puts `other` to it. Returns whether that has changed anything. */
bool ina_votes_merge(struct ina_votes *votes, const struct ina_votes *other);
bool ina_faults_merge(struct ina_faults *faults, const struct ina_faults *other);

/* What one rank says. */
struct ina_faults ina_faults_of(uint32_t round, int rank, const struct ina_fault *fault);

/* No sum came, or the aggregated connection failed: the ring can do without either. */
static inline bool ina_status_is_recoverable(uint32_t status)
{
	return status == INA_OK || status == INA_ERR_AGGREGATOR;
}

#endif
