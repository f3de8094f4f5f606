/* SPDX-License-Identifier: Apache-2.0 */
/* A communicator: the parts of it, and the queue of what it has to do. */
#ifndef INA_ENGINE_COMM_H
#define INA_ENGINE_COMM_H

#include "hostlib/rdma/connection.h"
#include "hostlib/control/control.h"
#include "hostlib/rdma/memory.h"
#include "hostlib/options/options.h"
#include "pollset.h"
#include "hostlib/algorithms/ring.h"
#include "hostlib/recovery/fault_agreement.h"
#include "hostlib/control/agreement.h"
#include "hostlib/algorithms/in_network.h"

struct ina_request {
	struct ina_comm *comm;
	struct ina_request *next;
	const void *send;
	void *recv;
	size_t count;
	enum ina_type type;
	enum ina_op op;
	bool active; /* transferring, memory held: the first ones of the queue */
	bool done;
	enum ina_status status;
	unsigned int entries[2]; /* registrations */
	unsigned int entry_count;
	struct ina_transfer transfer; /* while it is active */
};

/* What a communicator is at. */
enum ina_phase {
	INA_STEADY,    /* all-reduces */
	INA_AGREEING,  /* a fault is being settled among all ranks */
	INA_REPAIRING, /* sums that only some ranks have go to the others, by ring */
	INA_REJOINING, /* a fresh connection is made, and its JOIN awaited */
};

enum ina_rejoin_stage {
	INA_REJOIN_GATHER,  /* all ranks are there */
	INA_REJOIN_CONNECT, /* fresh connections */
	INA_REJOIN_COUNT,   /* all ranks are connected */
	INA_REJOIN_JOIN,    /* the JOIN is under way */
	INA_REJOIN_JUDGE,   /* all ranks' JOINs have come back as sums */
};

struct ina_rejoin {
	bool due; /* before the next all-reduce: the same on all ranks */
	enum ina_rejoin_stage stage;
	uint32_t vote;       /* this rank's, in the agreement under way */
	int64_t deadline_ms; /* of the stage */
	/* Rank 0's: when to wish for the next attempt. */
	int64_t next_ms;
	int64_t granted_ms;
	int pause_ms;
};

struct ina_comm {
	int rank;
	int ranks;
	struct ina_settings settings;
	uint64_t job_id;
	unsigned int window_packets;
	struct ina_control control;
	struct ina_fabric fabric;
	struct ina_memory memory;
	struct ina_pollset pollset;
	int last_completions; /* of the latest look at the completion queue */
	struct ina_innet window;
	struct ina_ring ring;
	uint8_t *spare;     /* registered: the sums of a window, and 16 bytes */
	char how[120];      /* the all-reduces are done: aggregated, or by ring and why */
	bool log_to_stderr; /* INA_LOG */
	bool plain;         /* plain.h: what comes back is the predecessor's */
	bool is_rail;       /* of another communicator, which notices who is gone */
	bool aggregated;    /* the JOIN came back as a sum; or plain: the window is at work */

	struct ina_failure failure; /* not INA_OK: the communicator is dead, and of this */
	struct ina_failure latest;  /* for ina_error() */

	enum ina_phase phase;
	struct ina_fault_agreement settlement;
	struct ina_plan plan; /* while repairing */
	bool interrupted;     /* requests were with the aggregator when it dropped out */
	struct ina_rejoin rejoin;

	/* Registrations of finished all-reduces whose last sends have not completed, in order. */
	struct {
		unsigned int entry;
		uint64_t until; /* so many messages of the connection are acknowledged */
	} lingering[2 * INA_WINDOW_PACKETS_MAX];
	unsigned int lingering_first;
	unsigned int lingering_count;

	struct ina_request *first; /* the one whose turn it is */
	struct ina_request *last;
	struct ina_request *spare_requests; /* for the next calls, which need not allocate any */
	struct ina_call current;
	struct ina_call previous;
	/* Of the first request, by the aggregator before the ring: messages, elements, overflow. */
	uint64_t summed;
	uint64_t summed_bytes;
	bool summed_overflow;
	int64_t deadline_ms;   /* of the first request */
	int64_t progressed_ms; /* when something last completed, or, while `moved`, before that */
	bool moved;            /* something has completed, and the clock was not looked at since */
	struct ina_stats stats;
	struct ina_parallel *parallel; /* NULL: flat */
};

/* How long without a completion until rank 0 is told that this rank waits. */
#define INA_STALL_MS 1000

/*
 * Takes the completions that are there. *count: how many. An error is a fault of this rank, not
 * yet of the communicator.
 */
enum ina_status ina_progress_poll(struct ina_comm *comm, int *count, struct ina_failure *failure);

/*
 * As ina_progress_poll(), but looks more than once if nothing is there, the last time after the
 * channel has been told to tell of the next one.
 */
enum ina_status ina_progress_look(struct ina_comm *comm, int *count, struct ina_failure *failure);

/*
 * After that: waits for a completion, or for news on the control channel (which are taken in), up
 * to timeout_ms, and takes the completions.
 */
enum ina_status ina_progress_sleep(struct ina_comm *comm, int timeout_ms, int *count,
                                   struct ina_failure *failure);

/* The one, and if there was nothing, the other. */
enum ina_status ina_progress_wait(struct ina_comm *comm, int timeout_ms, int *count,
                                  struct ina_failure *failure);

/* The completion channel will tell of the next completion, but not of those that are there. */
void ina_progress_arm(struct ina_comm *comm);

/*
 * Agrees, outside of any call. The failure of this rank, if any, is replaced by what all get;
 * *value becomes the smallest, or must be the same everywhere.
 */
enum ina_status ina_comm_agree(struct ina_comm *comm, const char *what, const char *doing,
                               bool must_equal, uint32_t *value, int64_t deadline_ms,
                               struct ina_failure *failure);

/* Opens and closes everything but what the struct holds. close is safe at any stage. */
enum ina_status ina_comm_open(struct ina_comm *comm, struct ina_failure *failure);
enum ina_status ina_comm_close(struct ina_comm *comm, struct ina_failure *failure);

/*
 * This rank's part of a fault; failure may be NULL. Begins to settle it, which ina_comm_mend() goes
 * on with: then all requests end with the verdict, or go on by ring.
 */
void ina_comm_fault(struct ina_comm *comm, const struct ina_failure *failure);

/* In a phase that is not INA_STEADY: a step out of it, waiting up to timeout_ms. */
void ina_comm_mend(struct ina_comm *comm, int timeout_ms);

/* Is it time to look for an aggregator again? For rank 0, at the start of a transfer by ring. */
bool ina_rejoin_wished(const struct ina_comm *comm);

/* The aggregator has refused, dropped out, or not come back: when to try next. */
void ina_rejoin_later(struct ina_comm *comm);

/* Begins to JOIN again, on all ranks before the same call; and a step of that, without waiting. */
void ina_rejoin_begin(struct ina_comm *comm);
enum ina_status ina_rejoin_step(struct ina_comm *comm, struct ina_failure *failure);

/* Advances the first request as far as it goes; waits for it up to timeout_ms if that is not 0. */
void ina_collective_step(struct ina_comm *comm, int timeout_ms);

/*
 * For a flat communicator of several ranks with a request, as ina_collective_step() without
 * waiting, but looks round at nothing else: for who is told when there is a reason to.
 */
void ina_collective_work(struct ina_comm *comm);

/* Starts the transfer of the first request, by the aggregator or, what it has not done, by ring. */
enum ina_status ina_collective_transfer(struct ina_comm *comm, struct ina_failure *failure);

/*
 * After the aggregator has dropped out, with the same sums on all ranks: requests of which all
 * sums are there end, and the first of the others goes on by ring.
 */
enum ina_status ina_collective_resume(struct ina_comm *comm, struct ina_failure *failure);

/*
 * Gives back the registrations of finished all-reduces whose sends have completed; all of them if
 * the connection is no more.
 */
void ina_collective_release(struct ina_comm *comm, bool all);

/* Waits until there are none of these. INA_ERR_TIMEOUT: the successor does not acknowledge. */
enum ina_status ina_collective_drain(struct ina_comm *comm, struct ina_failure *failure);

/* The first request's turn has come: it is the current call from now on. */
void ina_collective_begin(struct ina_comm *comm);

/* Ends the first request, whose turn it is; the next one's begins if it is active already. */
void ina_collective_finish(struct ina_comm *comm, enum ina_status status);

/* Ends all requests with the communicator's failure. */
void ina_collective_abort(struct ina_comm *comm);

#endif
