/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every all-reduce algorithm offers to those who run it: a row of functions. Each algorithm is
 * one file with one row; a new one is a new file. The rows are ina_in_network_algorithm,
 * ina_hosts_algorithm, ina_apart_algorithm, ina_alone_algorithm, ina_channels_algorithm
 * (channels/channels.c) and ina_parallel_algorithm (machine/parallel.c).
 *
 * An algorithm blocks only in wait(), and for some 20 ms in abort(). A status that is not INA_OK is
 * a fault of this rank, from which the caller recovers together with the other ranks.
 */
#ifndef INA_ALGORITHMS_ALGORITHM_H
#define INA_ALGORITHMS_ALGORITHM_H

#include <poll.h>

#include "hostlib/control/neighbours.h"
#include "hostlib/options/error.h"

/* What is wanted of an all-reduce: half of the ring, which no other algorithm has, does for a part.
 */
enum ina_part {
	INA_WHOLE,
	INA_SCATTER, /* of the elements in n blocks, rank r wants the sum of block r */
	INA_GATHER,  /* rank r has block r of the result at recv, and all want all */
};

/* One all-reduce. */
struct ina_transfer {
	const uint8_t *send;
	uint8_t *recv; /* == send: in place */
	uint64_t total_bytes;
	uint32_t element_bytes;
	enum ina_type type;
	enum ina_op op;      /* not INA_AVG */
	uint8_t number_type; /* what messages call the type */
	uint32_t mark;       /* what messages tell the collective by: is added to `remaining` */
	enum ina_part part;
	bool fixed;      /* float32 sums: by the aggregator as block floating point */
	bool overflowed; /* in a part that is done, by another algorithm */
	/*
	 * The others bring zeros, so the result is what this rank sends: recv is send, and is only
	 * read. It may be memory that cannot be written.
	 */
	bool is_given;
	/* Memory that is not registered, through copies in memory that is. Else its local key. */
	bool copies_send;
	bool copies_recv;
	bool copies_wide;
	uint32_t send_lkey;
	uint32_t recv_lkey;
	/* Where partial results are wide (elements/reduce.h): ina_hosts_wide_bytes() of memory. */
	uint8_t *wide;
	uint32_t wide_lkey;
};

/* `self` is the algorithm's own state, the same in all calls. */
struct ina_algorithm_row {
	/* The device reads and writes the caller's buffers: they are registered or copied. */
	bool registers;

	/* May another all-reduce start behind those that are under way? NULL: one at a time. */
	bool (*has_room)(const void *self);

	/* Begins an all-reduce, and goes as far as it can without a wait. */
	enum ina_status (*start)(void *self, const struct ina_transfer *transfer,
	                         struct ina_failure *failure);

	/*
	 * Takes in what has come, and goes on as far as that allows. *moved: whether anything has
	 * come. before_wait: if nothing has, wait() follows.
	 */
	enum ina_status (*advance)(void *self, bool before_wait, bool *moved,
	                           struct ina_failure *failure);

	/*
	 * Waits up to timeout_ms for something to come, and goes on as advance() does. NULL:
	 * advance() always moves.
	 */
	enum ina_status (*wait)(void *self, int timeout_ms, bool *moved,
	                        struct ina_failure *failure);

	/* Nothing has come for waited_ms: has this rank's part failed? NULL: nothing to look at. */
	bool (*find_fault)(void *self, int64_t waited_ms, struct ina_failure *failure);

	/* Is the oldest all-reduce done? */
	bool (*is_done)(const void *self);

	/*
	 * Forgets the oldest all-reduce, which is done, and adds it to the statistics, but for
	 * `calls` and `overflows`. Returns whether an int32 sum overflowed. *until: its
	 * registrations are in use until so many messages of the connection, counted from its
	 * first, are acknowledged; 0: no longer.
	 */
	bool (*end)(void *self, struct ina_stats *stats, uint64_t *until);

	/* After a fatal fault: nothing is written to the caller's memory any more. */
	void (*abort)(void *self);

	/*
	 * What the oldest all-reduce waits for: descriptors (returns how many of at most
	 * INA_ALGORITHM_FDS), and, after arm(), these tell of all that comes.
	 */
	int (*pollfds)(const void *self, struct pollfd *fds);
	void (*arm)(void *self);

	/*
	 * The index of the message that it waits for (NULL: it has none); and INA_ERR_TIMEOUT with
	 * a sentence that names it (NULL where wait is).
	 */
	uint32_t (*position)(const void *self);
	void (*explain_timeout)(const void *self, int timeout_ms, struct ina_failure *failure);
};

/* The ranks of one machine, and what a rail with all its channels waits for. */
#define INA_ALGORITHM_FDS (INA_MAX_RANKS + (INA_MAX_CHANNELS + 1) * (INA_NEIGHBOURS_MAX + 3) + 8)

#endif
