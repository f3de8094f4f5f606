/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libina: all-reduce over ordinary RoCEv2 connections. An aggregator in the switch adds the
 * contributions of all ranks. Without an aggregator, the hosts add them over a ring.
 *
 * A program on each of n hosts opens a communicator. All of them then call the same all-reduces in
 * the same order:
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
 * Each option that the program leaves at its default may also be set by a variable, or by a line of
 * a file (see struct ina_options). Otherwise the rank, the number of ranks, and the address of
 * rank 0 come from the variables that mpirun, srun or torchrun set.
 *
 * Threads: a communicator and its requests may be used by one thread at a time, unless the option
 * progress_thread is 1:
 *
 *	                        progress_thread 0        progress_thread 1
 *	collectives, groups     one thread at a time     any thread; all ranks must make
 *	                                                 the calls in the same order
 *	ina_test, ina_wait      one thread at a time     any thread, one for each request
 *	ina_comm_fd             one thread at a time     returns INA_ERR_ARGUMENT
 *	ina_register and the    one thread at a time     any thread
 *	other calls on it
 *	ina_abort               any thread at any time before ina_close
 *	ina_close               one thread, the last call on it
 *	requests make progress  in ina_test, ina_wait    at any time
 *
 * With progress_thread a group belongs to the thread that started it, and each thread may have one.
 * The library queues the calls of other threads immediately, outside the group. The order that must
 * be the same on all ranks is the order in which groups end and other calls are made. A call waits
 * for the library's thread at most as long as that thread takes to process a few messages.
 *
 * Different threads may open, use and close different communicators at the same time. Communicators
 * that are opened at the same time need different ports at rank 0. The only global state of the
 * library is a list of communicators, for fork(). The library starts no thread except the one that
 * progress_thread asks for, and one for each ina_open_start(), which ends with the opening. Both
 * block the program's signals. A thread that waits for the resolver of host names may outlive
 * ina_open(). The library installs no signal handler and never exits. It prints nothing unless
 * INA_LOG is set.
 *
 * fork(): a communicator stays with the process that opened it. Before fork() returns in the child,
 * the library closes the communicator's descriptors there and unmaps the device. The other ranks
 * therefore notice the end of the parent immediately, even while the child lives. In the child
 * every call, including ina_open(), returns INA_ERR_ARGUMENT until the child calls exec(). Any
 * thread may fork at any time, even while other threads are in calls, except while a thread is in
 * ina_open() or ina_close(), or while the request of an ina_open_start() is unfinished.
 *
 * On Linux 5.13 and later, registered memory stays with the parent when it forks, and
 * ibv_fork_init() is not needed. The library never calls it. On an older kernel, a program that
 * forks must call ibv_fork_init() before its first ina_open(), and its children do not inherit
 * memory that was given to the library.
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
 * The version of this header. ina_version() returns the version of the library. A program runs with
 * every library that has the same major version and the same or a later minor version: new members
 * of the options and the statistics are only added at the end.
 */
#define INA_VERSION_MAJOR 0
#define INA_VERSION_MINOR 3
#define INA_VERSION_PATCH 0
#define INA_VERSION       (INA_VERSION_MAJOR * 1000000 + INA_VERSION_MINOR * 1000 + INA_VERSION_PATCH)

/* Bytes that hold every text of ina_error() and ina_open(), including the final NUL. */
#define INA_ERROR_SIZE 512

/*
 * The TCP port at which rank 0 waits for the other ranks, if neither the options nor INA_ROOT give
 * a port and the job has no cookie. If the job has a cookie (from the options, INA_COOKIE or the
 * launcher), the library derives the port from it: one of the 1024 ports from this one on.
 * INA_PORTS takes the place of these ports.
 */
#define INA_DEFAULT_PORT 18766

#define INA_MAX_RANKS 1024

#define INA_MAX_CHANNELS 8

/* The bytes that each rank gives to the function `exchange` of the options. */
#define INA_EXCHANGE_BYTES 1024

/* A communicator: this rank's connections, memory and place among the ranks. */
typedef struct ina_comm ina_comm;

/* A collective or an opening that was started and has not finished yet. */
typedef struct ina_request ina_request;

enum ina_status {
	INA_OK = 0,
	INA_ERR_ARGUMENT, /* invalid call or option; the communicator stays usable */
	INA_ERR_MISMATCH, /* ranks disagree: on options at open, or on what they call */
	INA_ERR_PEER,     /* a rank has ended, or its host is unreachable */
	INA_ERR_TIMEOUT,  /* a message or a rank did not come in time */
	INA_ERR_DEVICE,   /* the RDMA device or a connection failed */
	INA_ERR_MEMORY,   /* out of memory, or the memory cannot be registered */
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
	/*
	 * Reduced by the hosts, except sums and averages of uint32 and averages of uint8, int8 and
	 * uint16: the aggregator adds these as int32.
	 */
	INA_FLOAT64 = 5, /* IEEE 754 binary64 */
	INA_INT64 = 6,
	INA_UINT8 = 7,
	INA_UINT32 = 8,
	INA_UINT64 = 9,
	INA_INT8 = 11, /* the library uses 10 itself */
	INA_UINT16 = 12,
};

enum ina_op {
	INA_SUM = 1,
	INA_MAX = 2,
	INA_MIN = 3,
	INA_PROD = 4, /* computed by the hosts */
	INA_AVG = 5,  /* the sum divided by the number of ranks; does not overflow */
};

enum ina_algorithm {
	INA_ALGORITHM_AUTO = 0, /* the aggregator while it answers, else the ring */
	INA_ALGORITHM_INA = 1, /* the aggregator; without it INA_ERR_AGGREGATOR, at open or later */
	INA_ALGORITHM_RING = 2, /* the ring; recursive doubling for short messages */
};

/* How the ranks of one machine all-reduce, if any machine has several ranks. */
enum ina_schedule {
	INA_SCHEDULE_AUTO = 0, /* parallel */
	INA_SCHEDULE_FLAT = 1, /* as if every rank had a separate machine */
	/* The ranks of a machine add in shared memory; the lowest one all-reduces for them. */
	INA_SCHEDULE_LEADER = 2,
	/*
	 * Let r be the number of ranks on the smallest machine. On each machine r ranks own a part
	 * of the sum each. Each owner all-reduces its part with the ranks of the same local index
	 * on the other machines.
	 */
	INA_SCHEDULE_PARALLEL = 3,
};

/*
 * The options of a communicator. Call ina_options_init() to set the defaults, then change members.
 * The library reads the strings during ina_open() or ina_open_start() only; they stay the caller's.
 *
 * Each option that is no function has a variable: INA_ and the option's name in capitals, as
 * INA_POLL_COUNT; that of `device` is INA_HCA. Its value is looked for in this order; the last
 * place that has one counts:
 *
 *	1. /etc/ina.conf
 *	2. ~/.ina.conf, or in its place the file that INA_CONF_FILE names
 *	3. the environment
 *	4. the program. A member that has its default value counts as not set.
 *
 * A line of a file is VARIABLE=value, or a comment after #. An enum's values are its names without
 * INA_ALGORITHM_ or INA_SCHEDULE_, in small letters. A variable whose name begins with INA_ and
 * that nothing reads is an error (INA_ERR_ARGUMENT), as a wrong value is.
 *
 * A member that is described as "1: ..., -1: off" may be 1, -1 or 0. 0: the variable decides (0 or
 * 1); if that is not set, off.
 */
struct ina_options {
	size_t struct_size; /* bytes; set by ina_options_init() to what the program knows */

	int rank;         /* 0 to ranks - 1; -1: the launcher's */
	int ranks;        /* 1 to INA_MAX_RANKS; 0: the launcher's */
	const char *root; /* rank 0, "host[:port]"; NULL: the launcher's */

	/*
	 * The IPv4 address of this host's RDMA device, which connections use on this side. NULL: an
	 * address of a device of the list `device`.
	 */
	const char *bind;
	/*
	 * The RDMA devices to use, as "mlx5_0:1,mlx5_1" (device:port; names by their beginning),
	 * "=mlx5_0" (whole names) or "^mlx5_2" (all others), with fewer than 256 characters.
	 * Channels and rails take turns on the devices of a list without "^". The variable is
	 * INA_HCA. NULL: one device, if possible the one that leads to rank 0.
	 */
	const char *device;

	enum ina_algorithm algorithm; /* between machines, unless the schedule is flat */
	enum ina_schedule schedule;   /* the same on all ranks */

	/*
	 * window: messages in flight, 1 to 128; default 8. message_bytes: bytes of a message with
	 * its framing of 48 bytes, a multiple of 16; 0: 16 packets of the path MTU. The window
	 * times the packets of a message must not exceed 128, the number of packets that Linux
	 * rdma_rxe keeps unacknowledged. If the aggregator grants fewer packets than that product,
	 * the library sends shorter messages, and more of them: 16 in flight, or `window` if that
	 * is more, but no more than the packets granted.
	 */
	unsigned int window;
	unsigned int message_bytes;

	unsigned int poll_count; /* polls of the completion queue before the library sleeps */

	/*
	 * How long an RC connection waits for an acknowledgement before it retransmits: 4.096 us *
	 * 2^ack_timeout, 1 to 31 (IBTA vol. 1, Local ACK Timeout). 0: 14, which is 67 ms. A timeout
	 * shorter than the time that a full window needs through the switch makes every window be
	 * sent twice. A lost last packet waits for this timeout, so it should not be longer than
	 * necessary.
	 */
	unsigned int ack_timeout;

	/*
	 * 1: the aggregator adds float32 as block floating point, for switches that can only add
	 * integers. Elements are rounded to 30 bits, less log2 of the number of ranks, below the
	 * largest element of a message (docs/protocol.md, Fixed point). The ring still adds
	 * float32. -1: off. Must be the same on all ranks.
	 */
	int fixed_point;

	/*
	 * Until all ranks have come and are connected, in ms; includes the time to resolve the
	 * address of rank 0. Default 60000.
	 */
	int open_timeout_ms;
	/*
	 * Until the aggregator has answered, in ms. 0: 2 s, or 8 ACK timeouts if those are longer,
	 * since a lost JOIN is retransmitted after one ACK timeout.
	 */
	int join_timeout_ms;
	/*
	 * The limit of an all-reduce, from when its turn comes, and of ina_close(), in ms. Default
	 * 300000. The error is returned up to 5 s later, because the ranks first ask each other
	 * which rank is at fault.
	 */
	int timeout_ms;
	/*
	 * How long a host may be silent, in ms. Default 5000. Each rank probes the kernels of its
	 * neighbours every second. If a kernel has answered nothing for this long, the other ranks
	 * take the host for dead no more than 2 s later. A process that computes, sleeps or is in a
	 * debugger for longer does not count as dead.
	 */
	int peer_timeout_ms;

	/*
	 * If set, the library passes lines of text without a newline to this function: one when the
	 * communicator is open, and one each time the aggregator is lost or is back. NULL: the
	 * lines go to stderr if INA_LOG is "info", or some of them if it is "warn"; or to the file
	 * that INA_LOG_FILE names.
	 *
	 * The function runs inside a call on the communicator, or in the library's thread, one line
	 * at a time. It may call the library, except calls that wait: blocking collectives,
	 * ina_wait(), ina_deregister() and ina_close() return INA_ERR_ARGUMENT there. If it runs
	 * inside ina_wait(), it must not finish the same request.
	 */
	void (*log)(void *log_context, const char *line);
	void *log_context;

	/*
	 * Any text that distinguishes this job from others; all its ranks give the same one. NULL:
	 * the launcher's name for the job.
	 */
	const char *cookie;

	/*
	 * 1: a thread of the library makes progress on requests and serves the other ranks, even
	 * while the program is outside the library, and any thread may make calls. Each call costs
	 * a few microseconds more. -1: off; all of this happens inside the calls.
	 */
	int progress_thread;

	/*
	 * 1: the library reduces the number of messages in flight through the aggregator when
	 * packets meet congestion (ECN), as DCTCP does (RFC 8257). Use it on networks that carry
	 * other traffic, with devices that do not slow down themselves, such as Linux rdma_rxe.
	 * Cards with DCQCN do not need it. The window can shrink to one message, so messages are
	 * short: if message_bytes is 0, a message has 4 packets and a window four times as many
	 * messages. -1: off. Must be the same on all ranks.
	 */
	int congestion_control;

	/*
	 * The number of channels, 1 to INA_MAX_CHANNELS. A channel is a set of connections and a
	 * separate job at the aggregators. If the network has several trees of switches, for
	 * example the spines of a Clos network, each channel uses a different one. The library
	 * stripes elements over the channels that have an aggregator, 4 messages of each at a time.
	 * A channel that loses its aggregator gets no elements until the aggregator is back. If
	 * machines have several ranks, each rail opens this many channels. 0: 1. Must be the same
	 * on all ranks.
	 */
	int channels;

	/*
	 * If set, the ranks meet through this function of the program, in place of a port at rank
	 * 0. root is then not needed; if it is set, the way to it selects the device. The function
	 * is an all-gather among the ranks: it copies the `bytes` bytes at send of every rank, in
	 * the order of the ranks, to recv at every rank, which has room for ranks * bytes. It
	 * returns 0, or another number if it failed. bytes is INA_EXCHANGE_BYTES. Set it on all
	 * ranks or on none.
	 *
	 * ina_open() calls it once, and ina_open_start() in the library's thread. It must not call
	 * the library. It needs its own time limit, since ina_abort() and open_timeout_ms do not
	 * interrupt it. A rank that cannot take part calls it too, and all ranks get that rank's
	 * error. The ranks then connect to each other at ports that their kernels choose, or at
	 * those of INA_PORTS.
	 */
	int (*exchange)(void *exchange_context, const void *send, void *recv, size_t bytes);
	void *exchange_context;
};

/* Counters of a communicator since it was opened, and values that were agreed on at open. */
struct ina_stats {
	enum ina_algorithm algorithm; /* in use: INA_ALGORITHM_INA or INA_ALGORITHM_RING */
	unsigned int path_mtu;        /* bytes of payload in a packet */
	unsigned int message_bytes;   /* in use: bytes of a full message with framing, */
	unsigned int window;          /* and messages in flight; after any smaller grant */
	char device[64];              /* RDMA device, "" if none was needed */
	uint64_t calls;               /* collectives finished */
	uint64_t messages_aggregated; /* sums received from the aggregator */
	uint64_t messages_ring;       /* messages received from other hosts unsummed */
	uint64_t bytes_aggregated;    /* bytes of elements that the aggregator all-reduced */
	uint64_t bytes_ring;          /* bytes of elements that the hosts all-reduced */
	uint64_t overflows;           /* int32 all-reduces in which some addition overflowed */
	uint64_t registrations;       /* registrations made of send and recv buffers */
	uint64_t messages_retried; /* sent to the aggregator, lost with it, reduced by the ring */
	uint64_t fallbacks;        /* times the ring took over from a lost aggregator */
	uint64_t rejoins; /* times a fresh JOIN was granted after a loss, a refusal or a yield */
	unsigned int machines;    /* machines of all ranks; flat: the number of ranks */
	unsigned int local_ranks; /* ranks on this machine */
	unsigned int rails;       /* concurrent all-reduces between machines; 0: flat */
	uint64_t unknown_peers;   /* rejected connections: not of a rank of this job */
	uint64_t blocks_fixed;    /* fixed point: blocks (elements of a message) sent in it, */
	uint64_t blocks_float;    /* and blocks sent as float32, for an infinity or a NaN in them */

	/*
	 * Calls by the way that they took. If machines have several ranks, these are the first
	 * rail's. If all ranks are on one machine, no call is counted here.
	 */
	uint64_t calls_aggregated; /* by the aggregator, from the first element to the last */
	uint64_t calls_ring;       /* over the ring, entirely or after the aggregator was lost */
	uint64_t calls_doubling;   /* by recursive doubling, or halving and doubling, among hosts */
	uint64_t bytes_doubling;   /* bytes of bytes_ring that were reduced in these calls */
	/* Why calls_ring and calls_doubling did not use the aggregator; one reason a call. */
	uint64_t calls_unasked; /* INA_ALGORITHM_RING was requested */
	uint64_t calls_unfit;   /* the aggregator cannot combine the type by the operation */
	uint64_t calls_halved;  /* long reduce-scatters and all-gathers: half a ring takes fewer
	                           bytes */
	uint64_t calls_without; /* the aggregator was missing, had refused, or was lost */

	uint64_t messages_congested; /* messages_aggregated that met congestion (ECN) */

	/*
	 * The option channels: the number of channels, and for each channel:
	 * channel_weights: its weight. The channels get the elements that are all-reduced next in
	 * proportion to their weights; 0: it has lost its aggregator.
	 * channel_tops: the id of the switch at the top of its tree; 0: no switch, or the switch
	 * does not report its id.
	 * channel_bytes: bytes of elements that it has all-reduced.
	 *
	 * If machines have several ranks, these are the values of this rank's rail; all are 0 at a
	 * rank without a rail.
	 */
	unsigned int channels;
	unsigned int channel_weights[INA_MAX_CHANNELS];
	uint64_t channel_tops[INA_MAX_CHANNELS];
	uint64_t channel_bytes[INA_MAX_CHANNELS];

	uint64_t yields; /* times this job gave its context to a job that the aggregator refused */
};

/* Returns the INA_VERSION of the library that the program runs with. */
INA_API int ina_version(void);

/* Sets the first `size` bytes of `options`, the part that the program knows, to the defaults. */
INA_API void ina_options_init_size(struct ina_options *options, size_t size);

/* Sets `options` to the defaults. Inline, so that the size comes from the program's header. */
static inline void ina_options_init(struct ina_options *options)
{
	ina_options_init_size(options, sizeof(*options));
}

/*
 * Writes the values that ina_open() would use, and where they come from; options: as for
 * ina_open(). A line for each variable has its name, the value, and "default", "program",
 * "environment", a file with a line number, or the launcher's variable, separated by tabs. The
 * value is "-" if it depends on the network or is not known; that of INA_SECRET is never shown.
 * Waits up to 2 s for the resolver if the launcher names hosts.
 *
 * Writes at most `size` bytes including the final NUL; 32768 hold the lines of all variables. If a
 * number, a name or a file is wrong, returns the status of ina_open(), and writes its text. The
 * root, the cookie and the ports are only copied: ina_open() checks them.
 */
INA_API enum ina_status ina_options_explain(const struct ina_options *options, char *text,
                                            size_t size);

/* Returns the name of a status, as "INA_ERR_PEER". Never NULL; the string is static. */
INA_API const char *ina_status_name(enum ina_status status);

/* Returns the bytes of an element; 0 if the library has no such type. */
INA_API size_t ina_type_size(enum ina_type type);

/*
 * Return the name of a type, as "float32", and the name of an operation: "sum", "max", "min",
 * "product" or "average". NULL if the library has no such type or operation. The strings are
 * static.
 */
INA_API const char *ina_type_name(enum ina_type type);
INA_API const char *ina_op_name(enum ina_op op);

/*
 * Opens a communicator. Collective: returns when all ranks have come, are connected and have agreed
 * on the algorithm. If they cannot, every rank that came gets the error. A rank that cannot take
 * part (no device, a wrong address, too little memory) reports this to rank 0, and all ranks get
 * its number and its reason. It tries to reach rank 0 for 10 s at most.
 *
 * options: NULL stands for the defaults.
 * comm: set to the communicator, which the caller closes with ina_close(), or to NULL on error.
 * why: receives the text of the error, cut to why_size bytes, or "" with INA_OK; may be NULL.
 *
 * Errors: INA_ERR_ARGUMENT (options, environment), INA_ERR_MISMATCH (rank counts, two processes
 * with the same rank, window, message size, algorithm, schedule, fixed point, congestion control,
 * channels), INA_ERR_TIMEOUT (the text names the missing ranks, or the host name that was
 * not resolved), INA_ERR_PEER, INA_ERR_DEVICE, INA_ERR_MEMORY, INA_ERR_AGGREGATOR, INA_ERR_SYSTEM.
 */
INA_API enum ina_status ina_open(const struct ina_options *options, ina_comm **comm, char *why,
                                 size_t why_size);

/*
 * Like ina_open(), but does not wait for other ranks. A thread of the library opens the
 * communicator; it ends with the opening. Some ranks may call ina_open() and others this. The
 * caller finishes *request with ina_wait(), or with ina_test() until that reports it done. They
 * return what ina_open() would, and ina_error() then has the text.
 *
 * options: NULL stands for the defaults. The library reads the options and the environment in this
 * call. If the address of rank 0 is a host name, the call waits for the resolver, at most
 * open_timeout_ms. A rank without memory or a thread first reports this to rank 0, as in
 * ina_open().
 *
 * comm: set to the communicator, which the caller closes with ina_close(), even if the request
 * fails. Until the request has finished, one thread at a time may use the communicator, also with
 * progress_thread, and the program must not fork. Only these calls do anything: ina_test() and
 * ina_wait() of the request, ina_comm_fd(), ina_error(), ina_comm_rank(), ina_comm_ranks(),
 * ina_abort() from any thread, and ina_close(). Statistics are 0, ina_comm_explain() writes "", and
 * other calls return INA_ERR_ARGUMENT.
 *
 * request: it belongs to the communicator. If it fails, only ina_close() is left to do, which then
 * waits for no other rank.
 *
 * ina_close() or ina_abort() before the request has finished stop the opening, which ends in about
 * a second, or three seconds at rank 0 while other ranks call it. ina_close() waits for this end.
 * The other ranks get the error that they get if this rank's process ends at that time, or
 * INA_ERR_ABORTED with this rank's number. Before all ranks have come, another process may come as
 * this rank, so the other ranks wait for it until their open_timeout_ms.
 *
 * Several openings may be under way in one thread. If they are of the same job, rank 0 needs a
 * different port for each.
 *
 * Errors: INA_ERR_ARGUMENT (comm or request is NULL), INA_ERR_MEMORY, INA_ERR_SYSTEM (no thread, no
 * descriptor). *comm and *request are then NULL. The request reports all other errors, including
 * those of options and environment.
 */
INA_API enum ina_status ina_open_start(const struct ina_options *options, ina_comm **comm,
                                       ina_request **request);

/*
 * Closes a communicator and frees it, whatever it returns, except INA_ERR_ARGUMENT because the log
 * function called it. Collective: waits for all ranks to close, unless the communicator has failed
 * before. Finish all requests first: the library abandons unfinished ones, and the other ranks get
 * INA_ERR_PEER. An opening that is under way is stopped (ina_open_start()). comm may be NULL.
 */
INA_API enum ina_status ina_close(ina_comm *comm);

/*
 * Returns the text of the latest error of this communicator in any thread, or "" without an error.
 * Never NULL. The text is a copy that is valid until the same thread's next ina_error() on the
 * communicator, or until ina_close(). With progress_thread 0 it is valid until the next ina_error()
 * of any thread.
 */
INA_API const char *ina_error(const ina_comm *comm);

/*
 * Sets recv[i], on every rank, to the result of op over all ranks' send[i], for i < count.
 * Collective and blocking: all ranks call it with the same count, type and op.
 *
 * send, recv: count elements, at any address. They are the same (in place), or do not overlap. The
 * library writes only recv. If the buffers are registered, elements go from send to the wire and
 * from the wire to recv without a copy, with two exceptions: if the call is in place, and for the
 * last window of messages of every call, the library receives the aggregator's sums in its own
 * memory, checks them and then copies them. Other ranks may need these sums if the aggregator is
 * lost. If a machine has several ranks, the library copies elements to and from memory that these
 * share, and adds the machine's contributions first. It rounds a machine's sum of bfloat16 or
 * float16 once, and then sends it over the network like the elements of one rank.
 * count: 0 is allowed, and is compared with the other ranks' count like any other.
 * type, op: all ranks get the same bits. An int32 sum is two's complement, and ina_comm_stats()
 * counts overflows. A sum of floats is rounded to nearest, ties to even: float32 in each addition;
 * bfloat16 and float16 once, since the aggregator and the hosts add them as float32. The order of
 * the additions is fixed for each algorithm and count, but differs between the algorithms.
 * docs/protocol.md has the bound on the error of a sum. INA_MAX and INA_MIN are exact and the same
 * with every algorithm: -0 is less than +0, and a NaN among the operands makes the result a NaN.
 * Integers of b bits are added and multiplied modulo 2^b.
 *
 * INA_AVG is correct whenever the mean can be represented, even if the sum cannot: no intermediate
 * sum overflows. Averages of integers are exact, and rounded towards zero. Averages of floats are
 * rounded once more than a sum, to nearest, ties to even. Only the smallest floats lose more: let N
 * be the smallest power of two above the number of ranks; then a float32 below 2^-126 N counts as
 * the nearest multiple of 2^-149 N, and a float64 below 2^-1022 N as the nearest multiple of
 * 2^-1074 N. Averages of bfloat16, float16, uint16, int32 and uint32 take twice the bytes on the
 * network, those of uint8 and int8 four times, and those of int64 and uint64 twice among the hosts.
 * The library writes recv from the beginning of the call, with the form of the elements that it
 * sends. If that form has more bytes than recv, the library uses its own memory.
 *
 * Errors: INA_ERR_ARGUMENT leaves the communicator as it was. All ranks get any other error, each
 * in this call or its next one. The contents of recv are then undefined, and all further calls
 * return the same error. The text of INA_ERR_MISMATCH names two ranks and what each called.
 *
 * When the call returns, the buffers are the caller's again. The caller may free or unmap them
 * without telling the library, because the library keeps no registration for a later call. It
 * registers a buffer of more than 64 KiB for the call, and copies a shorter one through its own
 * memory; memory that was given to ina_register() needs neither. On a host of the lab (rdma_rxe,
 * User Mode Linux, where system calls are slow), to register and deregister a buffer takes about
 * 200 times as long as to copy 64 KiB, and 8 times as long as to copy 1 MiB. A buffer that the
 * device does not accept is copied too, which is slower, and the log says so once. Examples are
 * memory that is mapped from a file, and more memory than the process may lock (ulimit -l).
 *
 * Before it sends anything, the library reads a byte of each page of send, and reads and writes
 * back a byte of each page of recv. Of a buffer of more than 64 KiB it checks only the first page.
 * An address of another device (CUDA), or a hole, is an INA_ERR_ARGUMENT. A hole further on in a
 * longer buffer is an INA_ERR_MEMORY, which ends the communicator, if the library registers the
 * buffer. If it copies the whole buffer (several ranks on one machine, averages), the process ends
 * with SIGSEGV, as in any copy.
 */
INA_API enum ina_status ina_allreduce(ina_comm *comm, const void *send, void *recv, size_t count,
                                      enum ina_type type, enum ina_op op);

/*
 * Like ina_allreduce(), but returns immediately. The caller finishes *request with ina_wait(), or
 * with ina_test() until that reports it done. send and recv belong to the library until then. The
 * library carries out requests in the order in which they were started. With an aggregator there is
 * no pause between them, so several outstanding requests are faster than one after the other. A
 * request may send the data that an earlier one receives: it waits for the earlier one. The library
 * makes progress, and serves other ranks when the aggregator is lost, while the program is inside
 * ina_test() or ina_wait() of any request of the communicator. The first of several requests begins
 * in this call; the comment of ina_test() says how long that may take.
 *
 * Errors: INA_ERR_ARGUMENT, INA_ERR_MEMORY, or the error of a communicator that has failed.
 * *request is then NULL.
 */
INA_API enum ina_status ina_allreduce_start(ina_comm *comm, const void *send, void *recv,
                                            size_t count, enum ina_type type, enum ina_op op,
                                            ina_request **request);

/*
 * The other collectives. The rules of ina_allreduce() for memory, types, operations, errors and
 * registrations hold for them. The rules of ina_allreduce_start() hold for the _start calls;
 * ina_test() and ina_wait() finish those. The library carries out requests of all kinds in the
 * order in which they were started. All ranks call the same collectives in the same order, with the
 * same counts, types, operations and roots. If they do not, all ranks get INA_ERR_MISMATCH, whose
 * text names two ranks and what each called.
 *
 * The aggregator carries out broadcasts, barriers, and the sums, maxima and minima that it can
 * compute. The hosts carry out the rest. ina_comm_stats() counts the calls of each way.
 */

/*
 * Like ina_allreduce(), but rank r gets block r of the result only.
 * send: ranks * recv_count elements, the block of rank 0 first; recv: recv_count elements.
 * In place: recv is send + rank * recv_count elements; the other blocks stay unchanged.
 */
INA_API enum ina_status ina_reduce_scatter(ina_comm *comm, const void *send, void *recv,
                                           size_t recv_count, enum ina_type type, enum ina_op op);
INA_API enum ina_status ina_reduce_scatter_start(ina_comm *comm, const void *send, void *recv,
                                                 size_t recv_count, enum ina_type type,
                                                 enum ina_op op, ina_request **request);

/*
 * Copies the send of all ranks, that of rank 0 first, to recv at every rank, bit by bit.
 * send: send_count elements; recv: ranks * send_count elements.
 * In place: send is recv + rank * send_count elements.
 */
INA_API enum ina_status ina_all_gather(ina_comm *comm, const void *send, void *recv,
                                       size_t send_count, enum ina_type type);
INA_API enum ina_status ina_all_gather_start(ina_comm *comm, const void *send, void *recv,
                                             size_t send_count, enum ina_type type,
                                             ina_request **request);

/*
 * Copies the root's send to recv at every rank, bit by bit. The other ranks ignore send, which may
 * be NULL there. In place: send is recv; at the root the library then only reads that memory.
 */
INA_API enum ina_status ina_broadcast(ina_comm *comm, const void *send, void *recv, size_t count,
                                      enum ina_type type, int root);
INA_API enum ina_status ina_broadcast_start(ina_comm *comm, const void *send, void *recv,
                                            size_t count, enum ina_type type, int root,
                                            ina_request **request);

/*
 * Like ina_allreduce(), but only the root gets the result, in its recv. The other ranks ignore
 * recv, which may be NULL there. In place, at the root: send is recv.
 */
INA_API enum ina_status ina_reduce(ina_comm *comm, const void *send, void *recv, size_t count,
                                   enum ina_type type, enum ina_op op, int root);
INA_API enum ina_status ina_reduce_start(ina_comm *comm, const void *send, void *recv, size_t count,
                                         enum ina_type type, enum ina_op op, int root,
                                         ina_request **request);

/* Completes when all ranks have called it. */
INA_API enum ina_status ina_barrier(ina_comm *comm);
INA_API enum ina_status ina_barrier_start(ina_comm *comm, ina_request **request);

/*
 * A group: the library sends the requests that are started between these two calls together, at the
 * second one. Consecutive small all-reduces of the same type and operation share messages, which
 * saves most of the cost of many small calls, but copies their elements once more. If the order of
 * additions matters, the result is that of one all-reduce of all their elements; otherwise no
 * result changes a bit. Every rank groups the same calls. A group holds _start calls only, and none
 * of them finishes before the group ends: a call that waits returns INA_ERR_ARGUMENT and leaves the
 * group unchanged. With progress_thread a group holds the calls of the thread that started it, and
 * the same thread ends it.
 *
 * Errors: INA_ERR_ARGUMENT (a group within a group, an end without a beginning), INA_ERR_MEMORY;
 * ina_group_end() also returns the error of a communicator that has failed.
 */
INA_API enum ina_status ina_group_start(ina_comm *comm);
INA_API enum ina_status ina_group_end(ina_comm *comm);

/*
 * Makes as much progress as is possible without waiting. When the request has finished, *done
 * becomes 1, ina_test() returns the request's status and frees the request, which must not be used
 * again. Otherwise *done is 0, and ina_test() returns INA_OK.
 *
 * A call does at most the work of a few messages, with these exceptions. When the aggregator is
 * lost, or an error ends the communicator, it may block once for tens of milliseconds. A collective
 * begins in a call that starts or tests one, and ends in a call that tests one; those calls take
 * longer, in proportion to the bytes. At the beginning the kernel registers each buffer of more
 * than 64 KiB that was not given to ina_register(), in one system call each. If the library sends
 * another form of the elements than the caller's, it makes one pass over them at the beginning or
 * at the end. This holds for averages, broadcasts, all-gathers, groups, and reduces and
 * reduce-scatters that are not in place.
 */
INA_API enum ina_status ina_test(ina_request *request, int *done);

/*
 * Sets *fd to a file descriptor for poll(), select() or epoll. After ina_test() has reported that a
 * request is not done, the descriptor is readable when there is a reason to call ina_test() again,
 * and at least once a second. Get it before the first ina_test() that such a wait follows. It
 * belongs to the communicator: the caller must neither read nor close it.
 *
 * Errors: INA_ERR_ARGUMENT (also with progress_thread), INA_ERR_SYSTEM, or the error of a
 * communicator that has failed. *fd is then -1.
 */
INA_API enum ina_status ina_comm_fd(ina_comm *comm, int *fd);

/*
 * Waits until the request has finished, frees it, and returns its status. INA_ERR_ARGUMENT, without
 * waiting or freeing: the group of the request has not been ended, or the log function made the
 * call.
 */
INA_API enum ina_status ina_wait(ina_request *request);

/*
 * Registers memory until ina_deregister() or ina_close(). This is a hint: calls on buffers within
 * the memory need neither another registration nor a copy. Memory that the process cannot write is
 * registered for sending only.
 *
 * A registration holds the pages that the memory has at the time of the call. Until it ends, the
 * same pages must stay at these addresses. Otherwise results go to pages that the program does not
 * see. Do not free, unmap or remap the memory, nor use madvise(MADV_DONTNEED) on it. fork() is
 * allowed: on Linux 5.13 and later the parent keeps the pages.
 *
 * Errors: INA_ERR_ARGUMENT; INA_ERR_MEMORY, after which calls can still use the memory; or the
 * error of a communicator that has failed.
 */
INA_API enum ina_status ina_register(ina_comm *comm, void *memory, size_t bytes);

/*
 * Ends every registration by ina_register() that overlaps the given memory. Call it before freeing
 * or unmapping that memory. It is not an error if there is no such registration. Unfinished
 * requests keep the memory that they were given; other requests do not matter. The call never
 * waits. The device may hold the pages until the last sends are acknowledged, but no call uses
 * them.
 *
 * Errors: INA_ERR_ARGUMENT; INA_ERR_DEVICE, if the device does not release the memory. The pages
 * then stay registered until the communicator is closed, or until another ina_deregister().
 */
INA_API enum ina_status ina_deregister(ina_comm *comm, const void *memory, size_t bytes);

/*
 * Ends the communicator with INA_ERR_ABORTED at all ranks; the text is "rank 2 aborted: why". Any
 * thread may call it, even while another thread is in a call on the communicator: that call returns
 * within a second. If no thread is in a call, the abort takes effect in the next call, or
 * immediately with progress_thread. It also stops an opening (ina_open_start()). As after any
 * error, the program can then only call ina_close(), which does not wait for other ranks. comm and
 * why may be NULL.
 */
INA_API void ina_abort(ina_comm *comm, const char *why);

/*
 * Copies the communicator's statistics to *stats. size is sizeof(*stats) as the caller knows it. If
 * comm is NULL, all members are 0.
 */
INA_API void ina_comm_stats(const ina_comm *comm, struct ina_stats *stats, size_t size);

/*
 * Writes lines of text for people, which describe the state when the communicator was opened and
 * are the same on all ranks. They show the tree of the switches between the ranks, as far as these
 * report it, which switch sums which ports, and how all-reduces are done, or why not in a better
 * way. If machines have several ranks, each rail is a separate communicator in which machines take
 * the place of ranks; the lines describe this rank's rail, and are "" at a rank without one. With
 * several channels, the text has the tree of each channel, one after the other.
 *
 * Like snprintf(): writes at most size bytes including the terminating 0, and returns the number of
 * characters of the whole text; -1 if comm is NULL.
 */
INA_API int ina_comm_explain(const ina_comm *comm, char *text, size_t size);

/* Return this rank's number, and the number of ranks; -1 if comm is NULL. */
INA_API int ina_comm_rank(const ina_comm *comm);
INA_API int ina_comm_ranks(const ina_comm *comm);

#ifdef __cplusplus
}
#endif

#endif
