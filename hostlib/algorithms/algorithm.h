/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of an all-reduce algorithm: a row of functions that the engine calls. Each
 * algorithm is one file with one row; a new one is a new file. The rows are
 * ina_in_network_algorithm, ina_hosts_algorithm, ina_apart_algorithm, ina_alone_algorithm,
 * ina_channels_algorithm (channels/channels.c) and ina_parallel_algorithm (machine/parallel.c).
 *
 * An algorithm blocks only in wait(), and for about 20 ms in abort(). If a function returns another
 * status than INA_OK, that is a fault of this rank, from which the caller recovers together with
 * the other ranks.
 */
#ifndef INA_ALGORITHMS_ALGORITHM_H
#define INA_ALGORITHMS_ALGORITHM_H

#include <poll.h>

#include "hostlib/control/neighbours.h"
#include "hostlib/options/error.h"
#include "hostlib/tables/collectives.h"

/* One all-reduce, as an algorithm receives it. */
struct ina_transfer {
	const uint8_t *send;
	uint8_t *recv; /* equal to send: in place */
	uint64_t total_bytes;
	uint32_t element_bytes;
	enum ina_type type;
	enum ina_op op;      /* never INA_AVG */
	uint8_t number_type; /* the wire's number type of the elements */
	/* the mark of the collective, which is added to `remaining` of its messages */
	uint32_t mark;
	enum ina_part part;
	/* float32 sums are sent as block floating point, if the aggregator sums them */
	bool fixed;
	bool overflowed; /* another algorithm has done a part, in which an int32 sum overflowed */
	/*
	 * The other ranks contribute zeros, so the result is what this rank sends. recv equals send
	 * and is only read; the memory may be read-only.
	 */
	bool is_given;
	/*
	 * copies_*: the memory is not registered, so the algorithm copies elements through
	 * registered memory. Otherwise *_lkey is its local key.
	 */
	bool copies_send;
	bool copies_recv;
	bool copies_wide;
	uint32_t send_lkey;
	uint32_t recv_lkey;
	/* Memory for wide partial results (elements/reduce.h), of ina_hosts_wide_bytes() bytes. */
	uint8_t *wide;
	uint32_t wide_lkey;
};

/* The functions of an algorithm. `self` is the algorithm's state, the same in all calls. */
struct ina_algorithm_row {
	/* The device reads and writes the caller's buffers, which must be registered or copied. */
	bool registers;

	/*
	 * May another all-reduce start while earlier ones are under way? NULL: only one at a time.
	 */
	bool (*has_room)(const void *self);

	/* Starts an all-reduce, and makes all progress that is possible without waiting. */
	enum ina_status (*start)(void *self, const struct ina_transfer *transfer,
	                         struct ina_failure *failure);

	/*
	 * Takes completions, and makes all progress that they allow. *moved: whether there were
	 * any. before_wait: if the queue is empty, the caller calls wait() next.
	 */
	enum ina_status (*advance)(void *self, bool before_wait, bool *moved,
	                           struct ina_failure *failure);

	/*
	 * Waits up to timeout_ms for a completion, and then does the same as advance(). NULL:
	 * advance() always sets *moved.
	 */
	enum ina_status (*wait)(void *self, int timeout_ms, bool *moved,
	                        struct ina_failure *failure);

	/*
	 * Called when there was no progress for waited_ms: has this rank's part failed? NULL:
	 * nothing to check.
	 */
	bool (*find_fault)(void *self, int64_t waited_ms, struct ina_failure *failure);

	/* Is the oldest all-reduce done? */
	bool (*is_done)(const void *self);

	/*
	 * Ends the oldest all-reduce, which is done, and adds it to the statistics, except `calls`
	 * and `overflows`. Returns whether an int32 sum overflowed. *until: its registrations are
	 * in use until this number of messages of the connection, counted from the connection's
	 * first, is acknowledged; 0: they are free now.
	 */
	bool (*end)(void *self, struct ina_stats *stats, uint64_t *until);

	/*
	 * Called after a fatal fault. When it returns, the device does not write to the caller's
	 * memory any more.
	 */
	void (*abort)(void *self);

	/*
	 * pollfds() fills in the descriptors to poll for the oldest all-reduce, at most
	 * INA_ALGORITHM_FDS, and returns their number. After arm(), they become ready for every
	 * completion.
	 */
	int (*pollfds)(const void *self, struct pollfd *fds);
	void (*arm)(void *self);

	/*
	 * position(): the index of the message that the oldest all-reduce waits for; NULL: the
	 * algorithm has no messages. explain_timeout(): sets INA_ERR_TIMEOUT with a sentence that
	 * names this message; NULL if wait is NULL.
	 */
	uint32_t (*position)(const void *self);
	void (*explain_timeout)(const void *self, int timeout_ms, struct ina_failure *failure);
};

/*
 * The most descriptors: one for each rank of a machine, and those of a rail with all its channels.
 */
#define INA_ALGORITHM_FDS (INA_MAX_RANKS + (INA_MAX_CHANNELS + 1) * (INA_NEIGHBOURS_MAX + 3) + 8)

#endif
