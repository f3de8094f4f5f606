// SPDX-License-Identifier: Apache-2.0
//
// ina_top against the C model in whole fabrics: the engine of tests/fabric's switches, each of
// which is the RTL and the model. Frames that enter are given to both, and the RTL turns its clock
// until it is idle. What leaves are the same frames at the same ports, and the counters are alike.
//
// Several frames may enter the RTL at the same time, each by a port of its own. It chooses in what
// order they count: there must be one in which the model does the same. What the model did in
// another order is undone by a new one that is led to the same place. A TRACE comes between now and
// then.

#include "aggregator_rtl.hpp"
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
constexpr uint64_t BUSY_CLOCKS = 100000; // it never ends
constexpr unsigned IDLE_CLOCKS = 4;
// By position (model/counters.h).
constexpr unsigned DUPLICATES_ANSWERED = 7, ANSWERS_DROPPED = 19;

const char *const counter_names[] = {
#define X(name, meaning) #name,
        INA_COUNTERS(X)
#undef X
};

/// Another frame of the same packet: its flow is that of the port.
bool is_repeated(const Bytes &a, const Bytes &b)
{
	const auto psn = [](const Bytes &frame) {
		return bench::get_be32(frame, bench::form_of(frame).bth() + 8) & 0xFFFFFF;
	};

	return !a.empty() && !b.empty() && psn(a) == psn(b);
}

/// What leaves a port by which `input` came in. In the order of the flows, for several jobs may
/// expire at once: each has a QPN of its own. A frame that passes unchanged goes another way than
/// what waited, and may overtake it: so may a LEAVE that comes again, when its job is closed,
/// overtake its sum. And where frames of other ports came too, what follows from them may overtake
/// the answer.
std::vector<Bytes> sorted(std::vector<Bytes> frames, const Bytes &input, bool has_others)
{
	const auto flow = [](const Bytes &frame) {
		return bench::get_be32(frame, bench::form_of(frame).bth() + 4);
	};
	const auto place = [&](const Bytes &frame) {
		return frame == input ? 0 : has_others && is_repeated(frame, input) ? 1 : 2;
	};

	std::stable_sort(frames.begin(), frames.end(), [&](const Bytes &a, const Bytes &b) {
		return std::make_pair(flow(a), place(a)) < std::make_pair(flow(b), place(b));
	});
	return frames;
}

/// Empty, or what is different.
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

/// A host of another fabric asks where it is.
Bytes trace_frame(Random &random)
{
	ina_wire_header header = {};
	bench::Packet packet;

	header.magic = INA_WIRE_MAGIC;
	header.version = INA_WIRE_VERSION;
	header.type = INA_WIRE_TRACE;
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
	uint64_t dropped = 0; // answers

	/// Where nothing else enters. Nobody awaits what leaves.
	void add_trace(std::vector<PortFrame> &entering)
	{
		for (unsigned p = 0; p < PORTS; p++)
			if (std::none_of(entering.begin(), entering.end(),
			                 [p](const PortFrame &frame) { return frame.port == p; }))
				return entering.push_back({p, trace_frame(random)});
	}

	/// In the order of their ports, then in all others.
	void put_in_some_order(const std::vector<PortFrame> &entering)
	{
		std::vector<size_t> order(entering.size());
		std::string first; // what is different in each order

		std::iota(order.begin(), order.end(), 0);
		do {
			std::vector<PortFrame> ordered;

			for (const size_t i : order)
				ordered.push_back(entering[i]);
			model.put(ordered);
			forget_dropped(ordered);
			const std::string differs = difference(entering);

			if (differs.empty()) {
				dropped = rtl.counter(ANSWERS_DROPPED);
				return;
			}
			first += (first.empty() ? "" : "; or ") + differs;
			model.undo();
		} while (std::next_permutation(order.begin(), order.end()));
		check(first);
	}

	/// Answers that the RTL drops, for their sums leave the history before their turn: the
	/// model's take no time.
	void forget_dropped(const std::vector<PortFrame> &entering)
	{
		uint64_t count = rtl.counter(ANSWERS_DROPPED) - dropped;

		for (const PortFrame &in : entering) {
			const auto answer = std::find_if(
			        model.out.begin(), model.out.end(), [&](const PortFrame &out) {
				        return out.port == in.port &&
				               is_repeated(out.frame, in.frame) && !has_left(out);
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

	/// On their way, as the model has them.
	void give()
	{
		for (const PortFrame &out : model.out)
			emit(context, out.port, out.frame.data(), out.frame.size());
		for (auto &out : rtl.out)
			out.clear();
	}

	/// Until it is idle; then nothing moves that has not been told of.
	void settle()
	{
		const uint64_t end = rtl.clock() + BUSY_CLOCKS;

		while (!rtl.is_idle() && rtl.clock() < end)
			rtl.step();
		if (!rtl.is_idle())
			check("it is busy for ever");
		for (unsigned i = 0; i < IDLE_CLOCKS; i++) {
			rtl.step();
			if (!rtl.is_idle())
				check("it is busy by itself, " + std::to_string(i + 1) +
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
		const uint64_t now_dropped = rtl.counter(ANSWERS_DROPPED);

		for (unsigned i = 0; i < INA_COUNTER_COUNT; i++) {
			const uint64_t want = i == ANSWERS_DROPPED ? now_dropped
			                      : i == DUPLICATES_ANSWERED
			                              ? model.counter(i) - now_dropped
			                              : model.counter(i);

			if (rtl.counter(i) != want)
				return std::string(counter_names[i]) + " is " +
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
