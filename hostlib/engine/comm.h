/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A communicator: its parts, layer by layer, and the engine that runs them: a queue of all-reduces,
 * taken as far as the algorithm in use and what the other ranks say allow.
 */
#ifndef INA_ENGINE_COMM_H
#define INA_ENGINE_COMM_H

#include "hostlib/rdma/probe.h"
#include "hostlib/recovery/recovery.h"
#include "abort.h"
#include "caller.h"
#include "pollset.h"
#include "scratch.h"

/* A collective, as it was called. What a kind has no use for is 0. */
struct ina_collective {
	enum ina_call_kind kind;
	const void *send;
	void *recv;
	size_t count;
	enum ina_type type;
	enum ina_op op;
	int root;
	uint32_t mark; /* of its messages; 0: what follows from all this */
	bool is_given; /* struct ina_transfer's: in a piece of another one's transfer */
};

struct ina_request {
	struct ina_comm *comm;
	struct ina_request *next;
	struct ina_collective what;
	struct ina_request *members; /* that it carries out as one (group.h); NULL: itself */
	bool is_grouped;             /* and waits for the end of its group */
	/* For what the caller gives no memory for; it stays with the request for later calls. */
	struct ina_scratch scratch;
	struct ina_scratch wide; /* for ina_hosts_wide_bytes() */
	bool begun;              /* what all ranks add up has been made of the elements */
	bool apart;              /* goes by network.apart, whatever the algorithm in use */
	bool active;             /* under way, memory held: the first ones of the queue */
	bool done;
	enum ina_status status;
	uint32_t way;            /* that it went (count.h), when it is done well */
	bool overflowed;         /* an int32 sum in it, likewise */
	unsigned int entries[3]; /* registrations, where its memory is not copied */
	unsigned int entry_count;
	struct ina_transfer transfer; /* while it is active */
};

/*
 * Communicators of its own that carry a communicator's elements, in place of a network: its rail
 * (machine/), or its channels (channels/).
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

	/* The algorithm in use, and its state. Only ina_comm_use() changes it. */
	const struct ina_algorithm_row *algorithm;
	void *algorithm_state;

	/* The queue of all-reduces, and the first one's turn. */
	struct ina_request *first;
	struct ina_request *last;
	struct ina_request *spare_requests; /* for the next calls, which need not allocate any */
	struct ina_turn turn;
	struct ina_callers callers;

	struct ina_pollset pollset;
	struct ina_failure failure; /* not INA_OK: the communicator is dead, and of this */
	struct ina_failure latest;  /* for ina_error() */
	struct ina_stats stats;
	char how[240];           /* it all-reduces, when it was opened, and why so */
	bool has_told_of_copies; /* in place of registrations that failed */
	struct ina_probed probed;

	struct ina_strands strands;
	struct ina_parallel *parallel; /* machines with several ranks; NULL: flat */
	struct ina_channels *channels; /* NULL: there is one, itself */

	struct ina_abort abort;
	struct ina_progress *progress; /* api/progress.h; NULL: no thread of the library */
	struct ina_gate *gate;         /* that who is inside has passed; NULL: the same */

	/* communicator/fork.h */
	struct ina_comm *next_watched;
	/* It has been closed, or this process is a child of the one that has opened it. */
	bool is_over;
};

/* How long without a completion until rank 0 is told that this rank waits. */
#define INA_STALL_MS 1000

/* No wait is longer without a look at the clocks and at the neighbours. */
#define INA_LOOK_MS 500

/* Before anything else. */
void ina_comm_init(struct ina_comm *comm);

/* From the next all-reduce on, or for what is left of the first one. */
void ina_comm_use(struct ina_comm *comm, const struct ina_algorithm_row *algorithm, void *state);

/* Is the aggregator asked to sum? */
static inline bool ina_comm_is_aggregated(const struct ina_comm *comm)
{
	return comm->algorithm == &ina_in_network_algorithm && !comm->network.plain;
}

/* How the first request goes, and the state of that; without one, the algorithm in use. */
static inline const struct ina_algorithm_row *ina_comm_row(const struct ina_comm *comm)
{
	return comm->first && comm->first->apart ? &ina_apart_algorithm : comm->algorithm;
}

static inline void *ina_comm_state(struct ina_comm *comm)
{
	return comm->first && comm->first->apart ? &comm->network.apart : comm->algorithm_state;
}

/* Puts a checked call at the end of the queue, or of the calling thread's group. INA_OK,
 * INA_ERR_MEMORY, or what it died of. */
enum ina_status ina_request_start(struct ina_comm *comm, const struct ina_collective *what,
                                  struct ina_request **request);

/* Waits until it is done; then ina_request_take(). */
enum ina_status ina_request_wait(struct ina_request *request);

/* The status of a request that is done, which is the communicator's again. */
enum ina_status ina_request_take(struct ina_request *request);

void ina_requests_free(struct ina_comm *comm);

/*
 * Takes the first request as far as it goes; waits for it up to timeout_ms if that is not 0.
 * Returns whether anything came of it.
 */
bool ina_comm_step(struct ina_comm *comm, int timeout_ms);

/*
 * As ina_comm_step() without waiting, but looks at nothing but what the algorithm waits for: for
 * who is told when there is a reason to look further.
 */
bool ina_comm_work(struct ina_comm *comm);

/*
 * This rank's part of a fault (NULL: it saw nothing itself). Begins to recover from it, which
 * ina_comm_recover() goes on with: then all requests end with one failure, or go on by ring.
 */
void ina_comm_fault(struct ina_comm *comm, const struct ina_failure *failure);

/* While it recovers: a step, waiting up to timeout_ms. Returns whether anything came of it. */
bool ina_comm_recover(struct ina_comm *comm, int timeout_ms);

static inline bool ina_comm_is_recovering(const struct ina_comm *comm)
{
	return comm->recovery.phase != INA_STEADY;
}

/* Has it anything to go on with? A rank may have to recover for others, without a request. */
static inline bool ina_comm_is_busy(const struct ina_comm *comm)
{
	return comm->first || ina_comm_is_recovering(comm);
}

/* Between all-reduces: takes part in what other ranks need of this one. */
void ina_comm_attend(struct ina_comm *comm);

/*
 * Has any thread asked for the end (ina_abort()), and the communicator not failed before? Then it
 * has now: the other ranks hear of it, and all requests end.
 */
bool ina_comm_take_abort(struct ina_comm *comm);

/*
 * Before the caller waits by these descriptors: from now on they tell of what comes. What has come
 * is taken, until that request is done (NULL: all are), for nobody would tell of it; but no more
 * than a few steps' worth. Returns whether that may be all: else the caller is not to wait.
 */
bool ina_comm_exhaust(struct ina_comm *comm, const struct ina_request *until);

/* The communicator has failed: all requests end with that, and nothing is written to their memory.
 */
void ina_comm_abort(struct ina_comm *comm);

/* What to wait for: fills fds and returns how many of at most INA_COMM_FDS. */
#define INA_COMM_FDS (INA_ALGORITHM_FDS + INA_NEIGHBOURS_MAX)
int ina_comm_pollfds(const struct ina_comm *comm, struct pollfd *fds);

/* ina_comm_fd(): one descriptor for these, made at the first call; INA_OK or INA_ERR_SYSTEM. */
enum ina_status ina_comm_open_pollset(struct ina_comm *comm, int *fd);

/*
 * Before the caller waits for a request by that descriptor: from now on it tells of what comes. A
 * part of what has come is taken, and the request may be done after it; it tells of the rest.
 */
void ina_comm_arm_pollset(struct ina_comm *comm, const struct ina_request *request);

#endif
