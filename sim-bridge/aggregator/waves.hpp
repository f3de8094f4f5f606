// SPDX-License-Identifier: Apache-2.0
//
// Records the RTL's signals, clock by clock, in a file for GTKWave. This happens only in
// ina-bridge-waves, which is verilated with tracing. In ina-bridge the class is empty and costs
// nothing.

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
	/// Must be constructed before the model.
	Waves()
	{
		Verilated::traceEverOn(true);
	}
	/// Starts the file that the environment variable INA_WAVES names, if it is set.
	/// A reset begins with a new model, and the name of its file ends in .1, then in .2.
	/// Throws std::runtime_error if it cannot create the file.
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
	/// Record the signals after the rising edge of clock number `clock`, and in the second half
	/// of that clock. fall() records them each time that inputs change.
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
	uint64_t next_ps = 0; // the file holds each time only once

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
