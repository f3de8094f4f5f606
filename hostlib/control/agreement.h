/* SPDX-License-Identifier: Apache-2.0 */
/* Agreements: every rank votes, rank 0 decides, and all ranks get the same answer. */
#ifndef INA_CONTROL_AGREEMENT_H
#define INA_CONTROL_AGREEMENT_H

#include "control.h"

/* The call that this rank carries out next, or is carrying out. */
struct ina_turn {
	struct ina_call current;
	struct ina_call previous;
	bool under_way; /* its all-reduce has begun */
	int64_t began_ms;
	int64_t deadline_ms;
	/* time of the last progress, or an earlier time while `moved` is set */
	int64_t progressed_ms;
	bool moved; /* there was progress, and progressed_ms has not been updated yet */
};

/* The vote of a rank. */
struct ina_vote {
	/* the value's name in a text, such as "path MTU"; "" if there is no value */
	const char *what;
	const char *doing; /* the action that a missing rank did not take, such as "connect" */
	/* all values must be equal; otherwise the smallest one is agreed on */
	bool must_equal;
	uint32_t value; /* this rank's value */
	/* the call that the agreement belongs to; kind NONE during ina_open() */
	struct ina_call call;
	struct ina_failure *failed; /* not INA_OK: this rank cannot continue */
};

enum ina_agreement {
	INA_PENDING, /* only from ina_agree_poll() */
	INA_AGREED,
	INA_NOT_AGREED, /* the failure has the reason, which all ranks get */
	INA_DISTURBED,  /* a fault must be recovered from first (only in calls) */
};

/*
 * Votes, and waits for the decision. Sets *minimum to the smallest value of all ranks. Returns
 * early if some rank has failed.
 */
enum ina_agreement ina_agree(struct ina_control *control, const struct ina_vote *vote,
                             int64_t deadline_ms, uint32_t *minimum, struct ina_failure *failure);

/*
 * ina_agree() in two parts, neither of which waits: the caller calls ina_agree_begin() once, and
 * then ina_agree_poll() until it no longer returns INA_PENDING.
 */
void ina_agree_begin(struct ina_control *control, const struct ina_vote *vote);
enum ina_agreement ina_agree_poll(struct ina_control *control, const struct ina_vote *vote,
                                  int64_t deadline_ms, uint32_t *minimum,
                                  struct ina_failure *failure);

/*
 * Has another rank's vote already failed the next agreement, which this rank has yet to begin?
 * Looks only at frames that have been read; does not wait.
 */
bool ina_agree_has_failed(const struct ina_control *control);

/*
 * Agrees outside of any call. If this rank has a failure, it is replaced by the one that all ranks
 * get. must_equal: all ranks must have the same *value; otherwise *value becomes the smallest.
 */
enum ina_status ina_agree_on(struct ina_control *control, const char *what, const char *doing,
                             bool must_equal, uint32_t *value, int64_t deadline_ms,
                             struct ina_failure *failure);

/*
 * While a communicator opens: has the agreement already failed elsewhere, was a rank lost, or has
 * the program stopped the opening? If so, `failure` names the lost ranks, has the error of another
 * rank's farewell, or only says that another rank has failed. Does not wait.
 */
bool ina_open_failed_elsewhere(struct ina_control *control, struct ina_failure *failure);

/* In a call: has the control channel reported a fault? */
bool ina_disturbed(const struct ina_control *control, const struct ina_call *current);

/* Reports to the parent, once, that this rank has waited in this call for long. */
void ina_tell_stall(struct ina_control *control, const struct ina_call *current);

/* Withdraws that report, if there was one: this rank has made progress. */
void ina_end_stall(struct ina_control *control);

/*
 * Has every other rank reported a stall? Only rank 0 knows; other ranks get false. The ranks need
 * not be in the same all-reduce: those in the earliest one wait for sums to which all others have
 * already contributed.
 */
bool ina_all_stalled(const struct ina_control *control);

#endif
