// SPDX-License-Identifier: Apache-2.0
//
// The RTL's signals in a file for GTKWave, clock by clock: in ina-bridge-waves, which is verilated
// with tracing. In ina-bridge all of this is empty, and costs nothing.

#ifndef INA_BRIDGE_WAVES_HPP
#define INA_BRIDGE_WAVES_HPP

#include <cstdint>

#ifdef INA_WAVES

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <verilated_fst_c.h>

template <class Top> class Waves
{
      public:
	/// The model must be made after this.
	Waves()
	{
		Verilated::traceEverOn(true);
	}
	/// Starts the file that INA_WAVES in the environment names; without it there is none.
	/// After a reset, which begins with a new model, the name has .1 at its end, then .2.
	/// Throws std::runtime_error where it cannot be made.
	void open(Top &top)
	{
		const char *name = std::getenv("INA_WAVES");

		if (!name || !*name)
			return;
		const std::string path = name + (opened ? "." + std::to_string(opened) : "");
		opened++;
		file.set_time_unit("1ps");
		file.set_time_resolution("1ps");
		top.trace(&file, HIERARCHY_LEVELS);
		file.open(path.c_str());
		if (!file.isOpen())
			throw std::runtime_error("waves: cannot write " + path);
	}
	/// The signals after the rising edge of clock number `clock`, and in its second half: there
	/// as often as inputs change.
	void rise(uint64_t clock)
	{
		dump(clock * CLOCK_PS);
	}
	void fall(uint64_t clock)
	{
		dump(clock * CLOCK_PS + CLOCK_PS / 2);
	}

      private:
	static constexpr uint64_t CLOCK_PS = 4000; // 250 MHz
	static constexpr int HIERARCHY_LEVELS = 99;
	static inline unsigned opened = 0;
	VerilatedFstC file;
	uint64_t next_ps = 0; // a time is written once

	void dump(uint64_t time_ps)
	{
		if (!file.isOpen())
			return;
		time_ps = std::max(time_ps, next_ps);
		next_ps = time_ps + 1;
		file.dump(time_ps);
	}
};

#else

template <class Top> class Waves
{
      public:
	void open(Top &)
	{
	}
	void rise(uint64_t)
	{
	}
	void fall(uint64_t)
	{
	}
};

#endif
#endif
