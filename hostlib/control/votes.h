/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The votes of several ranks in an agreement, or their reports of a fault, merged into one struct.
 * Merging in any order, or more than once, gives the same result, so the parts may arrive on
 * several paths. The size is the same for every number of ranks: a struct has the set of ranks that
 * have spoken, and the most important values of their votes or reports.
 */
#ifndef INA_CONTROL_VOTES_H
#define INA_CONTROL_VOTES_H

#include "hostlib/options/ranks.h"
#include "hostlib/tables/collectives.h"

#define INA_CONTROL_TEXT 400

/* A collective call, as ranks compare it. Fields that a kind of call does not use are 0. */
struct ina_call {
	uint64_t number; /* 1 for the first call; CLOSE and NONE: the number of calls before it */
	uint64_t count;
	uint16_t kind; /* enum ina_call_kind */
	/* ALLREDUCE: the number of all-reduces that were merged into it, or 0 for a single one */
	uint16_t root;
	uint16_t type; /* enum ina_type */
	uint16_t op;   /* enum ina_op */
};

/* Does the call count in the sequence of calls? */
static inline bool ina_call_is_counted(const struct ina_call *call)
{
	return call->kind != INA_CALL_NONE && call->kind != INA_CALL_CLOSE;
}

/* Are the calls the same, except for the number? */
bool ina_calls_agree(const struct ina_call *a, const struct ina_call *b);

/* The calls that a rank is in and has finished. */
struct ina_called {
	/* kind NONE: the rank is in no call, and its next call is unknown */
	struct ina_call current;
	struct ina_call previous; /* the call that it finished last */
	uint32_t rank;            /* the lowest rank with these calls */
	uint32_t reserved;
};

/*
 * A struct keeps this number of different pairs of calls, the earliest ones. Ranks that agree are
 * at most a window of small all-reduces apart, and a disagreement shows in any two.
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

/* The votes of one agreement. */
struct ina_votes {
	uint32_t phase;
	uint32_t status;      /* INA_OK: no rank has failed */
	uint32_t failed_rank; /* the rank that has failed with this status and text */
	uint32_t reserved;
	struct ina_ranks voted;
	struct ina_value least; /* smallest value of the ranks that have not failed */
	struct ina_value most;
	struct ina_calls calls;
	char text[INA_CONTROL_TEXT];
};

/* One rank's report of a fault. */
struct ina_fault {
	struct ina_call current; /* as in struct ina_called, like the next field */
	struct ina_call previous;
	uint32_t status; /* INA_OK: this rank saw nothing wrong */
	/* number of the message in its all-reduce, from 0, at which the fault was seen */
	uint32_t message;
	uint64_t sums; /* messages of the aggregated connection whose sums this rank has */
	char text[INA_CONTROL_TEXT];
};

/* The reports of several ranks. */
struct ina_faults {
	uint32_t round; /* number of faults that were recovered from before */
	/*
	 * status of the worst fault, and of the first among equals; INA_OK: no rank has seen a
	 * fault
	 */
	uint32_t status;
	uint32_t rank;    /* the rank that saw it */
	uint32_t message; /* as in struct ina_fault */
	struct ina_ranks reported;
	uint64_t least_sums;
	uint64_t most_sums;
	uint32_t owner; /* a rank that has most_sums */
	uint32_t reserved;
	struct ina_call call; /* the call that `rank` was in; kind NONE: no call */
	struct ina_calls calls;
	char text[INA_CONTROL_TEXT];
};

/* Can the two calls never meet, however long the ranks wait? */
bool ina_calls_conflict(const struct ina_call *a, const struct ina_call *b);

/* Does any of these calls conflict with the call? */
bool ina_calls_have_conflict(const struct ina_calls *calls, const struct ina_call *call);

/* Merge `other` into the first argument. Return whether that changed anything. */
bool ina_votes_merge(struct ina_votes *votes, const struct ina_votes *other);
bool ina_faults_merge(struct ina_faults *faults, const struct ina_faults *other);

/* Makes the reports that contain only this rank's. */
struct ina_faults ina_faults_of(uint32_t round, int rank, const struct ina_fault *fault);

/*
 * Can the ring continue after this fault? It can if a sum did not arrive or the aggregated
 * connection failed.
 */
static inline bool ina_status_is_recoverable(uint32_t status)
{
	return status == INA_OK || status == INA_ERR_AGGREGATOR;
}

#endif
