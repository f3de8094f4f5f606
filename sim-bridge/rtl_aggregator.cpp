// SPDX-License-Identifier: Apache-2.0
//
// The Verilated RTL as an engine: cuts frames into beats of 64 bytes, turns the clock as long as
// there is something to do, and puts beats together to frames again.
//
// A clock costs much the same whether one pipeline takes a beat in it or all do. So the pipelines
// are fed in step: a frame waits for those of the other ports that take part, and all begin in the
// same clock. A port takes part from its first frame on, until it lets the others wait in vain.

#include "engine.h"

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <vector>

#include "Vina_top_2.h"
#ifndef INA_WAVES // what is there to be looked at is small
#include "Vina_top_4.h"
#include "Vina_top_8.h"
#endif
#include "waves.hpp"

namespace
{

constexpr size_t BEAT_BYTES = 64;
constexpr size_t BEAT_WORDS = BEAT_BYTES / sizeof(EData);
constexpr size_t KEEP_WORDS = BEAT_BYTES / 32; // a bit a byte
constexpr unsigned JOB_COUNT = 4;              // ina_top's defaults
constexpr unsigned SLOT_COUNT = 128;
constexpr unsigned RESET_CLOCKS = 4;
#ifdef INA_WAVES
constexpr unsigned PORTS_MOST = 2;
#else
constexpr unsigned PORTS_MOST = 8;
#endif

// What work() does at a time: a few hundred microseconds.
constexpr unsigned WORK_CLOCKS = 192;

// Frames of a port that may wait; more are let in without waiting for others.
constexpr size_t INPUT_FRAMES_MAX = 512;

// So many clocks without a beat in or out, and still busy: it will not end.
constexpr uint64_t STUCK_CLOCKS = 1000000;

static_assert(sizeof(ina_counters) == INA_COUNTER_COUNT * sizeof(uint64_t),
              "counters lie side by side, as in the RTL's output");

// Frames that wait to go into a pipeline, and the place in the first of them.
class Input
{
      public:
	void put(const uint8_t *frame, size_t length)
	{
		bytes.insert(bytes.end(), frame, frame + length);
		ends.push_back(bytes.size());
	}
	bool is_empty() const
	{
		return next == ends.size();
	}
	const uint8_t *beat() const
	{
		return bytes.data() + at;
	}
	size_t beat_bytes() const
	{
		return is_last() ? ends[next] - at : BEAT_BYTES;
	}
	bool is_last() const
	{
		return ends[next] - at <= BEAT_BYTES;
	}
	size_t frames() const
	{
		return ends.size() - next;
	}
	// True: that was a frame's last beat.
	bool advance()
	{
		at += beat_bytes();
		if (at < ends[next])
			return false;
		next++;
		if (is_empty() || at >= DONE_BYTES_MAX)
			forget_done();
		return true;
	}

      private:
	std::vector<uint8_t> bytes; // frame after frame
	std::vector<size_t> ends;
	size_t next = 0; // frame
	size_t at = 0;   // byte

	// So much is moved once rather than in each frame.
	static constexpr size_t DONE_BYTES_MAX = 1 << 20;

	void forget_done()
	{
		bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(at));
		ends.erase(ends.begin(), ends.begin() + static_cast<ptrdiff_t>(next));
		for (size_t &end : ends)
			end -= at;
		at = next = 0;
	}
};

// The frame that is coming out.
struct Output {
	std::vector<uint8_t> frame = std::vector<uint8_t>(16384); // enough; else it grows
	size_t length = 0;

	// Copies a whole beat, whatever of it counts: that is a load and a store.
	void append(const uint8_t *beat, size_t bytes)
	{
		if (frame.size() < length + BEAT_BYTES)
			frame.resize(2 * frame.size());
		std::memcpy(&frame[length], beat, BEAT_BYTES);
		length += bytes;
	}
};

// What the engine needs of an ina_top of any size.
class Pipelines
{
      public:
	virtual ~Pipelines() = default;
	virtual unsigned ports() const = 0;
	virtual void put(unsigned port, const uint8_t *frame, size_t length) = 0;

	// Turns the clock some times. Frames that wait for those of other ports go on waiting.
	virtual engine_state work() = 0;

	// Turns the clock until nothing moves or waits.
	virtual void run() = 0;

	// One clock of `age`; run() then does what follows from it.
	virtual void age() = 0;

	// Turning the clock would go on for ever.
	virtual bool is_stuck() const = 0;
	virtual void read_counters(ina_counters *counters) const = 0;

	uint64_t clocks = 0;
};

template <class Top, unsigned PORTS> class SizedPipelines final : public Pipelines
{
      public:
	SizedPipelines(engine_emit *to, void *to_context) : emit(to), emit_context(to_context)
	{
		waves.open(top);
		top.rst = 1;
		top.age = 0;
		top.s_axis_tvalid = 0;
		for (unsigned i = 0; i < RESET_CLOCKS; i++)
			turn();
		top.rst = 0;
		settle();
	}
	~SizedPipelines() override
	{
		top.final();
	}
	unsigned ports() const override
	{
		return PORTS;
	}
	void put(unsigned port, const uint8_t *frame, size_t length) override
	{
		if (length == 0)
			return;
		if (inputs[port].frames() >= INPUT_FRAMES_MAX)
			run();
		inputs[port].put(frame, length);
		waiting |= 1u << port;
		partners |= 1u << port;
	}
	engine_state work() override
	{
		begin_together();
		for (unsigned i = 0; i < WORK_CLOCKS && moves() && !is_stuck(); i++)
			step();
		if (moves())
			return ENGINE_BUSY;
		return waiting ? ENGINE_HOLDING : ENGINE_IDLE;
	}
	void run() override
	{
		while (!is_stuck() && (moves() || waiting)) {
			if (moves()) {
				step();
				continue;
			}
			// Who has let the others wait is no longer waited for.
			partners = waiting;
			begin_together();
		}
	}
	bool is_stuck() const override
	{
		return idle_clocks >= STUCK_CLOCKS;
	}
	void age() override
	{
		top.age = 1;
		settle();
		step();
		top.age = 0;
		settle();
	}
	void read_counters(ina_counters *counters) const override
	{
		std::memcpy(counters, top.counters.data(), sizeof(*counters));
	}

      private:
	Waves<Top> waves; // before the model, which it prepares, and closed after its end
	Top top;
	engine_emit *emit;
	void *emit_context;
	Input inputs[PORTS];
	Output outputs[PORTS];
	unsigned waiting = 0;                // ports with a frame that has not begun
	unsigned partners = 0;               // ports that begin their frames together
	uint64_t idle_clocks = 0;

	// Lets the outputs follow the inputs, before the next edge.
	void settle()
	{
		top.clk = 0;
		top.eval();
		waves.fall(clocks);
	}
	void turn()
	{
		settle();
		top.clk = 1;
		top.eval();
		clocks++;
		waves.rise(clocks);
	}

	bool moves() const
	{
		return top.s_axis_tvalid || top.busy;
	}

	// Puts the next frames' first beats onto the inputs, if it is time.
	void begin_together()
	{
		if (top.s_axis_tvalid || !waiting || waiting != partners)
			return;
		for (unsigned port = 0; port < PORTS; port++) {
			if (!(waiting >> port & 1))
				continue;
			drive(port);
			if (inputs[port].frames() == 1)
				waiting &= ~(1u << port);
		}
		settle();
	}

	// One clock. What is valid and ready before the edge moves with it.
	void step()
	{
		const unsigned taken = top.s_axis_tvalid & top.s_axis_tready;
		const unsigned given = top.m_axis_tvalid;

		if (given)
			collect(given);
		top.clk = 1;
		top.eval();
		clocks++;
		waves.rise(clocks);
		for (unsigned port = 0; port < PORTS; port++) {
			if (!(taken >> port & 1))
				continue;
			if (inputs[port].advance())
				top.s_axis_tvalid &= ~(1u << port);
			else
				drive(port);
		}
		if (!top.s_axis_tvalid && waiting && waiting == partners)
			begin_together();
		else
			settle();
		idle_clocks = taken || given ? 0 : idle_clocks + 1;
	}

	// Puts a pipeline's next beat onto its input.
	void drive(unsigned port)
	{
		const Input &input = inputs[port];
		const unsigned bit = 1u << port;
		const size_t bytes = input.beat_bytes();
		const uint64_t keep = ~uint64_t{0} >> (BEAT_BYTES - bytes);
		EData *data = &top.s_axis_tdata[port * BEAT_WORDS];

		if (bytes == BEAT_BYTES) {
			std::memcpy(data, input.beat(), BEAT_BYTES); // no call
		} else {
			std::memset(data, 0, BEAT_BYTES);
			std::memcpy(data, input.beat(), bytes);
		}
		std::memcpy(&top.s_axis_tkeep[port * KEEP_WORDS], &keep, sizeof(keep));
		top.s_axis_tvalid |= bit;
		top.s_axis_tlast = (top.s_axis_tlast & ~bit) | (input.is_last() ? bit : 0);
	}

	// Takes the beats that are there, and sends frames on that are whole.
	void collect(unsigned given)
	{
		for (unsigned port = 0; port < PORTS; port++) {
			if (!(given >> port & 1))
				continue;
			uint64_t keep;
			const auto *data = reinterpret_cast<const uint8_t *>(
			        &top.m_axis_tdata[port * BEAT_WORDS]);
			Output &output = outputs[port];

			std::memcpy(&keep, &top.m_axis_tkeep[port * KEEP_WORDS], sizeof(keep));
			output.append(data, static_cast<size_t>(__builtin_popcountll(keep)));
			if (top.m_axis_tlast >> port & 1) {
				emit(emit_context, port, output.frame.data(), output.length);
				output.length = 0;
			}
		}
	}
};

struct RtlEngine {
	engine base; // first: the C side sees only this
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
		rtl_of(base)->pipelines->put(port, frame, length);
}

void look_whether_stuck(engine *base)
{
	if (!rtl_of(base)->pipelines->is_stuck())
		return;
	std::snprintf(base->error, sizeof(base->error),
	              "the RTL is stuck: busy for %llu clocks, and no beat went in or out; this is "
	              "a fault of the RTL, --aggregator model does without it",
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

// What was put in before counts as heard.
void age(engine *base)
{
	run(base);
	if (base->error[0])
		return;
	rtl_of(base)->pipelines->age();
	run(base);
}

void read_counters(const engine *base, ina_counters *counters)
{
	rtl_of(base)->pipelines->read_counters(counters);
}

uint64_t clocks(const engine *base)
{
	return rtl_of(base)->pipelines->clocks;
}

void close_rtl(engine *base)
{
	delete rtl_of(base);
}

const engine_operations operations = {"rtl", put, work, run, age, read_counters, clocks, close_rtl};

// The smallest size that fits.
std::unique_ptr<Pipelines> make_pipelines(unsigned ports, engine_emit *emit, void *context)
{
	if (ports <= 2)
		return std::make_unique<SizedPipelines<Vina_top_2, 2>>(emit, context);
#ifndef INA_WAVES
	if (ports <= 4)
		return std::make_unique<SizedPipelines<Vina_top_4, 4>>(emit, context);
	if (ports <= 8)
		return std::make_unique<SizedPipelines<Vina_top_8, 8>>(emit, context);
#endif
	return nullptr;
}

} // namespace

extern "C" engine *rtl_aggregator_open(unsigned ports, engine_emit *emit, void *context,
                                       char *error, size_t error_bytes)
{
	try {
		auto rtl = std::make_unique<RtlEngine>();

		rtl->pipelines = make_pipelines(ports, emit, context);
		if (!rtl->pipelines) {
			std::snprintf(error, error_bytes,
			              "the RTL is built for %u ports at most, not %u: use "
			              "--aggregator model",
			              PORTS_MOST, ports);
			return nullptr;
		}
		rtl->base.operations = &operations;
		rtl->base.ports = rtl->pipelines->ports();
		rtl->base.jobs = JOB_COUNT;
		rtl->base.window_packets = SLOT_COUNT;
		rtl->base.error[0] = '\0';
		return &rtl.release()->base;
	} catch (const std::runtime_error &failure) {
		std::snprintf(error, error_bytes, "%s", failure.what());
		return nullptr;
	} catch (const std::bad_alloc &) {
		std::snprintf(error, error_bytes, "the RTL with %u ports: out of memory", ports);
		return nullptr;
	}
}
