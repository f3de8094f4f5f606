/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of the link by which a rank reads the elements of its machine's other ranks: a GPU's
 * link, if ranks stand for GPUs. Here that link is shared memory, and reading it takes no virtual
 * time. If a rate is given (INA_INTRA_GBPS), bytes count as read at the time when such a link would
 * have delivered them, one read after the other. In the meantime the rank continues with other
 * work.
 */
#ifndef INA_MACHINE_INTRA_H
#define INA_MACHINE_INTRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hostlib/options/error.h"

struct ina_intra {
	double ns_per_byte; /* 0: reading takes only the processor's time */
	int64_t free_ns;    /* when the link has delivered all that was read */
	int64_t armed_ns;   /* when the timer fires; 0: not set */
	int timer_fd;       /* -1: no timer */
};

/* gbps: the rate in Gb/s; 0: no model. Returns INA_OK or INA_ERR_SYSTEM. */
enum ina_status ina_intra_open(struct ina_intra *intra, unsigned int gbps,
                               struct ina_failure *failure);
void ina_intra_close(struct ina_intra *intra);

/* Reads this number of bytes. Returns the time, never 0, from which on they count as read. */
int64_t ina_intra_read(struct ina_intra *intra, size_t bytes);

/* Has that time come? */
bool ina_intra_is_there(const struct ina_intra *intra, int64_t due_ns);

/* Makes the timer's descriptor readable at that time; 0: never. */
void ina_intra_arm(struct ina_intra *intra, int64_t due_ns);

#endif
