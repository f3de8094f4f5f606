/* SPDX-License-Identifier: Apache-2.0 */
/* An aggregator as the switch sees it, be it the C model or the Verilated RTL. */
#ifndef INA_BRIDGE_ENGINE_H
#define INA_BRIDGE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/counters.h"

#ifdef __cplusplus
extern "C" {
#endif

struct engine;

/*
 * A frame leaves pipeline `port`, in virtual time at engine->time_ns; valid during the call, which
 * must not put frames.
 */
typedef void engine_emit(void *context, unsigned port, const uint8_t *frame, size_t length);

enum engine_state {
	ENGINE_IDLE,    /* nothing to do */
	ENGINE_HOLDING, /* frames wait for those of other ports: run() would do without */
	ENGINE_BUSY,    /* more to do */
};

struct engine_operations {
	const char *kind; /* as in `--aggregator` */

	/* A frame enters pipeline `port`. May emit at once, or at the next run. */
	void (*put)(struct engine *engine, unsigned port, const uint8_t *frame, size_t length);

	/*
	 * Does a part of what there is to do, short enough for others to have their turn. May hold
	 * frames back for a while where it is less work to take them together.
	 */
	enum engine_state (*work)(struct engine *engine);

	/* Emits all that can be. */
	void (*run)(struct engine *engine);

	/*
	 * Virtual time, in place of work() and run(): turns its clock until it has emitted
	 * something, or has nothing to do before `until_ns`, and returns how far it came. A frame's
	 * first beat enters at the first edge after its time. NULL: what is put is emitted at once.
	 */
	uint64_t (*advance)(struct engine *engine, uint64_t until_ns);

	/* When advance() would turn its clock for the first time; UINT64_MAX: it is idle. */
	uint64_t (*next)(const struct engine *engine);

	/* The jobs' time-to-live: those silent since the last call expire; emits what follows. */
	void (*age)(struct engine *engine);

	/* The end of a quiet time: two of them end one that began before. */
	void (*tick)(struct engine *engine);

	/* The end of a patience with silent flows, likewise. */
	void (*patience)(struct engine *engine);

	void (*read_counters)(const struct engine *engine, struct ina_counters *counters);

	/* Clocks so far, or 0 where there is no clock. */
	uint64_t (*clocks)(const struct engine *engine);

	void (*close)(struct engine *engine);
};

/* The first member of each kind's own structure. */
struct engine {
	const struct engine_operations *operations;
	unsigned ports; /* pipelines */
	unsigned jobs;
	unsigned window_packets; /* of a job at most */
	unsigned memory_packets; /* a port, of all jobs */
	uint64_t time_ns; /* virtual time: of what is put, set by the caller; of what is emitted */
	char error[200];  /* not empty: it is stuck, and does nothing any more */
};

/* With more, there is no engine. */
#define ENGINE_PORTS_MAX 32

struct engine_config {
	unsigned ports;      /* it has as many pipelines, or more */
	unsigned number;     /* of the switch in its fabric */
	unsigned level;      /* of the switch; 1: the lowest */
	uint32_t uplinks;    /* ports that lead to a higher level: bit p is port p */
	bool has_quiet_time; /* else there are no tick()s */
	bool has_patience;   /* else there are no patience()s */
	/* As struct engine has them; 0: its defaults. */
	unsigned jobs, window_packets, memory_packets;
	unsigned quota; /* jobs that a port may have opened and that lack a rank; 0: all but one */
	unsigned vlan_quota; /* jobs that one VLAN may have; 0: all */
	/* By port, of its JOINs whose VLAN tag does not count: 0, the lowest, to 7. */
	uint8_t port_priority[ENGINE_PORTS_MAX];
	uint32_t trusted_ports; /* whose JOINs' VLAN tags count: bit p is port p */
	uint64_t clock_hz; /* virtual time, of what has a clock; 0: it turns as fast as it can */
};

/*
 * NULL, with one line in `error`, where that is not possible. Not thread-safe. To be closed with
 * engine->operations->close().
 */
struct engine *model_aggregator_open(const struct engine_config *config, engine_emit *emit,
                                     void *context, char *error, size_t error_bytes);
struct engine *rtl_aggregator_open(const struct engine_config *config, engine_emit *emit,
                                   void *context, char *error, size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
