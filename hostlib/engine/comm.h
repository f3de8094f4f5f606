/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A communicator: its parts, layer by layer, and the engine that drives them. The engine has a
 * queue of all-reduces, on which it makes all progress that the algorithm in use and the other
 * ranks allow.
 */
#ifndef INA_ENGINE_COMM_H
#define INA_ENGINE_COMM_H

#include "hostlib/rdma/probe.h"
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
	struct ina_progress *progress; /* api/progress.h; NULL: no progress thread */
	/* the lock of a communicator with a progress thread; NULL: no progress thread */
	struct ina_gate *gate;

	/* For communicator/fork.h. */
	struct ina_comm *next_watched;
	/* It was closed, or this process is a child of the one that opened it. */
	bool is_over;
};

/* After this time without a completion, a rank reports that it waits, in milliseconds. */
#define INA_STALL_MS 1000

/* The longest wait before a rank looks at the clock and at its neighbours, in milliseconds. */
#define INA_LOOK_MS 500

/* To be called before any other function. */
void ina_comm_init(struct ina_comm *comm);

/* Sets the algorithm for later all-reduces, or for the rest of the first one. */
void ina_comm_use(struct ina_comm *comm, const struct ina_algorithm_row *algorithm, void *state);

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

/*
 * Puts a checked call at the end of the queue, or into the calling thread's group. Returns INA_OK,
 * INA_ERR_MEMORY, or the error with which the communicator has failed.
 */
enum ina_status ina_request_start(struct ina_comm *comm, const struct ina_collective *what,
                                  struct ina_request **request);

/* Waits until the request is done, and then calls ina_request_take(). */
enum ina_status ina_request_wait(struct ina_request *request);

/* Returns the status of a request that is done, and gives the request back to the communicator. */
enum ina_status ina_request_take(struct ina_request *request);

void ina_requests_free(struct ina_comm *comm);

/*
 * Makes progress on the first request; waits for it up to timeout_ms if that is not 0. Returns
 * whether there was any progress.
 */
bool ina_comm_step(struct ina_comm *comm, int timeout_ms);

/*
 * Like ina_comm_step() without waiting, but looks only at the completions that the algorithm waits
 * for. For callers that are notified when there is a reason to look further.
 */
bool ina_comm_work(struct ina_comm *comm);

/*
 * Reports this rank's part of a fault (NULL: it has seen no error itself), and begins to recover
 * from it. ina_comm_recover() continues the recovery. At its end all requests end with one failure,
 * or continue over the ring.
 */
void ina_comm_fault(struct ina_comm *comm, const struct ina_failure *failure);

/* Takes a step of the recovery; waits up to timeout_ms. Returns whether there was any progress. */
bool ina_comm_recover(struct ina_comm *comm, int timeout_ms);

static inline bool ina_comm_is_recovering(const struct ina_comm *comm)
{
	return comm->recovery.phase != INA_STEADY;
}

/* Is there any work? A rank may have to recover for other ranks without a request. */
static inline bool ina_comm_is_busy(const struct ina_comm *comm)
{
	return comm->first || ina_comm_is_recovering(comm);
}

/* Called between all-reduces: takes part in a recovery that other ranks need. */
void ina_comm_attend(struct ina_comm *comm);

/*
 * If a thread has called ina_abort() and the communicator has not failed before, it fails now: the
 * other ranks are informed, and all requests end. Returns whether it did.
 */
bool ina_comm_take_abort(struct ina_comm *comm);

/*
 * Called before the caller polls the descriptors: arms them, and handles events that have arrived,
 * because these would not make the descriptors ready. Stops when the request `until` is done (NULL:
 * when all are), or after a few steps. Returns false if more events may have arrived; the caller
 * must not wait then.
 */
bool ina_comm_exhaust(struct ina_comm *comm, const struct ina_request *until);

/*
 * Called when the communicator has failed: ends all requests with that failure. Afterwards the
 * device does not write to their memory.
 */
void ina_comm_abort(struct ina_comm *comm);

/* Fills in the descriptors to poll, at most INA_COMM_FDS, and returns their number. */
#define INA_COMM_FDS (INA_ALGORITHM_FDS + INA_NEIGHBOURS_MAX)
int ina_comm_pollfds(const struct ina_comm *comm, struct pollfd *fds);

/*
 * For ina_comm_fd(): a descriptor that stands for all these, made at the first call. Returns INA_OK
 * or INA_ERR_SYSTEM.
 */
enum ina_status ina_comm_open_pollset(struct ina_comm *comm, int *fd);

/*
 * Called before the caller waits for a request by that descriptor: arms it, and handles some of the
 * events that have arrived. The request may be done afterwards. If more events may have arrived,
 * the descriptor is ready immediately.
 */
void ina_comm_arm_pollset(struct ina_comm *comm, const struct ina_request *request);

#endif
