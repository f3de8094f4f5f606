// SPDX-License-Identifier: Apache-2.0
//
// The Verilated RTL as an engine, in each of the sizes for which it is built.

#include "engine.h"

#include <cstdio>
#include <memory>
#include <new>
#include <stdexcept>

#include "Vina_top_2.h"
#ifndef INA_WAVES // waves are recorded with a small RTL only
#include "Vina_top_4.h"
#include "Vina_top_8.h"
#include "Vina_top_16.h"
#endif
#include "rtl_pipelines.hpp"

namespace
{

// The defaults of ina_top.
constexpr unsigned JOB_COUNT = 16;
constexpr unsigned SLOT_COUNT = 128;
constexpr unsigned MEMORY = 512;
#ifdef INA_WAVES
constexpr unsigned PORTS_MOST = 2;
#else
constexpr unsigned PORTS_MOST = 16; // the maximum of ina_top
#endif

static_assert(sizeof(ina_counters) == INA_COUNTER_COUNT * sizeof(uint64_t),
              "counters lie side by side, as in the RTL's output");

struct RtlEngine {
	engine base; // the first member, because the C side sees only this one
	std::unique_ptr<Pipelines> pipelines;
};

RtlEngine *rtl_of(engine *base)
{
	return reinterpret_cast<RtlEngine *>(base);
}

const RtlEngine *rtl_of(const engine *base)
{
	return reinterpret_cast<const RtlEngine *>(base);
}

void put(engine *base, unsigned port, const uint8_t *frame, size_t length)
{
	if (!base->error[0])
		rtl_of(base)->pipelines->put(port, frame, length, base->time_ns);
}

void look_whether_stuck(engine *base)
{
	if (!rtl_of(base)->pipelines->is_stuck())
		return;
	std::snprintf(base->error, sizeof(base->error),
	              "the RTL is stuck: busy for %llu clocks, and no beat went in or out; this is "
	              "a bug in the RTL: use --aggregator model",
	              static_cast<unsigned long long>(STUCK_CLOCKS));
}

engine_state work(engine *base)
{
	if (base->error[0])
		return ENGINE_IDLE;
	const engine_state state = rtl_of(base)->pipelines->work();

	look_whether_stuck(base);
	return state;
}

void run(engine *base)
{
	if (base->error[0])
		return;
	rtl_of(base)->pipelines->run();
	look_whether_stuck(base);
}

uint64_t advance(engine *base, uint64_t until_ns)
{
	if (base->error[0])
		return until_ns;
	const uint64_t reached_ns = rtl_of(base)->pipelines->advance(until_ns);

	look_whether_stuck(base);
	return reached_ns;
}

// Packets that were put earlier count for their jobs, so they are processed first.
void age(engine *base)
{
	run(base);
	if (base->error[0])
		return;
	rtl_of(base)->pipelines->age(base->time_ns);
	run(base);
}

// Packets that were put earlier arrived before the tick, so they are processed first.
void tick(engine *base)
{
	run(base);
	if (!base->error[0])
		rtl_of(base)->pipelines->tick();
}

void patience(engine *base)
{
	run(base);
	if (!base->error[0])
		rtl_of(base)->pipelines->patience();
}

void read_counters(const engine *base, ina_counters *counters)
{
	rtl_of(base)->pipelines->read_counters(counters);
}

uint64_t next(const engine *base)
{
	return base->error[0] ? UINT64_MAX : rtl_of(base)->pipelines->next_ns();
}

uint64_t clocks(const engine *base)
{
	return rtl_of(base)->pipelines->clocks;
}

void close_rtl(engine *base)
{
	delete rtl_of(base);
}

// The RTL does not tell of its jobs.
const engine_operations operations = {"rtl",   put,     work,   run,      advance,
                                      next,    age,     tick,   patience, read_counters,
                                      nullptr, nullptr, clocks, close_rtl};

template <class Top, unsigned PORTS>
std::unique_ptr<Pipelines> make(RtlEngine *rtl, const engine_config &config, engine_emit *emit,
                                void *context)
{
	if (config.clock_hz == 0)
		return std::make_unique<InStep<Top, PORTS>>(config, emit, context);
	return std::make_unique<Timed<Top, PORTS>>(config, &rtl->base.time_ns, emit, context);
}

// Returns the smallest size that has enough ports, or nullptr if none has.
std::unique_ptr<Pipelines> make_pipelines(RtlEngine *rtl, const engine_config &config,
                                          engine_emit *emit, void *context)
{
	if (config.ports <= 2)
		return make<Vina_top_2, 2>(rtl, config, emit, context);
#ifndef INA_WAVES
	if (config.ports <= 4)
		return make<Vina_top_4, 4>(rtl, config, emit, context);
	if (config.ports <= 8)
		return make<Vina_top_8, 8>(rtl, config, emit, context);
	if (config.ports <= 16)
		return make<Vina_top_16, 16>(rtl, config, emit, context);
#endif
	return nullptr;
}

} // namespace

extern "C" engine *rtl_aggregator_open(const engine_config *config, engine_emit *emit,
                                       void *context, char *error, size_t error_bytes)
{
	try {
		auto rtl = std::make_unique<RtlEngine>();

		const auto differs = [](unsigned wanted, unsigned built) {
			return wanted != 0 && wanted != built;
		};

		if (differs(config->jobs, JOB_COUNT) || differs(config->memory_packets, MEMORY) ||
		    differs(config->window_packets, SLOT_COUNT)) {
			std::snprintf(error, error_bytes,
			              "the RTL is built with --jobs %u, --packet-memory %u and "
			              "--window %u: for other values use --aggregator model",
			              JOB_COUNT, MEMORY, SLOT_COUNT);
			return nullptr;
		}
		rtl->pipelines = make_pipelines(rtl.get(), *config, emit, context);
		if (!rtl->pipelines) {
			std::snprintf(error, error_bytes,
			              "the RTL is built for %u ports at most, not %u: use "
			              "--aggregator model",
			              PORTS_MOST, config->ports);
			return nullptr;
		}
		rtl->base.operations = &operations;
		rtl->base.ports = rtl->pipelines->ports();
		rtl->base.jobs = JOB_COUNT;
		rtl->base.window_packets = SLOT_COUNT;
		rtl->base.memory_packets = MEMORY;
		rtl->base.time_ns = 0;
		rtl->base.error[0] = '\0';
		return &rtl.release()->base;
	} catch (const std::runtime_error &failure) {
		std::snprintf(error, error_bytes, "%s", failure.what());
		return nullptr;
	} catch (const std::bad_alloc &) {
		std::snprintf(error, error_bytes, "the RTL with %u ports: out of memory",
		              config->ports);
		return nullptr;
	}
}
