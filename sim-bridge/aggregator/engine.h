/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between a switch and its aggregator, which is the C model or the Verilated RTL. */
#ifndef INA_BRIDGE_ENGINE_H
#define INA_BRIDGE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/counters.h"
#include "model/report.h"

#ifdef __cplusplus
extern "C" {
#endif

struct engine;

/*
 * A frame leaves pipeline `port`; in virtual time it does so at engine->time_ns. The frame is valid
 * only during the call, and the callee must not put frames into the engine.
 */
typedef void engine_emit(void *context, unsigned port, const uint8_t *frame, size_t length);

enum engine_state {
	ENGINE_IDLE,    /* nothing to do */
	ENGINE_HOLDING, /* frames wait for frames of other ports; run() would not wait */
	ENGINE_BUSY,    /* more to do */
};

struct engine_operations {
	const char *kind; /* the name of this kind in `--aggregator` */

	/* A frame enters pipeline `port`. May emit frames immediately, or in the next run(). */
	void (*put)(struct engine *engine, unsigned port, const uint8_t *frame, size_t length);

	/*
	 * Does part of the pending work, short enough that the caller can serve its ports between
	 * calls. If it is cheaper to process frames together, may hold them back for a while.
	 */
	enum engine_state (*work)(struct engine *engine);

	/* Processes all frames, and emits everything that can be emitted. */
	void (*run)(struct engine *engine);

	/*
	 * Virtual time, instead of work() and run(): advances the engine's clock until the engine
	 * has emitted a frame, or has nothing to do before `until_ns`. Returns the time reached. A
	 * frame's first beat enters at the first clock edge after the frame's time. NULL: the
	 * engine has no clock and emits frames while they are put.
	 */
	uint64_t (*advance)(struct engine *engine, uint64_t until_ns);

	/* The time at which advance() would next turn the clock, in ns; UINT64_MAX: it is idle. */
	uint64_t (*next)(const struct engine *engine);

	/*
	 * A time-to-live has ended: jobs that have been silent since the last call expire. Emits
	 * the frames that follow from this.
	 */
	void (*age)(struct engine *engine);

	/* A quiet time has ended: the second call ends a quiet time that began before the first. */
	void (*tick)(struct engine *engine);

	/* An interval of the patience with silent flows has ended; again the second call counts. */
	void (*patience)(struct engine *engine);

	void (*read_counters)(const struct engine *engine, struct ina_counters *counters);

	/*
	 * Reads the job of context `index`, below engine->jobs. Returns false if the context is
	 * free. NULL: the engine has only counters.
	 */
	bool (*read_job)(const struct engine *engine, unsigned index, struct report_job *job);

	/*
	 * An operator evicts a job, like a reset for this job alone. Returns false if no context
	 * has it. NULL if read_job is.
	 */
	bool (*forget)(struct engine *engine, uint64_t job_id);

	/* Clock cycles since the engine was opened, or 0 if it has no clock. */
	uint64_t (*clocks)(const struct engine *engine);

	void (*close)(struct engine *engine);
};

/* The first member of the structure of each kind of engine. */
struct engine {
	const struct engine_operations *operations;
	unsigned ports;          /* count of pipelines */
	unsigned jobs;           /* contexts */
	unsigned window_packets; /* the largest window of a job */
	unsigned memory_packets; /* packets that a port can hold, for all jobs together */
	/* Virtual time: the caller sets it before put(); the engine sets it when it emits. */
	uint64_t time_ns;
	char error[200]; /* if not empty, the engine is stuck and does nothing any more */
};

/* The largest count of ports for which an engine can be opened. */
#define ENGINE_PORTS_MAX 32

struct engine_config {
	unsigned ports;      /* the engine has at least this many pipelines */
	unsigned number;     /* the switch's number in its fabric */
	unsigned level;      /* the switch's level; the lowest is 1 */
	uint32_t uplinks;    /* ports that lead to a higher level: bit p is port p */
	bool has_quiet_time; /* if false, the caller never calls tick() */
	bool has_patience;   /* if false, the caller never calls patience() */
	/* See struct engine; 0: the engine's default. */
	unsigned jobs, window_packets, memory_packets;
	unsigned quota; /* jobs with a missing rank that a port may have opened; 0: all but one */
	unsigned vlan_quota; /* jobs that one VLAN may have; 0: all */
	/* For each port, the priority of its JOINs without a trusted VLAN tag: 0 (lowest) to 7. */
	uint8_t port_priority[ENGINE_PORTS_MAX];
	uint32_t trusted_ports; /* ports whose VLAN tags in JOINs are trusted: bit p is port p */
	uint64_t clock_hz; /* clock rate in virtual time, if the engine has a clock; 0: real time */
	/* Receives the events of jobs, with the `context` of open(), if the engine has events. */
	report_tell *tell;
};

/*
 * Return NULL, with one line in `error`, if the engine cannot be opened. Not thread-safe. Close the
 * engine with engine->operations->close().
 */
struct engine *model_aggregator_open(const struct engine_config *config, engine_emit *emit,
                                     void *context, char *error, size_t error_bytes);
struct engine *rtl_aggregator_open(const struct engine_config *config, engine_emit *emit,
                                   void *context, char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
