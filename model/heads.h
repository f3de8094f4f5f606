/* SPDX-License-Identifier: Apache-2.0 */
/* The packets of all children that go into one sum: the check that they match, and their sum. */
#ifndef INA_MODEL_HEADS_H
#define INA_MODEL_HEADS_H

#include <stdbool.h>
#include <stdint.h>

#include "history.h"
#include "jobs.h"
#include "lack.h"
#include "queue.h"
#include "tree.h"

/* Indexed by port. NULL: the port has no packet. */
struct heads {
	const struct queue_slot *slots[TREE_LEAVES_MAX];
};

/* Returns one of the packets. If heads_mismatch() finds nothing, all are alike. */
const struct queue_slot *heads_first(const struct heads *heads);

/* Returns whether two packets have the same opcode and partition. Their lengths may differ. */
bool heads_are_of_one_kind(const struct queue_slot *a, const struct queue_slot *b);

/* Returns why an aggregator that lacks `lacks` may not sum the packets, or REPORT_NONE. */
struct report_event heads_mismatch(const struct heads *heads, const struct job *job,
                                   const struct aggregator_lack *lacks);

/*
 * Writes the sum of the packets to `sum`. The job enters or leaves a message. True: the trailer
 * of the sum asks for a context; the caller then calls jobs_have_asked().
 */
bool heads_sum(const struct heads *heads, struct job *job, struct tree *tree, uint8_t *sum);

/* Returns whether any of the packets has met congestion. */
bool heads_are_marked(const struct heads *heads);

/* Returns whether a packet from above can be the sum of all ranks for `part`. */
bool heads_fit_part(const struct queue_slot *from_above, const struct history_sum *part);

#endif
