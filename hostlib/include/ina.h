/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libina: all-reduce over ordinary RoCEv2 connections, summed by a switch
 * where one is there to do it, by a ring of the hosts where none is.
 *
 * A program on each of n hosts opens a communicator, and all of them call the
 * same all-reduces in the same order:
 *
 *	struct ina_options options;
 *	char why[INA_ERROR_SIZE];
 *	ina_comm *comm;
 *
 *	ina_options_init(&options);
 *	if (ina_open(&options, &comm, why, sizeof(why)) != INA_OK)
 *		errx(1, "%s", why);
 *	if (ina_allreduce(comm, gradient, sum, count, INA_FLOAT32, INA_SUM) != INA_OK)
 *		errx(1, "%s", ina_error(comm));
 *	ina_close(comm);
 *
 * Rank, number of ranks and the address of rank 0 come from the options, else from INA_RANK,
 * INA_RANKS and INA_ROOT, else from what mpirun, srun or torchrun set.
 *
 * Threads: a communicator, with its requests, belongs to one thread at a time,
 * where the option progress_thread does not say otherwise:
 *
 *	                        progress_thread 0        progress_thread 1
 *	collectives, groups     one thread at a time     any thread; the order of calls is
 *	                                                 to be the same on all ranks
 *	ina_test, ina_wait      one thread at a time     any thread, one for each request
 *	ina_comm_fd             one thread at a time     not at all
 *	ina_register and the    one thread at a time     any thread
 *	other calls on it
 *	ina_abort               any thread at any time before ina_close
 *	ina_close               one thread, the last call on it
 *	requests go on          in ina_test, ina_wait    at any time
 *
 * With progress_thread a group belongs to the thread that has started it: calls of other threads
 * are queued immediately, outside of the group, and each thread may have a group. The order that
 * must be the same on all ranks is that of the ends of groups and of the other calls. A call waits
 * for the library's thread no longer than that needs for some messages.
 *
 * Different communicators may be opened, used and closed by different threads at
 * once; those that are opened at once need different ports at rank 0. The library
 * has no global state but a list of communicators, for fork(), starts no thread
 * that it was not asked for, installs no signal handler, never exits, and prints
 * nothing where INA_LOG=info does not ask for it.
 *
 * fork(): a communicator stays with the process that has opened it. A child gives
 * up its descriptors and mappings of the device before fork() returns there, so
 * that the others hear of the parent's end at once, whatever the child does. In
 * the child all calls return INA_ERR_ARGUMENT, ina_open() too, until it calls
 * exec(). Any thread may fork at any time, also while others are in calls, but for
 * ina_open() and ina_close(). On Linux 5.13 and later, memory that is registered stays the
 * parent's when it forks, and ibv_fork_init() is not needed; the library never
 * calls it. On an older kernel, a program that forks has to call it before its
 * first ina_open(), and its children have none of the memory that was given to
 * the library.
 */
#ifndef INA_H
#define INA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INA_API __attribute__((visibility("default")))

/*
 * The version of this header; ina_version() is that of the library. A program runs with every
 * library of the same major version whose minor version is the same or later: options and
 * statistics only ever grow at their end.
 */
#define INA_VERSION_MAJOR 0
#define INA_VERSION_MINOR 2
#define INA_VERSION_PATCH 0
#define INA_VERSION       (INA_VERSION_MAJOR * 1000000 + INA_VERSION_MINOR * 1000 + INA_VERSION_PATCH)

/* Enough for every text of ina_error() and ina_open(), with its final NUL. */
#define INA_ERROR_SIZE 512

/*
 * Where rank 0 waits for the others, if neither the options nor INA_ROOT name a port, and the job
 * has no cookie (an option, INA_COOKIE, or the launcher's), from which one of the 1024 from here on
 * would follow.
 */
#define INA_DEFAULT_PORT 18766

#define INA_MAX_RANKS 1024

#define INA_MAX_CHANNELS 8

/* A communicator: this rank's connections, memory and place among the ranks. */
typedef struct ina_comm ina_comm;

/* A collective that has been started and not yet finished. */
typedef struct ina_request ina_request;

enum ina_status {
	INA_OK = 0,
	INA_ERR_ARGUMENT, /* the call or an option makes no sense; the communicator stays usable */
	INA_ERR_MISMATCH, /* ranks disagree: on options at open, or on what they call */
	INA_ERR_PEER,     /* a rank is gone */
	INA_ERR_TIMEOUT,  /* what was awaited did not come in time */
	INA_ERR_DEVICE,   /* the RDMA device or a connection failed */
	INA_ERR_MEMORY,   /* no memory, or memory that cannot be registered */
	/* INA_ALGORITHM_INA was required, but no aggregator answered, or it was lost. */
	INA_ERR_AGGREGATOR,
	INA_ERR_SYSTEM,  /* a system call failed */
	INA_ERR_ABORTED, /* a rank has called ina_abort() */
};

enum ina_type {
	INA_INT32 = 1,
	INA_FLOAT32 = 2,  /* IEEE 754 binary32 */
	INA_BFLOAT16 = 3, /* the upper half of a float32 */
	INA_FLOAT16 = 4,  /* IEEE 754 binary16 */
	/* What follows, the hosts add by themselves; but for sums of uint32, as those of int32. */
	INA_FLOAT64 = 5, /* IEEE 754 binary64 */
	INA_INT64 = 6,
	INA_UINT8 = 7,
	INA_UINT32 = 8,
	INA_UINT64 = 9,
};

enum ina_op {
	INA_SUM = 1,
	INA_MAX = 2,
	INA_MIN = 3,
	INA_PROD = 4, /* the hosts make it by themselves */
	INA_AVG = 5,  /* the sum, divided by the number of ranks; does not overflow */
};

enum ina_algorithm {
	INA_ALGORITHM_AUTO = 0, /* the aggregator if and as long as it answers, else the ring */
	INA_ALGORITHM_INA = 1, /* the aggregator; without it INA_ERR_AGGREGATOR, at open or later */
	INA_ALGORITHM_RING = 2, /* the ring; what is short, by recursive doubling */
};

/* How ranks of one machine all-reduce, where some machine has several ranks. */
enum ina_schedule {
	INA_SCHEDULE_AUTO = 0, /* parallel */
	INA_SCHEDULE_FLAT = 1, /* as if every rank had a machine of its own */
	/* The ranks of a machine add up in shared memory, and the lowest one speaks for it. */
	INA_SCHEDULE_LEADER = 2,
	/*
	 * As many ranks of each machine as the smallest machine has own a part of the sum each.
	 * Each all-reduces its part with the owners of that part on the other machines.
	 */
	INA_SCHEDULE_PARALLEL = 3,
};

/*
 * What a communicator is opened with. Fill it by ina_options_init(), then change what you want.
 * The strings are read during ina_open() only.
 */
struct ina_options {
	size_t struct_size; /* set by ina_options_init(): how much of this struct the program has */

	int rank;         /* 0 to ranks - 1; -1: INA_RANK, or the launcher's */
	int ranks;        /* 1 to INA_MAX_RANKS; 0: INA_RANKS, or the launcher's */
	const char *root; /* of rank 0: "host[:port]"; NULL: INA_ROOT, or the launcher's */

	/*
	 * The RDMA side: the IPv4 address that connections are made from and accepted on.
	 * NULL: INA_BIND; if that is not set, an address of `device`; without one, the address
	 * from which this host reaches rank 0.
	 */
	const char *bind;
	const char *device; /* RDMA device, "rxe0"; NULL: the one that has the address */

	enum ina_algorithm algorithm; /* between machines, where the schedule is not flat */
	enum ina_schedule schedule;   /* the same on all ranks */

	/*
	 * Messages under way at once, and bytes of a message with its framing of 48 bytes
	 * (a multiple of 16; 0: 16 packets of the path MTU). window times packets of a message is
	 * at most 128: what Linux rdma_rxe keeps unacknowledged. An aggregator may grant less: then
	 * its messages are shorter, and 16 or more are under way as far as it grants packets.
	 */
	unsigned int window;
	unsigned int message_bytes;

	unsigned int poll_count;    /* looks at the completion queue before sleeping on it */
	unsigned int cache_entries; /* without effect: no registration outlives its call */

	/*
	 * How long an RC connection waits for an acknowledgement before it sends again:
	 * 4.096 us * 2^ack_timeout, 1 to 31 (IBTA vol. 1, Local ACK Timeout). 0: INA_ACK_TIMEOUT;
	 * if that is not set, 14, which is 67 ms. Longer than a full window takes through the
	 * switch, or every window is sent twice; no longer than need be, since a lost tail waits
	 * for it.
	 */
	unsigned int ack_timeout;

	/*
	 * 1: float32 sums go through the aggregator as block floating point, for switches that add
	 * nothing but integers: rounded to 30 bits, less log2 of the ranks, below the largest
	 * number of a message (docs/protocol.md, Fixed point). What goes by ring is float32 as
	 * ever. 0: no.
	 */
	int fixed_point;

	/* Until all ranks have come and are connected; finding the address of rank 0 counts. */
	int open_timeout_ms;
	/*
	 * Until the aggregator has answered. 0: 2 s, or 8 ACK timeouts where these are longer: a
	 * JOIN that was lost is sent again after one.
	 */
	int join_timeout_ms;
	/*
	 * Of an all-reduce, from when its turn has come; also of ina_close(). The error comes up to
	 * 5 s later: the ranks ask each other first whose fault it is.
	 */
	int timeout_ms;
	/*
	 * How long a host may be silent. Its kernel is asked each second; if it has answered
	 * nothing for this long, the host counts as gone no more than 2 s later. A process that
	 * computes, sleeps or is in a debugger for longer is alive.
	 */
	int peer_timeout_ms;

	/*
	 * If set, gets lines of text, without newline: one when the communicator is open, and one
	 * when the aggregator is lost or back. NULL: to stderr, where the environment has
	 * INA_LOG=info.
	 *
	 * It runs in a call on the communicator, or in the library's thread, one line at a time. It
	 * may call the library, except for calls that wait: blocking collectives, ina_wait(),
	 * ina_deregister() and ina_close() return INA_ERR_ARGUMENT there. If it runs in ina_wait(),
	 * it must not finish the same request.
	 */
	void (*log)(void *log_context, const char *line);
	void *log_context;

	/*
	 * Any text that tells this job from others, the same for all its ranks. NULL: INA_COOKIE,
	 * or what the launcher calls the job.
	 */
	const char *cookie;

	/*
	 * 1: a thread of the library goes on with the requests, and does what other ranks need of
	 * this one, also while the program is outside of the library; and any thread may call. It
	 * costs some microseconds a call. 0: all that is done in the calls.
	 */
	int progress_thread;

	/*
	 * 1: messages under way through the aggregator become fewer where their packets meet
	 * congestion (ECN), as with DCTCP, RFC 8257: for networks that others use too, and devices
	 * that do not slow down by themselves, as Linux' rdma_rxe; cards with DCQCN do. All that
	 * is under way shrinks to one message, so messages are short: 4 packets where message_bytes
	 * is 0, and four times as many in a window. -1: no. 0: as INA_CONGESTION_CONTROL says (0 or
	 * 1); if that is not set, no. The same on all ranks.
	 */
	int congestion_control;

	/*
	 * 1 to INA_MAX_CHANNELS: so many sets of connections, each a job of its own at the
	 * aggregators, and each by another tree of switches where the network has several (as the
	 * spines of a Clos network). Elements are striped over those that have an aggregator, 4
	 * messages each at a time; a channel that loses its own gets none until that is back.
	 * Where machines have several ranks, each rail has so many. 0: as INA_CHANNELS says; if
	 * that is not set, 1. The same on all ranks.
	 */
	int channels;
};

/* What has happened on a communicator so far. */
struct ina_stats {
	enum ina_algorithm algorithm; /* in use: INA_ALGORITHM_INA or INA_ALGORITHM_RING */
	unsigned int path_mtu;        /* bytes of payload in a packet */
	unsigned int message_bytes;   /* of a full message, with framing: in use, */
	unsigned int window;          /* and messages; of what is granted, where that is less */
	char device[64];              /* RDMA device, "" for a single rank */
	uint64_t calls;               /* collectives finished */
	uint64_t messages_aggregated; /* sums received from the aggregator */
	uint64_t messages_ring;       /* messages received from other hosts as such */
	uint64_t bytes_aggregated; /* elements that were all-reduced by the aggregator, in bytes */
	uint64_t bytes_ring;       /* the same by the ring */
	uint64_t overflows;        /* int32 all-reduces in which some addition overflowed */
	uint64_t registrations;    /* of memory, for send and recv buffers */
	uint64_t messages_retried; /* sent to the aggregator, lost with it, and reduced by ring */
	uint64_t fallbacks;        /* times the aggregator dropped out and the ring took over */
	uint64_t rejoins; /* times a fresh JOIN was granted after that, a refusal, or a yield */
	unsigned int machines;    /* that the ranks are on; flat: as many as ranks */
	unsigned int local_ranks; /* on this one */
	unsigned int rails;       /* all-reduces between machines at once; 0: flat */
	uint64_t unknown_peers;   /* connections that were of no rank of this job: turned away */
	uint64_t blocks_fixed;    /* fixed point: messages' worth of elements that went so, */
	uint64_t blocks_float;    /* and as float32, for an infinity or a NaN in them */

	/*
	 * Which way the calls went. Where machines have several ranks, it is that of the first
	 * rail; where all ranks are on one machine, none is counted here.
	 */
	uint64_t calls_aggregated; /* by the aggregator, from the first element to the last */
	uint64_t calls_ring; /* by ring, or what was left of them when the aggregator was lost */
	uint64_t calls_doubling; /* among the hosts by recursive doubling (or halving and doubling) */
	uint64_t bytes_doubling; /* of bytes_ring, those that went so */
	/* Why the latter two did not go by the aggregator; each is counted under one of these. */
	uint64_t calls_unasked; /* it is not to be asked: INA_ALGORITHM_RING */
	uint64_t calls_unfit;   /* it cannot combine the type by the operation */
	uint64_t calls_halved;  /* long reduce-scatters and all-gathers: half a ring takes fewer
	                           bytes */
	uint64_t calls_without; /* it was not there, had refused, or was lost meanwhile */

	uint64_t messages_congested; /* of messages_aggregated, those that met congestion (ECN) */

	/*
	 * The option channels: how many there are, and of each its part of what is all-reduced
	 * next, in proportion to the others' (0: it has lost its aggregator), the switch at the top
	 * of its tree, by its own number (0: none, or it does not tell), and the bytes that it has
	 * all-reduced. Of this rank's rail, where machines have several ranks; 0 where it has none.
	 */
	unsigned int channels;
	unsigned int channel_weights[INA_MAX_CHANNELS];
	uint64_t channel_tops[INA_MAX_CHANNELS];
	uint64_t channel_bytes[INA_MAX_CHANNELS];

	uint64_t yields; /* times this job gave its place at the aggregator to one it had refused */
};

/* INA_VERSION of the library that the program runs with. */
INA_API int ina_version(void);

/* Fills the first `size` bytes of `options` with the defaults: what the program knows of them. */
INA_API void ina_options_init_size(struct ina_options *options, size_t size);

/* Fills `options` with the defaults: inline, so that the program's own header says how many. */
static inline void ina_options_init(struct ina_options *options)
{
	ina_options_init_size(options, sizeof(*options));
}

/* The name of a status: "INA_ERR_PEER". Never NULL; the string lives for ever. */
INA_API const char *ina_status_name(enum ina_status status);

/*
 * Opens a communicator. Collective: returns when all ranks have come, are connected, and have
 * agreed on the algorithm, or when they cannot be; then every rank that came gets the error.
 * A rank that cannot take part (no device, a wrong address, too little memory) tells rank 0, for
 * 10 s at most while that does not answer, and all ranks get that rank and its reason.
 *
 * options: NULL stands for the defaults.
 * comm: set to the communicator, to be given to ina_close(), or to NULL on error.
 * why: gets the text of the error, cut to why_size bytes, or "" with INA_OK; may be NULL.
 *
 * Errors: INA_ERR_ARGUMENT (options, environment), INA_ERR_MISMATCH (rank counts, a rank that is
 * there already, window, message size, algorithm, schedule, fixed point, congestion control,
 * channels, path MTU), INA_ERR_TIMEOUT (the text names the missing ranks, or the name that was not
 * resolved), INA_ERR_PEER, INA_ERR_DEVICE, INA_ERR_MEMORY, INA_ERR_AGGREGATOR, INA_ERR_SYSTEM.
 */
INA_API enum ina_status ina_open(const struct ina_options *options, ina_comm **comm, char *why,
                                 size_t why_size);

/*
 * Closes a communicator and frees it, whatever is returned; the exception is INA_ERR_ARGUMENT
 * because it was called by the log function. Collective: waits for all ranks to close, unless the
 * communicator has failed before. Finish all requests first: those that are not are abandoned, and
 * the other ranks get INA_ERR_PEER. comm may be NULL.
 */
INA_API enum ina_status ina_close(ina_comm *comm);

/*
 * The text of the latest error of this communicator, in any thread, or "" without an error. It is a
 * copy that lives until the same thread's next ina_error() on the communicator, or until
 * ina_close(); with progress_thread 0, until the next of any thread.
 */
INA_API const char *ina_error(const ina_comm *comm);

/*
 * recv[i] = the sum, or what else op is, of all ranks' send[i], for i < count, on every rank.
 * Collective and blocking: all ranks call with the same count, type and op.
 *
 * send, recv: count elements, at any address. They are the same (in place), or do not
 * overlap. Only recv is written. Elements go from send to the wire and from the wire to recv without
 * a copy, where the buffers are registered; but sums by the aggregator are received elsewhere, and
 * copied once when they have been checked, in place and for the last messages of a call (a window of
 * them): the others may yet need these if the aggregator drops out. Where a machine has several
 * ranks, elements are copied to and from memory that they share, and its sum is made first: of
 * bfloat16 and float16 it is rounded once, and then goes through the network as the elements of one
 * rank do.
 * count: 0 is allowed, and is compared with the other ranks' like any other.
 * type, op: all ranks get the same bits. An int32 sum is two's complement, and ina_comm_stats()
 * counts overflows. A sum of floats is rounded to nearest, ties to even: with float32 in each
 * addition, with bfloat16 and float16 once, since the aggregator and the hosts add these as float32.
 * The order of additions is fixed for each algorithm and count, but differs between the algorithms;
 * docs/protocol.md says how far a sum may be off. INA_MAX and INA_MIN are
 * exact and the same by every algorithm: -0 is less than +0, and a NaN among the operands makes
 * the result a NaN. Integers of all types are added and multiplied modulo 2 to their number of
 * bits.
 *
 * INA_AVG is right wherever the mean can be represented, also where the sum cannot: no sum that it
 * is made of overflows. Integers are exact, and rounded towards zero. Floats are rounded once more
 * than a sum, to nearest even. Only the smallest ones lose more: with N the smallest power of two
 * above the number of ranks, a float32 below 2^-126 N counts as the nearest multiple of 2^-149 N,
 * and a float64 below 2^-1022 N as that of 2^-1074 N. Averages of bfloat16, float16, int32 and uint32
 * take twice the bytes on the network, those of uint8 four times, and those of int64 and uint64
 * twice among the hosts. recv is written from the beginning of the call on; if it is too small
 * for what travels, the library has memory for that.
 *
 * Errors: INA_ERR_ARGUMENT leaves the communicator as it was. After any other error, which all
 * ranks get, each in this call or its next, recv holds nothing of use, and all further calls
 * return the same error. INA_ERR_MISMATCH says which rank called what.
 *
 * The buffers are the caller's again when the call has ended, to be freed, unmapped or anything
 * else: nothing has to be said of it. So the library keeps no registration for a later call. A
 * buffer of more than 64 KiB is registered for the call, and a shorter one is copied through memory
 * of the library; neither happens to memory that was given to ina_register(). A buffer that the
 * device does not take, as memory that is mapped from a file, or more of it than the process may
 * lock (ulimit -l), is copied too, which is slower; the log says so, once.
 * Before anything is sent, the library reads a byte of each page of send, and writes one of each
 * page of recv back as it was; of buffers of more than 64 KiB, of the first page. An address of
 * another device (CUDA), or a hole, is an INA_ERR_ARGUMENT. A later hole in a longer buffer is an
 * INA_ERR_MEMORY, which ends the communicator, if the buffer is registered; if the library copies
 * the whole buffer (ranks of one machine, averages), the process ends by SIGSEGV, as in any copy.
 */
INA_API enum ina_status ina_allreduce(ina_comm *comm, const void *send, void *recv, size_t count,
                                      enum ina_type type, enum ina_op op);

/*
 * As ina_allreduce(), but returns at once: *request is then to be finished by ina_wait(), or by
 * ina_test() until that says so. send and recv belong to the library until then. Requests are
 * carried out in the order in which they were started, and with an aggregator without a pause
 * between them: several that are outstanding at once are faster than one after the other. A request
 * may send what an earlier one receives: it waits for that one. All this is done while the program
 * is inside ina_test() or ina_wait() of any request of the communicator, as is what others need of
 * this rank when the aggregator drops out. The first of them begins in this call: ina_test() says
 * how long that may take.
 *
 * Errors: INA_ERR_ARGUMENT, INA_ERR_MEMORY, or the error of a communicator that has failed;
 * *request is then NULL.
 */
INA_API enum ina_status ina_allreduce_start(ina_comm *comm, const void *send, void *recv,
                                            size_t count, enum ina_type type, enum ina_op op,
                                            ina_request **request);

/*
 * The other collectives. What ina_allreduce() says of memory, types, operations, errors and
 * registrations holds for them; what ina_allreduce_start() says, for those that are started, which
 * ina_test() and ina_wait() finish. Requests of all kinds are carried out in the order in which
 * they were started. All ranks call the same ones in the same order, with the same counts, types,
 * operations and roots; where they do not, all get INA_ERR_MISMATCH, which says who called what.
 *
 * Sums and maxima that an aggregator can make go through it, and so do broadcasts and barriers;
 * the rest goes among the hosts. ina_comm_stats() counts what went which way.
 */

/*
 * Block r of the sum, or what else op is, of all ranks' send goes to rank r.
 * send: ranks * recv_count elements, the block of rank 0 first; recv: recv_count.
 * In place: recv is send + rank * recv_count elements; the other blocks stay as they were.
 */
INA_API enum ina_status ina_reduce_scatter(ina_comm *comm, const void *send, void *recv,
                                           size_t recv_count, enum ina_type type, enum ina_op op);
INA_API enum ina_status ina_reduce_scatter_start(ina_comm *comm, const void *send, void *recv,
                                                 size_t recv_count, enum ina_type type,
                                                 enum ina_op op, ina_request **request);

/*
 * All ranks' send, that of rank 0 first, go to recv at every rank, bit by bit.
 * send: send_count elements; recv: ranks * send_count.
 * In place: send is recv + rank * send_count elements.
 */
INA_API enum ina_status ina_all_gather(ina_comm *comm, const void *send, void *recv,
                                       size_t send_count, enum ina_type type);
INA_API enum ina_status ina_all_gather_start(ina_comm *comm, const void *send, void *recv,
                                             size_t send_count, enum ina_type type,
                                             ina_request **request);

/*
 * The root's send goes to recv at every rank, bit by bit. send is looked at nowhere else, and may
 * be NULL there. In place: send is recv; at the root, that memory is only read.
 */
INA_API enum ina_status ina_broadcast(ina_comm *comm, const void *send, void *recv, size_t count,
                                      enum ina_type type, int root);
INA_API enum ina_status ina_broadcast_start(ina_comm *comm, const void *send, void *recv,
                                            size_t count, enum ina_type type, int root,
                                            ina_request **request);

/*
 * As ina_allreduce(), but the result goes to recv at the root alone. recv is not touched anywhere
 * else, and may be NULL there. In place, at the root: send is recv.
 */
INA_API enum ina_status ina_reduce(ina_comm *comm, const void *send, void *recv, size_t count,
                                   enum ina_type type, enum ina_op op, int root);
INA_API enum ina_status ina_reduce_start(ina_comm *comm, const void *send, void *recv, size_t count,
                                         enum ina_type type, enum ina_op op, int root,
                                         ina_request **request);

/* Is done when all ranks have called it. */
INA_API enum ina_status ina_barrier(ina_comm *comm);
INA_API enum ina_status ina_barrier_start(ina_comm *comm, ina_request **request);

/*
 * A group: what is started between the two calls goes on its way together, at the second one. Small
 * all-reduces of the same type and operation that follow one another share messages, which saves
 * most of what many of them cost; their elements are copied once more. No result changes its bits
 * where the order of additions does not matter; where it does, it is that of one all-reduce of all
 * their elements. Every rank groups the same calls. Only calls that are started may be in a group,
 * and none of them is finished before its end: a call that waits is refused, and the group stays as
 * it was. With progress_thread a group has the calls of the thread that has started it, and no
 * others; the same thread ends it.
 *
 * Errors: INA_ERR_ARGUMENT (a group within a group, an end without a beginning), INA_ERR_MEMORY.
 */
INA_API enum ina_status ina_group_start(ina_comm *comm);
INA_API enum ina_status ina_group_end(ina_comm *comm);

/*
 * Makes what progress can be made without waiting. *done becomes 1 when the request is finished,
 * well or not: the status says which, and the request is freed and not to be used again.
 * Otherwise *done is 0 and INA_OK is returned. It does some messages' worth of work at most. When
 * the aggregator drops out, or an error ends the communicator, it can once take some hundredths of
 * a second. A collective begins in a call that starts or tests one, and ends in one that tests one:
 * then that call takes longer, in proportion to the bytes. At the beginning the kernel registers
 * buffers of more than 64 KiB that were not given to ina_register(), in one system call each. Where
 * elements travel in another form than the caller's, one pass over them is made at the beginning or
 * at the end: averages, broadcasts and all-gathers, reduces and reduce-scatters that are not in
 * place, and groups.
 */
INA_API enum ina_status ina_test(ina_request *request, int *done);

/*
 * A file descriptor to wait on with poll(), select() or epoll: after ina_test() has said that a
 * request is not done, it is readable when there is a reason to call ina_test() again, and at least
 * once a second. Ask for it before the first ina_test() that is to be followed by such a wait. It
 * belongs to the communicator: neither read nor close it.
 * Errors: INA_ERR_ARGUMENT, INA_ERR_SYSTEM, or that of a communicator that has failed; *fd is -1.
 */
INA_API enum ina_status ina_comm_fd(ina_comm *comm, int *fd);

/* Waits until the request is finished, frees it, and returns what became of it. */
INA_API enum ina_status ina_wait(ina_request *request);

/*
 * Registers memory until ina_deregister() or ina_close(), as a hint: calls within it need neither a
 * registration of their own nor a copy. Memory that cannot be written is registered to be sent.
 *
 * A registration is of the pages that the memory has now. As long as it lasts, the same pages must
 * stay at these addresses, or results go to pages that the program does not see: do not free, unmap
 * or remap the memory, nor use madvise(MADV_DONTNEED) on it. fork() is allowed: from Linux 5.13 on
 * the parent keeps the pages.
 * Errors: INA_ERR_ARGUMENT; INA_ERR_MEMORY, after which the memory can be used all the same.
 */
INA_API enum ina_status ina_register(ina_comm *comm, void *memory, size_t bytes);

/*
 * Ends every registration by ina_register() that overlaps the given memory; to be called before that
 * is freed or unmapped. Finding none is no error. Requests that are unfinished keep the memory that
 * they were given; other requests do not matter. It never waits: the device may keep the pages until
 * what was sent last is acknowledged, but no call uses them. Errors: INA_ERR_ARGUMENT;
 * INA_ERR_DEVICE, if the device does not let go of it: the pages stay until the communicator is
 * closed, or until another ina_deregister().
 */
INA_API enum ina_status ina_deregister(ina_comm *comm, const void *memory, size_t bytes);

/*
 * Ends the communicator with INA_ERR_ABORTED, at all ranks: "rank 2 aborted: why". From any thread,
 * also while another one is inside of a call on it: that wait ends within a second. Where no thread
 * is, it takes effect in the next call; with progress_thread, at once. As after any error, all that
 * is left is ina_close(), which waits for nobody then. comm may be NULL, and so may why.
 */
INA_API void ina_abort(ina_comm *comm, const char *why);

/*
 * Copies what has happened so far; size is sizeof(*stats) as the caller knows it. Without a
 * communicator (NULL) all is 0.
 */
INA_API void ina_comm_stats(const ina_comm *comm, struct ina_stats *stats, size_t size);

/*
 * For people: the tree of the switches between the ranks, as far as they tell of it, which of them
 * sums what, and how it is done, or why no better; lines of text, as of when the communicator was
 * opened, the same on all ranks. Where machines have several ranks, each rail is a communicator of
 * its own, in which ranks are machines: they are of this rank's rail, "" where it has none. With
 * several channels, each has its own tree, one behind the other.
 *
 * Like snprintf(): writes at most size bytes, the terminating 0 included, and returns how many
 * characters there are in all; -1 if comm is NULL.
 */
INA_API int ina_comm_explain(const ina_comm *comm, char *text, size_t size);

/* This rank's number, and the number of ranks; -1 if comm is NULL. */
INA_API int ina_comm_rank(const ina_comm *comm);
INA_API int ina_comm_ranks(const ina_comm *comm);

#ifdef __cplusplus
}
#endif

#endif
