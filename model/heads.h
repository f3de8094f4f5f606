/* SPDX-License-Identifier: Apache-2.0 */
/* The packets of all children that go into one sum: may they, and what is it? */
#ifndef INA_MODEL_HEADS_H
#define INA_MODEL_HEADS_H

#include <stdbool.h>
#include <stdint.h>

#include "history.h"
#include "jobs.h"
#include "lack.h"
#include "queue.h"
#include "tree.h"

/* By ports; NULL where a port has none. */
struct heads {
	const struct queue_slot *slots[TREE_LEAVES_MAX];
};

/* Any of them; all are alike where heads_match(). */
const struct queue_slot *heads_first(const struct heads *heads);

/* Do two packets have the same opcode and the same partition? Their lengths may differ. */
bool heads_are_of_one_kind(const struct queue_slot *a, const struct queue_slot *b);

/* May they be summed, by an aggregator that lacks something? */
bool heads_match(const struct heads *heads, const struct job *job,
                 const struct aggregator_lack *lacks);

/*
 * Copies their sum to `sum`; the job enters or leaves a message. True: its trailer asks for a
 * context, of this job or of others (jobs_have_asked()).
 */
bool heads_sum(const struct heads *heads, struct job *job, struct tree *tree, uint8_t *sum);

/* Has any of them met congestion? */
bool heads_are_marked(const struct heads *heads);

/* May a packet from above be the sum of what went up as `part`? */
bool heads_fit_part(const struct queue_slot *from_above, const struct history_sum *part);

#endif
