// SPDX-License-Identifier: Apache-2.0
//
// The Verilated RTL with a given number of ports, beat by beat, and two ways to drive it.
//
// In real time a clock costs about the same whether one pipeline takes a beat in it or all of them
// do. So frames enter in step: a frame waits for frames of the other ports that take part, and all
// of them begin in the same clock. A port takes part from its first frame until the other ports
// have waited for it without success.
//
// In virtual time each frame enters at the first clock edge after it arrives, whatever the other
// ports do. Idle clocks are skipped.
#ifndef INA_BRIDGE_RTL_PIPELINES_HPP
#define INA_BRIDGE_RTL_PIPELINES_HPP

#include <algorithm>

#include "engine.h"
#include "rtl_frames.hpp"
#include "waves.hpp"

constexpr unsigned RESET_CLOCKS = 4;

// Clocks that work() turns in one call. They take some milliseconds, and 32 packets of 4 KiB on
// each port fit into them, a quarter of the packets that rxe has in flight. With fewer clocks the
// bridge wakes the hosts more often, and their work slows the bridge down as well. With twice as
// many, the hosts wait for the bridge and the bridge waits for the hosts.
constexpr unsigned WORK_CLOCKS = 2048;

// If this many frames of a port wait, the pipeline takes them without waiting for other ports.
constexpr size_t INPUT_FRAMES_MAX = 512;

// After this many busy clocks without a beat in or out, the RTL counts as stuck.
constexpr uint64_t STUCK_CLOCKS = 1000000;

// The interface between the engine and an ina_top of any size.
class Pipelines
{
      public:
	virtual ~Pipelines() = default;
	virtual unsigned ports() const = 0;
	virtual void put(unsigned port, const uint8_t *frame, size_t length, uint64_t time_ns) = 0;

	// As in engine_operations. In work(), frames that wait for frames of other ports continue
	// to wait.
	virtual engine_state work() = 0;
	virtual void run() = 0;
	virtual uint64_t advance(uint64_t until_ns) = 0;
	virtual uint64_t next_ns() const = 0;

	// Sets `age` for one clock; the RTL may need further clocks to process it.
	virtual void age(uint64_t time_ns) = 0;

	// Set `tick` or `patience` for one clock, beginning with the next one.
	virtual void tick() = 0;
	virtual void patience() = 0;

	// True if the RTL stays busy without a beat, so turning the clock would never end.
	virtual bool is_stuck() const = 0;
	virtual void read_counters(ina_counters *counters) const = 0;

	uint64_t clocks = 0; // clocks turned until now
};

// Drives the pins of a top module, and keeps the frames that enter and leave it.
template <class Top, unsigned PORTS> class Pins : public Pipelines
{
      public:
	Pins(const engine_config &config, engine_emit *to, void *to_context)
	    : has_quiet_time(config.has_quiet_time), has_patience(config.has_patience), emit(to),
	      emit_context(to_context)
	{
		waves.open(top);
		top.rst = 1;
		top.age = 0;
		top.tick = !has_quiet_time;
		top.patience = !has_patience;
		top.place_level = config.level & 3;
		top.place_uplinks = config.uplinks & ((1u << PORTS) - 1);
		top.place_id = uint64_t{config.number} + 1;
		top.quota = static_cast<uint8_t>(config.quota);
		top.vlan_quota = static_cast<uint8_t>(config.vlan_quota);
		top.trusted_ports = config.trusted_ports & ((1u << PORTS) - 1);
		top.port_priority = 0;
		for (unsigned port = 0; port < PORTS; port++)
			top.port_priority |= uint64_t{config.port_priority[port]} << 3 * port;
		top.s_axis_tvalid = 0;
		for (unsigned i = 0; i < RESET_CLOCKS; i++)
			turn();
		top.rst = 0;
		settle();
	}
	~Pins() override
	{
		top.final();
	}
	unsigned ports() const override
	{
		return PORTS;
	}
	bool is_stuck() const override
	{
		return idle_clocks >= STUCK_CLOCKS;
	}
	void read_counters(ina_counters *counters) const override
	{
		std::memcpy(counters, top.counters.data(), sizeof(*counters));
	}
	void age(uint64_t) override
	{
		top.age = 1;
		settle();
		step();
		top.age = 0;
		settle();
	}

	void tick() override
	{
		ticks++;
	}
	void patience() override
	{
		patience_ends++;
	}

      protected:
	Input inputs[PORTS];

	// Puts the first beats of frames that may begin onto free inputs. Returns true if it put
	// any.
	virtual bool begin() = 0;

	bool moves() const
	{
		return top.s_axis_tvalid || top.busy;
	}
	bool is_taking(unsigned port) const
	{
		return top.s_axis_tvalid >> port & 1;
	}
	bool is_taking() const
	{
		return top.s_axis_tvalid;
	}

	// Evaluates the outputs that depend on the inputs, before the next clock edge.
	void settle()
	{
		top.clk = 0;
		top.eval();
		waves.fall(clocks);
	}

	// Turns one clock. Beats that are valid and ready before the edge move with it. Returns
	// true if a frame has left.
	bool step()
	{
		const unsigned taken = top.s_axis_tvalid & top.s_axis_tready;
		const unsigned given = top.m_axis_tvalid;
		const bool emitted = given && collect(given);

		top.tick = !has_quiet_time || ticks > 0;
		ticks -= ticks > 0;
		top.patience = !has_patience || patience_ends > 0;
		patience_ends -= patience_ends > 0;
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
		begin();
		settle();
		idle_clocks = taken || given || !moves() ? 0 : idle_clocks + 1;
		return emitted;
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
			std::memcpy(data, input.beat(), BEAT_BYTES); // a fixed size: inlined
		} else {
			std::memset(data, 0, BEAT_BYTES);
			std::memcpy(data, input.beat(), bytes);
		}
		std::memcpy(&top.s_axis_tkeep[port * KEEP_WORDS], &keep, sizeof(keep));
		top.s_axis_tvalid |= bit;
		top.s_axis_tlast = (top.s_axis_tlast & ~bit) | (input.is_last() ? bit : 0);
	}

      private:
	static constexpr size_t BEAT_WORDS = BEAT_BYTES / sizeof(EData);
	static constexpr size_t KEEP_WORDS = BEAT_BYTES / 32; // one bit for each byte

	Waves<Top> waves; // constructed before the model, which needs it, and destroyed after it
	Top top;
	const bool has_quiet_time, has_patience;
	uint64_t ticks = 0, patience_ends = 0; // still to be set for one clock each
	engine_emit *emit;
	void *emit_context;
	Output outputs[PORTS];
	uint64_t idle_clocks = 0; // consecutive busy clocks without a beat

	void turn()
	{
		settle();
		top.clk = 1;
		top.eval();
		clocks++;
		waves.rise(clocks);
	}

	// Takes the beats at the outputs and emits complete frames. Returns true if it emitted any.
	bool collect(unsigned given)
	{
		bool emitted = false;

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
				emitted = true;
			}
		}
		return emitted;
	}
};

// Real time: frames of all ports that take part begin together.
template <class Top, unsigned PORTS> class InStep final : public Pins<Top, PORTS>
{
      public:
	using Pins<Top, PORTS>::Pins;

	void put(unsigned port, const uint8_t *frame, size_t length, uint64_t) override
	{
		if (length == 0)
			return;
		if (this->inputs[port].frames() >= INPUT_FRAMES_MAX)
			run();
		this->inputs[port].put(frame, length, 0);
		waiting |= 1u << port;
		partners |= 1u << port;
	}
	engine_state work() override
	{
		begin_and_settle();
		for (unsigned i = 0; i < WORK_CLOCKS && this->moves() && !this->is_stuck(); i++)
			this->step();
		if (this->moves())
			return ENGINE_BUSY;
		return waiting ? ENGINE_HOLDING : ENGINE_IDLE;
	}
	void run() override
	{
		while (!this->is_stuck() && (this->moves() || waiting)) {
			if (this->moves()) {
				this->step();
				continue;
			}
			// The others no longer wait for a port that has sent nothing.
			partners = waiting;
			begin_and_settle();
		}
	}
	uint64_t advance(uint64_t until_ns) override
	{
		run();
		return until_ns;
	}
	uint64_t next_ns() const override
	{
		return this->moves() || waiting ? 0 : UINT64_MAX;
	}

      private:
	unsigned waiting = 0;  // bit mask of ports with a frame that has not begun
	unsigned partners = 0; // bit mask of ports that begin their frames together

	bool begin() override
	{
		if (this->is_taking() || !waiting || waiting != partners)
			return false;
		for (unsigned port = 0; port < PORTS; port++) {
			if (!(waiting >> port & 1))
				continue;
			this->drive(port);
			if (this->inputs[port].frames() == 1)
				waiting &= ~(1u << port);
		}
		return true;
	}
	void begin_and_settle()
	{
		if (begin())
			this->settle();
	}
};

// Virtual time: each frame begins at its own time.
template <class Top, unsigned PORTS> class Timed final : public Pins<Top, PORTS>
{
      public:
	// Before it emits a frame, it writes the frame's time to *emit_ns.
	Timed(const engine_config &config, uint64_t *emit_ns, engine_emit *to, void *to_context)
	    : Pins<Top, PORTS>(config, to, to_context), period_ps(1000000000000 / config.clock_hz),
	      stamp_ns(emit_ns)
	{
	}
	void put(unsigned port, const uint8_t *frame, size_t length, uint64_t time_ns) override
	{
		if (length > 0)
			this->inputs[port].put(frame, length, edge_after(time_ns));
	}
	engine_state work() override
	{
		return ENGINE_IDLE;
	}
	void run() override
	{
	}
	uint64_t advance(uint64_t until_ns) override
	{
		for (;;) {
			const uint64_t edge = next_edge();

			if (edge == NEVER || time_ns(edge) >= until_ns || this->is_stuck())
				return until_ns;
			next = edge;
			if (begin())
				this->settle();
			if (step_at_edge())
				return *stamp_ns;
		}
	}
	uint64_t next_ns() const override
	{
		const uint64_t edge = next_edge();

		return edge == NEVER ? NEVER : time_ns(edge);
	}
	void age(uint64_t time_ns) override
	{
		next = std::max(next, edge_after(time_ns));
		*stamp_ns = time_ns;
		Pins<Top, PORTS>::age(time_ns);
	}

      private:
	static constexpr uint64_t NEVER = UINT64_MAX;
	const uint64_t period_ps;
	uint64_t *const stamp_ns;
	uint64_t next = 0; // clock edge

	uint64_t edge_after(uint64_t time_ns) const
	{
		return (time_ns * 1000 + period_ps - 1) / period_ps;
	}
	uint64_t time_ns(uint64_t edge) const
	{
		return (edge * period_ps + 999) / 1000;
	}
	// The first edge at which a waiting frame may begin, or NEVER.
	uint64_t first_edge() const
	{
		uint64_t first = NEVER;

		for (unsigned port = 0; port < PORTS; port++)
			if (!this->inputs[port].is_empty())
				first = std::min(first, this->inputs[port].edge());
		return first;
	}
	// The next edge at which the RTL has work to do, or NEVER.
	uint64_t next_edge() const
	{
		return this->moves() ? next : std::max(next, first_edge());
	}
	bool step_at_edge()
	{
		*stamp_ns = time_ns(next++);
		return this->step();
	}
	bool begin() override
	{
		bool begun = false;

		for (unsigned port = 0; port < PORTS; port++) {
			const Input &input = this->inputs[port];

			if (this->is_taking(port) || input.is_empty() || input.edge() > next)
				continue;
			this->drive(port);
			begun = true;
		}
		return begun;
	}
};

#endif
