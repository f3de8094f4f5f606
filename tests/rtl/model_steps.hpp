// SPDX-License-Identifier: Apache-2.0
//
// The C model's aggregator, step by step, with undo of one step.

#ifndef INA_MODEL_STEPS_HPP
#define INA_MODEL_STEPS_HPP

#include "bench.hpp"

extern "C" {
#include "model/aggregator.h"
}

namespace bench
{

struct PortFrame {
	unsigned port;
	Bytes frame;
};

/// To undo a step, a new aggregator repeats all earlier ones: the model's state is not copied.
class ModelSteps
{
      public:
	std::vector<PortFrame> out; // frames that left in the last step

	explicit ModelSteps(const aggregator_config &wanted) : config(wanted)
	{
		open();
	}
	ModelSteps(const ModelSteps &) = delete;
	ModelSteps &operator=(const ModelSteps &) = delete;
	~ModelSteps()
	{
		aggregator_close(model);
	}

	void put(const std::vector<PortFrame> &frames)
	{
		step({Step::PUT, frames});
	}
	void age()
	{
		step({Step::AGE, {}});
	}
	void tick()
	{
		step({Step::TICK, {}});
	}
	void patience()
	{
		step({Step::PATIENCE, {}});
	}
	void reset()
	{
		aggregator_close(model);
		steps.clear();
		open();
	}
	void undo()
	{
		aggregator_close(model);
		steps.pop_back();
		open();
		for (const Step &before : steps)
			take(before);
	}
	uint64_t counter(unsigned index) const
	{
		uint64_t values[INA_COUNTER_COUNT];

		std::memcpy(values, aggregator_counters(model), sizeof(values));
		return values[index];
	}

      private:
	struct Step {
		enum { PUT, AGE, TICK, PATIENCE } kind;
		std::vector<PortFrame> frames;
	};

	const aggregator_config config;
	aggregator *model = nullptr;
	std::vector<Step> steps; // all steps since its reset

	void open()
	{
		model = aggregator_open(&config, on_frame, this);
		CHECK(model, "no memory for the model");
		out.clear();
	}
	void step(const Step &next)
	{
		steps.push_back(next);
		take(next);
	}
	void take(const Step &step)
	{
		out.clear();
		for (const PortFrame &in : step.frames)
			aggregator_put(model, in.port, in.frame.data(), in.frame.size());
		if (step.kind == Step::AGE)
			aggregator_age(model);
		if (step.kind == Step::TICK)
			aggregator_tick(model);
		if (step.kind == Step::PATIENCE)
			aggregator_patience(model);
	}
	static void on_frame(void *context, unsigned port, const uint8_t *frame, size_t length)
	{
		static_cast<ModelSteps *>(context)->out.push_back({port, {frame, frame + length}});
	}
};

} // namespace bench

#endif
