/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of ina-bridge that ina-lab also has and passes on to it. Both share one table, one
 * way to read the values, and the wording of errors.
 */
#ifndef INA_COMMON_BRIDGE_OPTIONS_H
#define INA_COMMON_BRIDGE_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	/*
	 * The most hosts in a fabric; HOST is a smaller number. It is the largest count that has
	 * been tried: more do not fit into 24 GiB of memory.
	 */
	BRIDGE_OPTIONS_HOSTS_MAX = 256,
	/* Contexts of an aggregator, unless --jobs says otherwise: the RTL is built for as many. */
	BRIDGE_OPTIONS_JOBS_DEFAULT = 16,
	/* Without --patience and --idle-ttl. */
	BRIDGE_OPTIONS_PATIENCE_MS_DEFAULT = 300,
	BRIDGE_OPTIONS_IDLE_TTL_MS_DEFAULT = 4000,
	BRIDGE_OPTIONS_EXIT_USAGE = 2,
};

/*
 * X(name in C, what --at can set it for (CABLE or SWITCH; ALL: --at cannot), name, argument, group
 * in --help, kind, least, most, help). The kinds:
 *
 *   TEXT        anything
 *   CHOICE      one of the argument's words; its index among them
 *   WHOLE       a whole number
 *   REAL        a number
 *   SECONDS     0, or a number of at least 0.001; in ns
 *   TIME        a number followed by ns, us, ms or s; in ns
 *   QUANTITY    a number, optionally followed by k, M or G; sets both `whole` and `real`
 *   HOST_TIME   HOST:TIME
 *   HOST_TIMES  HOST:TIME or HOST:TIME:TIME
 */
#define BRIDGE_OPTIONS_TIME_MOST_NS 1000000000000000u
#define BRIDGE_OPTIONS(X)                                                                          \
	X(TOPOLOGY, ALL, "topology", "FABRIC", 2, TEXT, 0, 0,                                      \
	  "Several switches: leaf-spine:LEAVESxHOSTS, tree:AxB...xHOSTS (A switches below the "    \
	  "top, B below each of these), clos:SPINESxLEAVESxHOSTS, fat-tree:K, or a file "          \
	  "(lab/README.md)")                                                                       \
	X(AT, ALL, "at", "NAME,OPTION=VALUE[,...]", 2, TEXT, 0, 0,                                 \
	  "Sets an option for one cable or switch, such as leaf3:up0,loss-up=0.01; a host's "      \
	  "cable is named by the host's number; may be repeated")                                  \
	X(AGGREGATOR, SWITCH, "aggregator", "rtl|model|off", 2, CHOICE, 0, 0,                      \
	  "The aggregator: the Verilated RTL (default), its reference model in C, or none (a "     \
	  "plain switch)")                                                                         \
	X(STEER, SWITCH, "steer", "marked|all", 2, CHOICE, 0, 0,                                   \
	  "RoCE SENDs that pass through the aggregator: those with the DSCP of aggregation "       \
	  "traffic (default), or all")                                                             \
	X(JOBS, SWITCH, "jobs", "N", 2, WHOLE, 1, 64,                                              \
	  "Number of jobs that the aggregator holds at a time (default 16; other values: the "     \
	  "model only)")                                                                           \
	X(MEMORY, SWITCH, "packet-memory", "PACKETS", 2, WHOLE, 8, 32768,                          \
	  "Packets of memory per port that all jobs share: a multiple of 8, at least 8 for each "  \
	  "job (default 512; other values: the model only)")                                       \
	X(WINDOW, SWITCH, "window", "PACKETS", 2, WHOLE, 8, 4096,                                  \
	  "Largest number of packets granted to a job: a power of two, no more than "              \
	  "--packet-memory (default 128; other values: the model only)")                           \
	X(QUOTA, SWITCH, "quota", "N", 2, WHOLE, 1, 64,                                            \
	  "Number of incomplete jobs that one port may have opened with its JOINs (default: all "  \
	  "contexts but one)")                                                                     \
	X(VLAN_QUOTA, SWITCH, "vlan-quota", "N", 2, WHOLE, 1, 64,                                  \
	  "Number of jobs that the hosts of one VLAN may have at a time (default: all contexts); " \
	  "JOINs without a trusted VLAN tag count as one VLAN")                                    \
	X(TRUST_TAGS, CABLE, "trust-tags", "no|yes", 2, CHOICE, 0, 0,                              \
	  "Whether the VLAN tag of a JOIN from this cable sets the VLAN and the priority of its "  \
	  "job (default no: a sender can write any tag)")                                          \
	X(PORT_PRIORITY, CABLE, "port-priority", "N", 2, WHOLE, 0, 7,                              \
	  "Priority of a job whose JOINs come from this cable without a trusted VLAN tag "         \
	  "(default 0, the lowest)")                                                               \
	X(JOB_TTL, SWITCH, "job-ttl", "SECONDS", 2, SECONDS, 0, 1000000,                           \
	  "The aggregator forgets a job that is silent for this long, at the latest after twice "  \
	  "this time; must exceed the hosts' ACK timeout (default 60; 0: never)")                  \
	X(IDLE_TTL, SWITCH, "idle-ttl", "SECONDS", 2, SECONDS, 0, 1000000,                         \
	  "The same while JOINs find no free context (default 4; if 0 or more than --job-ttl, "    \
	  "--job-ttl always applies)")                                                             \
	X(QUIET, SWITCH, "quiet", "MILLISECONDS", 2, WHOLE, 0, 1000000,                            \
	  "The aggregator drops marked SENDs for this long after its start or reset, up to twice " \
	  "this time; must be three times the longest delay of a packet in the network (default "  \
	  "10; 0: off)")                                                                           \
	X(PATIENCE, SWITCH, "patience", "MILLISECONDS", 2, WHOLE, 0, 1000000,                      \
	  "If other packets use the addresses of a flow, the aggregator gives the flow up after "  \
	  "it was silent for this long, at the latest after twice this time; must exceed two ACK " \
	  "timeouts of the hosts (default 300; 0: immediately)")                                   \
	X(RESET_EVERY, SWITCH, "reset-every", "FRAMES", 3, WHOLE, 1, UINT64_MAX,                   \
	  "Resets the aggregator, which loses all state, after every FRAMES frames that it "       \
	  "receives")                                                                              \
	X(OFF_AFTER, SWITCH, "off-after", "FRAMES", 3, WHOLE, 1, UINT64_MAX,                       \
	  "Removes the aggregator after it has received this many frames")                         \
	X(STUCK_AFTER, SWITCH, "stuck-after", "FRAMES", 3, WHOLE, 1, UINT64_MAX,                   \
	  "The aggregator drops everything after it has received this many frames")                \
	X(LOSS_UP, CABLE, "loss-up", "P", 3, REAL, 0, 1,                                           \
	  "Probability that a frame is lost on its way to the switch")                             \
	X(LOSS_DOWN, CABLE, "loss-down", "P", 3, REAL, 0, 1,                                       \
	  "Probability that a frame is lost on its way to a host")                                 \
	X(DUPLICATE, CABLE, "duplicate", "P", 3, REAL, 0, 1,                                       \
	  "Probability that a frame is duplicated, in each direction")                             \
	X(REORDER, CABLE, "reorder", "P", 3, REAL, 0, 1,                                           \
	  "Probability that a frame is delayed until one or two others have passed, or for 1 ms, " \
	  "in each direction")                                                                     \
	X(CORRUPT, CABLE, "corrupt", "P", 3, REAL, 0, 1,                                           \
	  "Probability that one bit after the Ethernet header is flipped, in each direction")      \
	X(DELAY, CABLE, "delay", "MICROSECONDS", 3, WHOLE, 0, 10000000,                            \
	  "Delay of every frame, in each direction")                                               \
	X(SEED, ALL, "seed", "S", 3, WHOLE, 0, UINT64_MAX,                                         \
	  "Seed of all random faults (default 1)")                                                 \
	X(PCAP, ALL, "pcap", "FILE", 4, TEXT, 0, 0,                                                \
	  "Captures every frame as it enters and as it leaves the switch, for Wireshark")          \
	X(PCAP_CABLE, ALL, "pcap-cable", "NAME[=FILE]", 4, TEXT, 0, 0,                             \
	  "--pcap captures at this cable only, such as leaf3:up0 or a host's number; with =FILE, " \
	  "captures this cable in a separate file, as whole Ethernet frames for Wireshark and "    \
	  "tcpreplay; may be repeated")                                                            \
	X(PCAP_LIMIT, ALL, "pcap-limit", "MIB", 4, WHOLE, 1, 1 << 20,                              \
	  "Ends each capture at this size (default 256)")                                          \
	X(STATS, ALL, "stats", "FILE", 4, TEXT, 0, 0,                                              \
	  "Writes the counters of the switch and the aggregator to FILE at the end, as JSON")      \
	X(LINK_RATE, CABLE, "link-rate", "BITS", 7, QUANTITY, 1000000, 1000000000000u,             \
	  "Rate of each cable in bits per second (default 100G)")                                  \
	X(LINK_DELAY, CABLE, "link-delay", "TIME", 7, TIME, 0, BRIDGE_OPTIONS_TIME_MOST_NS,        \
	  "Delay of each cable (default 500ns)")                                                   \
	X(SWITCH_DELAY, SWITCH, "switch-delay", "TIME", 7, TIME, 0, BRIDGE_OPTIONS_TIME_MOST_NS,   \
	  "Delay of the switch, in addition to receiving the whole frame and queueing (default "   \
	  "300ns)")                                                                                \
	X(RTL_CLOCK, SWITCH, "rtl-clock", "HZ", 7, QUANTITY, 1000000, 10000000000u,                \
	  "Clock of the aggregator's RTL (default 250M)")                                          \
	X(QUEUE, CABLE, "queue", "BYTES", 7, QUANTITY, 0, 1000000000000u,                          \
	  "Largest queue of each switch port, which drops what exceeds it (default 2M; 0: no "     \
	  "limit)")                                                                                \
	X(ECN_THRESHOLD, CABLE, "ecn-threshold", "BYTES", 7, QUANTITY, 0, 1000000000000u,          \
	  "Queue length above which frames are marked with congestion experienced (default 0: "    \
	  "never)")                                                                                \
	X(HOST_PACKET_COST, ALL, "host-packet-cost", "NS", 7, QUANTITY, 0, 1000000000,             \
	  "Processor time of a host for each packet that it sends or receives (default 0)")        \
	X(HOST_BYTE_COST, ALL, "host-byte-cost", "NS", 7, QUANTITY, 0, 1000000,                    \
	  "Processor time of a host for each byte of these packets (default 0)")                   \
	X(KILL, ALL, "kill", "HOST:TIME", 7, HOST_TIME, 0, BRIDGE_OPTIONS_TIME_MOST_NS,            \
	  "A host dies this long after the start of the run")                                      \
	X(CUT, ALL, "cut", "HOST:TIME[:TIME]", 7, HOST_TIMES, 0, BRIDGE_OPTIONS_TIME_MOST_NS,      \
	  "Cuts a host's cable at the first time and mends it at the second (default: never)")     \
	X(CUT_AT, CABLE, "cut-at", "TIME", 7, TIME, 0, BRIDGE_OPTIONS_TIME_MOST_NS,                \
	  "Cuts every cable, or one with --at, this long after the start of the run")              \
	X(MEND_AT, CABLE, "mend-at", "TIME", 7, TIME, 0, BRIDGE_OPTIONS_TIME_MOST_NS,              \
	  "Mends the cables that --cut-at cut, this long after the start of the run (default: "    \
	  "never)")                                                                                \
	X(RESET_AT, SWITCH, "reset-at", "TIME", 7, TIME, 0, BRIDGE_OPTIONS_TIME_MOST_NS,           \
	  "Resets the aggregator this long after the start of the run; may be repeated")

enum bridge_option_name {
#define X(here, ...) BRIDGE_OPTION_##here,
	BRIDGE_OPTIONS(X)
#undef X
	        BRIDGE_OPTION_COUNT
};

/* Whether an option is for the whole fabric, or for each cable or each switch separately. */
enum bridge_option_scope { BRIDGE_OPTION_OF_ALL, BRIDGE_OPTION_OF_CABLE, BRIDGE_OPTION_OF_SWITCH };

/* An option of the command line, with its value. */
struct bridge_option {
	enum bridge_option_name name;
	const char *dashed; /* "--loss-up" */
	char *text;         /* its value as written */
	bool is_virtual;    /* it applies in virtual time only */
	enum bridge_option_scope scope;
	uint64_t whole; /* the value, for all kinds except TEXT and REAL */
	double real;    /* the value, for REAL and QUANTITY */
	uint64_t until; /* for HOST_TIMES, the second time, or UINT64_MAX if there is only one */
	unsigned host;  /* for HOST_TIME and HOST_TIMES */
};

/* The input of bridge_options_argp: a function to call with each option that has a valid value. */
struct bridge_options_input {
	void (*take)(void *context, struct argp_state *state, const struct bridge_option *option);
	void *context;
};

/* A child parser. An invalid value ends the program, with one line on stderr. */
extern const struct argp bridge_options_argp;

/* Reads the value of an option that is not in the table, "--start-delay", of kind HOST_TIME. */
void bridge_options_read_host_time(const struct argp_state *state, const char *dashed, char *text,
                                   struct bridge_option *option);

/*
 * Reads the value of the option with this name, which has no dashes. Returns false, with one line
 * in `error`, if there is no such option or its value is invalid.
 */
bool bridge_options_read(const char *name, char *text, struct bridge_option *option, char *error,
                         size_t error_bytes);

#endif
