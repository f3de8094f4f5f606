// SPDX-License-Identifier: Apache-2.0
//
// ina_top against the C model in whole fabrics. This is the engine of the switches of tests/fabric,
// and it contains both the RTL and the model. Both receive every frame that enters, and the RTL
// runs its clock until it is idle. Then the same frames have left at the same ports, and the
// counters are equal.
//
// Several frames may enter the RTL at the same time, each by a separate port. The RTL chooses their
// order, and there must be an order in which the model does the same. If the model took them in
// another order, a new model is led to the same state to undo that. A TRACE comes now and then.

#include "aggregator_rtl.hpp"
#include "counters.hpp"
#include "model_steps.hpp"
#include "wire/ina_wire.h"

#include <numeric>
#include <string>

extern "C" {
#include "tests/fabric/engine.h"
}

using bench::AggregatorRtl;
using bench::Bytes;
using bench::ModelSteps;
using bench::PortFrame;
using bench::Random;

extern "C" const struct engine_size engine_size = {INA_PORT_COUNT, INA_JOB_COUNT, INA_MEMORY,
                                                   INA_SLOT_COUNT, INA_GRAIN,     3};

namespace
{

constexpr unsigned PORTS = INA_PORT_COUNT;
constexpr uint64_t BUSY_CLOCKS = 100000; // a limit for a clock that never stops
constexpr unsigned IDLE_CLOCKS = 4;
/// Another frame of the same packet: the port determines its flow.
bool is_duplicate(const Bytes &a, const Bytes &b)
{
	const auto psn = [](const Bytes &frame) {
		return bench::get_be32(frame, bench::form_of(frame).bth() + 8) & 0xFFFFFF;
	};

	return !a.empty() && !b.empty() && psn(a) == psn(b);
}

/// Sorts the frames that leave the port by which `input` came in by their flows, because several
/// jobs may expire at the same time; each has its own QPN. A frame that passes unchanged takes
/// another way than waiting frames, and may overtake them. So may a retransmitted LEAVE overtake
/// its sum when its job is closed. If frames of other ports came too, their results may overtake
/// the answer.
std::vector<Bytes> sorted(std::vector<Bytes> frames, const Bytes &input, bool has_others)
{
	const auto flow = [](const Bytes &frame) {
		return bench::get_be32(frame, bench::form_of(frame).bth() + 4);
	};
	const auto place = [&](const Bytes &frame) {
		return frame == input ? 0 : has_others && is_duplicate(frame, input) ? 1 : 2;
	};

	std::stable_sort(frames.begin(), frames.end(), [&](const Bytes &a, const Bytes &b) {
		return std::make_pair(flow(a), place(a)) < std::make_pair(flow(b), place(b));
	});
	return frames;
}

/// Empty, or a description of the difference.
std::string difference_of(const std::vector<Bytes> &want, const std::vector<Bytes> &got)
{
	for (size_t i = 0; i < want.size() && i < got.size(); i++) {
		if (got[i].size() != want[i].size())
			return "out " + std::to_string(i) + ": " + std::to_string(got[i].size()) +
			       " bytes, not " + std::to_string(want[i].size());
		for (size_t at = 0; at < want[i].size(); at++)
			if (got[i][at] != want[i][at])
				return "out " + std::to_string(i) + ": byte " + std::to_string(at) +
				       " of " + std::to_string(want[i].size()) + " is " +
				       std::to_string(got[i][at]) + ", not " +
				       std::to_string(want[i][at]);
	}
	return got.size() == want.size() ? ""
	                                 : std::to_string(got.size()) + " frames out, not " +
	                                           std::to_string(want.size());
}

/// A TRACE of a host of another fabric.
Bytes trace_frame(Random &random)
{
	const ina_wire_header header = bench::wire_header(INA_WIRE_TRACE);
	bench::Packet packet;

	packet.form = bench::FORMS[random.below(4)];
	packet.qpn = 0x800000;
	packet.psn = static_cast<uint32_t>(random.below(1u << 24));
	packet.payload =
	        random.bytes(sizeof(header) + INA_WIRE_LEVELS * sizeof(ina_wire_trace_slot) +
	                     sizeof(ina_wire_trailer));
	if (random.chance(80)) // its slots are empty
		std::fill_n(packet.payload.begin() + sizeof(header),
		            INA_WIRE_LEVELS * sizeof(ina_wire_trace_slot), 0);
	std::memcpy(packet.payload.data(), &header, sizeof(header));
	return bench::make_frame(packet);
}

} // namespace

struct engine {
	engine(const aggregator_config &wanted, aggregator_emit *to, void *to_context,
	       uint64_t of_bed)
	    : place(wanted.place), emit(to), context(to_context), seed(of_bed),
	      random(of_bed + place.id), rtl(random, wanted.has_quiet_time), model(wanted)
	{
		rtl.place(place.level, place.uplinks, place.id);
		rtl.gap_percent = random.chance(30) ? 20 : 0;
		rtl.stall_percent = random.chance(30) ? 20 : 0;
	}

	void put(const engine_frame *in, unsigned count)
	{
		std::vector<PortFrame> entering;

		for (const engine_frame *frame = in; frame < in + count; frame++)
			entering.push_back(
			        {frame->port, {frame->bytes, frame->bytes + frame->length}});
		if (count > 1 && random.chance(5))
			add_trace(entering);
		for (const PortFrame &frame : entering) {
			rtl.in[frame.port].push_back(frame.frame);
			if (count > 1 && random.chance(50))
				for (uint64_t wait = random.below(60); wait > 0; wait--)
					rtl.step();
		}
		frames += count;
		settle();
		put_in_some_order(entering);
		give();
	}

	void age()
	{
		rtl.age();
		settle();
		model.age();
		check(difference({}));
		give();
	}

	void tick()
	{
		rtl.tick();
		settle();
		model.tick();
		check(difference({}));
	}

	void patience()
	{
		rtl.patience();
		settle();
		model.patience();
		check(difference({}));
	}

	void reset()
	{
		rtl.reset();
		model.reset();
		dropped = 0;
		check(difference({}));
	}

      private:
	const aggregator_place place;
	aggregator_emit *const emit;
	void *const context;
	const uint64_t seed;
	Random random;
	AggregatorRtl rtl;
	ModelSteps model;
	uint64_t frames = 0;
	uint64_t dropped = 0; // answers that were dropped

	/// Adds a TRACE at a port at which nothing else enters. Nobody waits for the result.
	void add_trace(std::vector<PortFrame> &entering)
	{
		for (unsigned p = 0; p < PORTS; p++)
			if (std::none_of(entering.begin(), entering.end(),
			                 [p](const PortFrame &frame) { return frame.port == p; }))
				return entering.push_back({p, trace_frame(random)});
	}

	/// Tries the order of their ports first, then all other orders.
	void put_in_some_order(const std::vector<PortFrame> &entering)
	{
		std::vector<size_t> order(entering.size());
		std::string first; // the difference in each order

		std::iota(order.begin(), order.end(), 0);
		do {
			std::vector<PortFrame> ordered;

			for (const size_t i : order)
				ordered.push_back(entering[i]);
			model.put(ordered);
			forget_dropped(ordered);
			const std::string differs = difference(entering);

			if (differs.empty()) {
				dropped = rtl.counter(counters::answers_dropped);
				return;
			}
			first += (first.empty() ? "" : "; or ") + differs;
			model.undo();
		} while (std::next_permutation(order.begin(), order.end()));
		check(first);
	}

	/// Removes answers that the RTL drops because their sums leave the history before their
	/// turn. In the model an answer takes no time.
	void forget_dropped(const std::vector<PortFrame> &entering)
	{
		uint64_t count = rtl.counter(counters::answers_dropped) - dropped;

		for (const PortFrame &in : entering) {
			const auto answer = std::find_if(
			        model.out.begin(), model.out.end(), [&](const PortFrame &out) {
				        return out.port == in.port &&
				               is_duplicate(out.frame, in.frame) && !has_left(out);
			        });

			if (count > 0 && answer != model.out.end()) {
				model.out.erase(answer);
				count--;
			}
		}
	}

	bool has_left(const PortFrame &frame) const
	{
		const auto &out = rtl.out[frame.port];

		return std::any_of(out.begin(), out.end(), [&](const AggregatorRtl::Out &other) {
			return other.frame == frame.frame;
		});
	}

	/// Sends the frames on as the model has them.
	void give()
	{
		for (const PortFrame &out : model.out)
			emit(context, out.port, out.frame.data(), out.frame.size());
		for (auto &out : rtl.out)
			out.clear();
	}

	/// Runs until the RTL is idle. After that it must stay idle: nothing moves without new
	/// input.
	void settle()
	{
		const uint64_t end = rtl.clock() + BUSY_CLOCKS;

		while (!rtl.is_idle() && rtl.clock() < end)
			rtl.step();
		if (!rtl.is_idle())
			check("it is busy forever");
		for (unsigned i = 0; i < IDLE_CLOCKS; i++) {
			rtl.step();
			if (!rtl.is_idle())
				check("it is busy without input, " + std::to_string(i + 1) +
				      " clocks after it was idle");
		}
	}

	std::string difference(const std::vector<PortFrame> &entering) const
	{
		for (unsigned p = 0; p < PORTS; p++) {
			std::vector<Bytes> want, got;
			Bytes input;

			for (const PortFrame &in : entering)
				if (in.port == p)
					input = in.frame;
			for (const PortFrame &out : model.out)
				if (out.port == p)
					want.push_back(out.frame);
			for (const auto &out : rtl.out[p])
				got.push_back(out.frame);
			const bool has_others = entering.size() > 1;
			const std::string of_port = difference_of(sorted(want, input, has_others),
			                                          sorted(got, input, has_others));

			if (!of_port.empty())
				return "port " + std::to_string(p) + ": " + of_port;
		}
		const uint64_t now_dropped = rtl.counter(counters::answers_dropped);

		for (unsigned i = 0; i < INA_COUNTER_COUNT; i++) {
			const uint64_t want = i == counters::answers_dropped ? now_dropped
			                      : i == counters::duplicates_answered
			                              ? model.counter(i) - now_dropped
			                              : model.counter(i);

			if (rtl.counter(i) != want)
				return std::string(counters::names[i]) + " is " +
				       std::to_string(rtl.counter(i)) + ", not " +
				       std::to_string(want);
		}
		return "";
	}

	void check(const std::string &differs) const
	{
		CHECK(differs.empty(),
		      "seed %llu: switch %llu of level %u, behind its frame %llu: %s",
		      static_cast<unsigned long long>(seed),
		      static_cast<unsigned long long>(place.id), place.level,
		      static_cast<unsigned long long>(frames), differs.c_str());
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

extern "C" void engine_put(engine *engine, const engine_frame *frames, unsigned count)
{
	engine->put(frames, count);
}

extern "C" void engine_age(engine *engine)
{
	engine->age();
}

extern "C" void engine_tick(engine *engine)
{
	engine->tick();
}

extern "C" void engine_patience(engine *engine)
{
	engine->patience();
}

extern "C" void engine_reset(engine *engine)
{
	engine->reset();
}
