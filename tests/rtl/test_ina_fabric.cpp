// SPDX-License-Identifier: Apache-2.0
//
// ina_top against the C model in whole fabrics: the engine of tests/fabric's switches, each of
// which is the RTL and the model. A frame that enters is given to both, and the RTL turns its clock
// until it is idle. What leaves are the same frames at the same ports, and the counters are alike.

#include "aggregator_rtl.hpp"

#include <string>

extern "C" {
#include "tests/fabric/engine.h"
}

using bench::AggregatorRtl;
using bench::Bytes;
using bench::Random;

namespace
{

constexpr unsigned PORTS = INA_PORT_COUNT;

const char *const counter_names[] = {
#define X(name, meaning) #name,
        INA_COUNTERS(X)
#undef X
};

/// The same frames in the same order, but for a frame that passes unchanged: it goes another way,
/// and may overtake the packets that a breaking job gives free.
bool is_before(const Bytes &a, const Bytes &b, const Bytes &input)
{
	return a == input && b != input;
}

/// Where several jobs expire at once, each has a QPN of its own.
bool is_flow_before(const Bytes &a, const Bytes &b)
{
	return bench::get_be32(a, bench::form_of(a).bth() + 4) <
	       bench::get_be32(b, bench::form_of(b).bth() + 4);
}

} // namespace

extern "C" const struct engine_size engine_size = {INA_PORT_COUNT, INA_JOB_COUNT, INA_SLOT_COUNT};

struct engine {
	engine(const aggregator_config &wanted, aggregator_emit *to, void *to_context,
	       uint64_t of_bed)
	    : config(wanted), emit(to), context(to_context), seed(of_bed),
	      random(of_bed + wanted.place.id), rtl(random, wanted.has_quiet_time)
	{
		rtl.place(config.place.level, config.place.uplinks, config.place.id);
		rtl.gap_percent = random.chance(30) ? 20 : 0;
		rtl.stall_percent = random.chance(30) ? 20 : 0;
		open_model();
	}
	engine(const engine &) = delete;
	engine &operator=(const engine &) = delete;
	~engine()
	{
		aggregator_close(model);
	}

	void put(unsigned port, const uint8_t *bytes, size_t length)
	{
		const Bytes frame(bytes, bytes + length);

		frames++;
		aggregator_put(model, port, bytes, length);
		rtl.in[port].push_back(frame);
		compare(frame);
		give();
	}

	void age()
	{
		aggregator_age(model);
		rtl.age();
		compare({});
		give();
	}

	void tick()
	{
		aggregator_tick(model);
		rtl.tick();
		compare({});
	}

	void reset()
	{
		aggregator_close(model);
		open_model();
		rtl.reset();
		compare({});
	}

      private:
	const aggregator_config config;
	aggregator_emit *const emit;
	void *const context;
	const uint64_t seed;
	Random random;
	AggregatorRtl rtl;
	aggregator *model = nullptr;
	struct Out {
		unsigned port;
		Bytes frame;
	};
	std::vector<Out> expected;
	uint64_t frames = 0;

	void open_model()
	{
		model = aggregator_open(&config, on_model_frame, this);
		CHECK(model, "no memory for the model");
	}

	static void on_model_frame(void *context, unsigned port, const uint8_t *frame,
	                           size_t length)
	{
		static_cast<engine *>(context)->expected.push_back({port, {frame, frame + length}});
	}

	/// On their way, in the model's order.
	void give()
	{
		for (const Out &out : expected)
			emit(context, out.port, out.frame.data(), out.frame.size());
		expected.clear();
	}

	void compare(const Bytes &input)
	{
		settle();
		for (unsigned p = 0; p < PORTS; p++) {
			compare_port(p, input);
			rtl.out[p].clear();
		}
		compare_counters();
	}

	void settle()
	{
		const uint64_t end = rtl.clock() + 100000;

		do {
			rtl.step();
			CHECK(rtl.clock() < end, "%s: busy for ever", where().c_str());
		} while (!rtl.is_idle());
	}

	void compare_port(unsigned p, const Bytes &input) const
	{
		std::vector<Bytes> want, got;

		for (const Out &out : expected)
			if (out.port == p)
				want.push_back(out.frame);
		for (const auto &out : rtl.out[p])
			got.push_back(out.frame);
		for (auto *frames : {&want, &got})
			std::stable_sort(frames->begin(), frames->end(),
			                 [&input](const Bytes &a, const Bytes &b) {
				                 return input.empty() ? is_flow_before(a, b)
				                                      : is_before(a, b, input);
			                 });
		for (size_t i = 0; i < want.size() && i < got.size(); i++)
			compare_frame(p, i, want[i], got[i]);
		CHECK(got.size() == want.size(), "%s: port %u: %zu frames out, not %zu",
		      where().c_str(), p, got.size(), want.size());
	}

	void compare_frame(unsigned p, size_t index, const Bytes &want, const Bytes &got) const
	{
		CHECK(got.size() == want.size(), "%s: port %u, out %zu: %zu bytes, not %zu",
		      where().c_str(), p, index, got.size(), want.size());
		for (size_t at = 0; at < want.size(); at++)
			CHECK(got[at] == want[at],
			      "%s: port %u, out %zu: byte %zu of %zu is %02x, not %02x",
			      where().c_str(), p, index, at, want.size(), got[at], want[at]);
	}

	void compare_counters() const
	{
		uint64_t want[INA_COUNTER_COUNT];

		std::memcpy(want, aggregator_counters(model), sizeof(want));
		for (unsigned i = 0; i < INA_COUNTER_COUNT; i++)
			CHECK(rtl.counter(i) == want[i], "%s: %s is %llu, not %llu",
			      where().c_str(), counter_names[i],
			      static_cast<unsigned long long>(rtl.counter(i)),
			      static_cast<unsigned long long>(want[i]));
	}

	std::string where() const
	{
		return "seed " + std::to_string(seed) + ": switch " +
		       std::to_string(config.place.id) + " of level " +
		       std::to_string(config.place.level) + ", behind its frame " +
		       std::to_string(frames);
	}
};

extern "C" engine *engine_open(const aggregator_config *config, aggregator_emit *emit,
                               void *context, uint64_t seed)
{
	return new engine(*config, emit, context, seed);
}

extern "C" void engine_close(engine *engine)
{
	delete engine;
}

extern "C" void engine_put(engine *engine, unsigned port, const uint8_t *frame, size_t length)
{
	engine->put(port, frame, length);
}

extern "C" void engine_age(engine *engine)
{
	engine->age();
}

extern "C" void engine_tick(engine *engine)
{
	engine->tick();
}

extern "C" void engine_reset(engine *engine)
{
	engine->reset();
}
