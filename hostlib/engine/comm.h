/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator: its parts, layer by layer, and its queue of collectives. */
#ifndef INA_ENGINE_COMM_H
#define INA_ENGINE_COMM_H

#include "hostlib/rdma/probe.h"
#include "hostlib/control/telling.h"
#include "hostlib/recovery/recovery.h"
#include "abort.h"
#include "caller.h"
#include "pollset.h"
#include "scratch.h"

/* A collective as it was called. Fields that a kind does not use are 0. */
struct ina_collective {
	enum ina_call_kind kind;
	const void *send;
	void *recv;
	size_t count;
	enum ina_type type;
	enum ina_op op;
	int root;
	uint32_t mark; /* of its messages; 0: it follows from the fields above */
	/* as in struct ina_transfer; set in a piece of another communicator's transfer */
	bool is_given;
};

struct ina_request {
	struct ina_comm *comm;
	struct ina_request *next;
	struct ina_collective what;
	/* the requests that it carries out as one (group.h); NULL: only itself */
	struct ina_request *members;
	bool is_grouped; /* waits for the end of its group */
	/*
	 * For elements for which the caller gives no memory. It stays with the struct for later
	 * calls.
	 */
	struct ina_scratch scratch;
	struct ina_scratch wide; /* for ina_hosts_wide_bytes() */
	bool begun;              /* the addends have been made from the elements */
	bool apart;              /* bypasses the aggregator, whatever the algorithm in use */
	/* under way, with its memory held; only the first requests of the queue */
	bool active;
	bool done;
	enum ina_status status;
	/* how it was carried out (count.h); valid when it was successful */
	uint32_t way;
	bool overflowed;         /* an int32 sum in it overflowed; valid when it was successful */
	unsigned int entries[3]; /* registrations that it holds, for memory that is not copied */
	unsigned int entry_count;
	struct ina_transfer transfer; /* valid while it is active */
};

/*
 * The communicators that carry this communicator's elements in place of a network: its rail
 * (machine/) or its channels (channels/).
 */
struct ina_strands {
	struct ina_comm *comms[INA_MAX_CHANNELS];
	int count;
};

struct ina_comm {
	int rank;
	int ranks;
	struct ina_settings settings;
	struct ina_log log;
	struct ina_control control;
	struct ina_network network;
	struct ina_recovery recovery;

	/* The algorithm in use, and its state. Only ina_comm_use() changes them. */
	const struct ina_algorithm_row *algorithm;
	void *algorithm_state;

	/* The queue of all-reduces, and the current call, which is that of the first one. */
	struct ina_request *first;
	struct ina_request *last;
	/* for later calls, so that these need not allocate any */
	struct ina_request *spare_requests;
	struct ina_turn turn;
	struct ina_callers callers;

	struct ina_pollset pollset;
	struct ina_failure failure; /* not INA_OK: the communicator has failed with this error */
	struct ina_failure latest;  /* for ina_error() */
	struct ina_stats stats;
	char how[240]; /* how it all-reduced when it was opened, and why */
	/* it has logged once that it copies memory that could not be registered */
	bool has_told_of_copies;
	struct ina_probed probed;

	struct ina_strands strands;
	struct ina_parallel *parallel; /* for machines with several ranks; NULL: flat */
	struct ina_channels *channels; /* NULL: only one channel, the communicator itself */

	struct ina_abort abort;
	struct ina_opening *opening;   /* api/opening.h; NULL: it is open */
	bool is_opening;               /* a thread of the library still opens it */
	struct ina_progress *progress; /* api/progress.h; NULL: no progress thread */
	/* the lock of a communicator with a progress thread; NULL: no progress thread */
	struct ina_gate *gate;

	/* For communicator/fork.h. */
	struct ina_comm *next_watched;
	/*
	 * Calls get `failure`: the communicator is not open yet or was closed, or this process is a
	 * child of the one that opened it.
	 */
	atomic_bool is_over;
};

/* Is the aggregator in use? */
static inline bool ina_comm_is_aggregated(const struct ina_comm *comm)
{
	return comm->algorithm == &ina_in_network_algorithm && !comm->network.plain;
}

/* The algorithm of the first request, and its state; without a request, the algorithm in use. */
static inline const struct ina_algorithm_row *ina_comm_row(const struct ina_comm *comm)
{
	return comm->first && comm->first->apart ? &ina_apart_algorithm : comm->algorithm;
}

static inline void *ina_comm_state(struct ina_comm *comm)
{
	return comm->first && comm->first->apart ? &comm->network.apart : comm->algorithm_state;
}

static inline bool ina_comm_is_recovering(const struct ina_comm *comm)
{
	return comm->recovery.phase != INA_STEADY;
}

/* Is there any work? A rank may have to recover for other ranks without a request. */
static inline bool ina_comm_is_busy(const struct ina_comm *comm)
{
	return comm->first || ina_comm_is_recovering(comm);
}

#endif
