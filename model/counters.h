/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters of the aggregator, in the order that the model and the RTL share. rtl/ina_pkg.sv
 * has the same list; a counter's position here is its position there.
 */
#ifndef INA_COUNTERS_H
#define INA_COUNTERS_H

#include <stdint.h>

#define INA_COUNTERS(X)                                                                            \
	X(frames_in, "frames that entered the aggregator")                                         \
	X(frames_passed, "frames that left unchanged: no aggregation traffic, refusals")           \
	X(icrc_dropped, "frames of known flows dropped for a wrong iCRC or a length that lies")    \
	X(packets_taken, "packets taken into a queue")                                             \
	X(packets_joined, "packets whose payload went into a sum, counted over all ranks")         \
	X(bytes_joined, "payload bytes of packets_joined, headers and trailers of messages too")   \
	X(packets_raw, "packets of broken jobs sent on with their own payload")                    \
	X(duplicates_answered, "retransmissions answered with the sum from the history")           \
	X(duplicates_waiting, "retransmissions dropped because the first copy waits in the queue") \
	X(duplicates_old, "retransmissions older than the history: a probe in their place")        \
	X(gaps, "packets past a gap: a probe draws the receiver's NAK in their place")             \
	X(no_room_dropped, "packets dropped for want of room")                                     \
	X(joins_granted, "JOINs that learned a flow")                                              \
	X(joins_refused, "JOINs passed unchanged")                                                 \
	X(jobs_opened, "jobs that got a context")                                                  \
	X(jobs_closed, "jobs whose context was freed")                                             \
	X(jobs_broken, "jobs that broke")                                                          \
	X(ecn_marked, "frames sent with congestion experienced that came without it")              \
	X(jobs_expired, "jobs of which nothing came for the time-to-live")                         \
	X(answers_dropped, "answers dropped because the sum left the history before their turn")   \
	X(answers_differ, "retransmissions dropped because their length is not their sum's")       \
	X(suspects_dropped, "packets of a known flow's addresses that cannot be its own, dropped") \
	X(elsewhere_dropped, "packets dropped because their flow is known at another port")        \
	X(joins_held, "JOINs dropped because their port has opened its quota of jobs")             \
	X(quiet_dropped, "marked SENDs dropped in the quiet time after a reset")                   \
	X(contexts_lacked, "JOINs passed unchanged because no context is free")

struct ina_counters {
#define X(name, meaning) uint64_t name;
	INA_COUNTERS(X)
#undef X
};

#define X(name, meaning) +1
enum { INA_COUNTER_COUNT = 0 INA_COUNTERS(X) };
#undef X

#endif
