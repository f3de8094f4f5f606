/* SPDX-License-Identifier: Apache-2.0 */
/* Agreements: every rank gives its vote, rank 0 decides, and all ranks get the same answer. */
#ifndef INA_CONTROL_AGREEMENT_H
#define INA_CONTROL_AGREEMENT_H

#include "control.h"

/* The call whose turn it is at this rank. */
struct ina_turn {
	struct ina_call current;
	struct ina_call previous;
	bool under_way; /* its all-reduce has begun */
	int64_t began_ms;
	int64_t deadline_ms;
	int64_t progressed_ms; /* when something last came, or, while `moved`, before that */
	bool moved;            /* something has come, and the clock was not looked at since */
};

/* What a rank brings to an agreement. */
struct ina_vote {
	const char *what;     /* "path MTU": the value's name in a text; "" where it has none */
	const char *doing;    /* "connect": what a missing rank did not do */
	bool must_equal;      /* else the smallest value is agreed on */
	uint32_t value;       /* this rank's */
	struct ina_call call; /* that the agreement is part of; kind NONE while opening */
	struct ina_failure *failed; /* not INA_OK: this rank cannot go on */
};

enum ina_agreement {
	INA_PENDING, /* only from ina_agree_poll() */
	INA_AGREED,
	INA_NOT_AGREED, /* failure says why; all ranks get the same */
	INA_DISTURBED,  /* there is a fault to recover from first (only in calls) */
};

/*
 * Every rank gives its vote, and all get the same answer. *minimum: the smallest value of all.
 * Returns early if some rank has failed.
 */
enum ina_agreement ina_agree(struct ina_control *control, const struct ina_vote *vote,
                             int64_t deadline_ms, uint32_t *minimum, struct ina_failure *failure);

/* The same in two parts, of which none waits: begin once, then poll until it is not PENDING. */
void ina_agree_begin(struct ina_control *control, const struct ina_vote *vote);
enum ina_agreement ina_agree_poll(struct ina_control *control, const struct ina_vote *vote,
                                  int64_t deadline_ms, uint32_t *minimum,
                                  struct ina_failure *failure);

/*
 * Has the next agreement, which this rank has yet to begin, failed by the vote of another rank
 * already? As far as has come in; does not wait.
 */
bool ina_agree_has_failed(const struct ina_control *control);

/*
 * Agrees, outside of any call. The failure of this rank, if any, is replaced by what all get;
 * *value becomes the smallest, or must be the same everywhere.
 */
enum ina_status ina_agree_on(struct ina_control *control, const char *what, const char *doing,
                             bool must_equal, uint32_t *value, int64_t deadline_ms,
                             struct ina_failure *failure);

/*
 * While opening: has the agreement already failed elsewhere, or is a rank gone? Then `failure` is
 * INA_ERR_PEER, and names who is gone, if that is it. Does not wait.
 */
bool ina_open_failed_elsewhere(struct ina_control *control, struct ina_failure *failure);

/* In a call: has anything come over the control channel that is a fault? */
bool ina_disturbed(const struct ina_control *control, const struct ina_call *current);

/* Tells its parent, once, that this rank has been waiting for a while in this call. */
void ina_tell_stall(struct ina_control *control, const struct ina_call *current);

/* Takes it back, if it was told: this rank has gone on. */
void ina_end_stall(struct ina_control *control);

/*
 * Is every other rank in a stall that it has told of? Rank 0 knows; elsewhere false. Be they
 * in the same all-reduce or not: the ranks in the earliest one wait for sums to which all the
 * others have contributed.
 */
bool ina_all_stalled(const struct ina_control *control);

#endif
