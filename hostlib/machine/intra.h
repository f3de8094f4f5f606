/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link by which a rank reads what the other ranks of its machine have: a GPU's, where ranks
 * stand for GPUs. Here that is shared memory, and in virtual time reading it takes no time at all.
 * Given a rate (INA_INTRA_GBPS), what is read counts as there when such a link would have brought
 * it, one read behind the other, and the rank goes on with something else until then.
 */
#ifndef INA_MACHINE_INTRA_H
#define INA_MACHINE_INTRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/options/error.h"

struct ina_intra {
	double ns_per_byte; /* 0: no time but what the processor takes */
	int64_t free_ns;    /* when all that was read is there */
	int64_t armed_ns;   /* what the timer is set to; 0: nothing */
	int timer_fd;       /* -1: there is none */
};

/* gbps: Gb/s, 0 for no modelled time. INA_OK or INA_ERR_SYSTEM. */
enum ina_status ina_intra_open(struct ina_intra *intra, unsigned int gbps,
                               struct ina_failure *failure);
void ina_intra_close(struct ina_intra *intra);

/* Reads so many bytes; returns a time, never 0, from which on they are there. */
int64_t ina_intra_read(struct ina_intra *intra, size_t bytes);

/* Are they? */
bool ina_intra_is_there(const struct ina_intra *intra, int64_t due_ns);

/* The timer's descriptor becomes readable at that time; 0: never. */
void ina_intra_arm(struct ina_intra *intra, int64_t due_ns);

#endif
