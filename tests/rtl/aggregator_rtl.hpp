// SPDX-License-Identifier: Apache-2.0
//
// ina_top with frames instead of beats on its ports.

#ifndef INA_AGGREGATOR_RTL_HPP
#define INA_AGGREGATOR_RTL_HPP

#include "Vina_top.h"
#include "bench.hpp"

#include <deque>

namespace bench
{

class AggregatorRtl
{
      public:
	static constexpr unsigned PORTS = INA_PORT_COUNT;

	struct Out {
		Bytes frame;
		uint64_t first_beat, last_beat; // clocks in which the first and the last beat left
	};

	std::deque<Bytes> in[PORTS];
	std::deque<Out> out[PORTS];
	unsigned gap_percent = 0;   // percent of the clocks in which a port offers nothing
	unsigned stall_percent = 0; // percent of the clocks in which a port takes nothing
	unsigned stuck = 0;         // bit mask of the ports that never take anything
	uint64_t beats_in[PORTS] = {}, beats_out[PORTS] = {};
	size_t frames_in[PORTS] = {};
	uint64_t last_accepted = 0; // the clock in which a frame's last beat went in, on any port

	explicit AggregatorRtl(Random &generator, bool has_quiet_time = false) : random(generator)
	{
		dut->age = 0;
		dut->tick = dut->patience = !has_quiet_time;
		dut->place_level = 0; // the only switch
		dut->place_uplinks = 0;
		dut->place_id = 0;
		dut->quota = dut->vlan_quota = 0;
		dut->trusted_ports = 0;
		dut->port_priority = 0;
		dut->s_axis_tvalid = 0;
		dut->s_axis_tlast = 0;
		dut->m_axis_tready = 0;
		dut.reset();
	}

	/// Sets the switch's place in a tree of switches, from its first frame on.
	void place(unsigned level, unsigned uplinks, uint64_t id)
	{
		set(dut->place_level, level);
		set(dut->place_uplinks, uplinks);
		dut->place_id = id;
	}

	/// Sets how many jobs a VLAN may have, from the first frame on.
	void limit_vlans(unsigned quota)
	{
		dut->vlan_quota = static_cast<uint8_t>(quota);
	}

	/// Sets the ports whose JOINs' VLAN tags count, from the first frame on.
	void trust(unsigned ports)
	{
		set(dut->trusted_ports, ports);
	}

	/// Sets the priority of a port's JOINs whose tag does not count, from the first frame on.
	void prefer(unsigned port, unsigned priority)
	{
		dut->port_priority |= uint64_t{priority} << 3 * port;
	}

	/// May be called at any time between two frames.
	void reset()
	{
		dut.reset();
	}

	uint64_t clock() const
	{
		return dut.clocks;
	}

	void step()
	{
		offer();
		const unsigned ready = ready_ports();
		set(dut->m_axis_tready, ready);
		dut.settle();
		const unsigned taken = dut->s_axis_tvalid & dut->s_axis_tready;
		const unsigned given = dut->m_axis_tvalid & ready;
		for (unsigned p = 0; p < PORTS; p++)
			if (given >> p & 1)
				collect(p);
		dut->clk = 1;
		dut->eval();
		for (unsigned p = 0; p < PORTS; p++)
			if (taken >> p & 1)
				advance(p);
		dut.clocks++;
	}

	/// One step with `age`: the end of a time-to-live.
	void age()
	{
		dut->age = 1;
		step();
		dut->age = 0;
		dut.settle();
	}

	/// One step with `tick`: the end of a quiet time. A build without this port has the tick in
	/// every clock.
	void tick()
	{
		const bool otherwise = dut->tick;

		dut->tick = 1;
		step();
		dut->tick = otherwise;
		dut.settle();
	}

	/// One step with `patience`: the end of a period. A build without this port has it in every
	/// clock.
	void patience()
	{
		const bool otherwise = dut->patience;

		dut->patience = 1;
		step();
		dut->patience = otherwise;
		dut.settle();
	}

	bool is_idle() const
	{
		for (const auto &queue : in)
			if (!queue.empty())
				return false;
		return !dut.top.busy;
	}

	/// Steps until every frame that was put in has gone as far as it can.
	void settle(uint64_t limit_clocks = 100000)
	{
		const uint64_t end = clock() + limit_clocks;

		do {
			step();
			CHECK(clock() < end, "still busy after %llu clocks",
			      static_cast<unsigned long long>(limit_clocks));
		} while (!is_idle());
	}

	uint64_t counter(unsigned index) const
	{
		uint64_t value;

		std::memcpy(&value, &dut.top.counters[2 * index], sizeof(value));
		return value;
	}

      private:
	Dut<Vina_top> dut;
	Random &random;
	size_t beat[PORTS] = {};  // the next beat of in[p].front(), the frame that goes in next
	bool offered[PORTS] = {}; // this beat is on the port
	Bytes partial[PORTS];
	uint64_t first_beat[PORTS] = {};

	void offer()
	{
		for (unsigned p = 0; p < PORTS; p++) {
			if (offered[p] || in[p].empty() || random.chance(gap_percent))
				continue;
			const Bytes &frame = in[p].front();
			uint8_t data[BEAT_BYTES] = {};
			const size_t at = beat[p] * BEAT_BYTES;
			const size_t count = std::min(frame.size() - at, BEAT_BYTES);
			const uint64_t keep = keep_mask(count);

			std::memcpy(data, &frame[at], count);
			put(dut->s_axis_tdata, p * BEAT_BYTES, data, BEAT_BYTES);
			put(dut->s_axis_tkeep, p * sizeof(keep), &keep, sizeof(keep));
			set_bit(dut->s_axis_tlast, p, beat[p] + 1 == beats_of(frame));
			set_bit(dut->s_axis_tvalid, p, true);
			offered[p] = true;
		}
	}

	void advance(unsigned p)
	{
		offered[p] = false;
		set_bit(dut->s_axis_tvalid, p, false);
		beats_in[p]++;
		if (++beat[p] < beats_of(in[p].front()))
			return;
		beat[p] = 0;
		in[p].pop_front();
		frames_in[p]++;
		last_accepted = clock();
	}

	unsigned ready_ports()
	{
		unsigned ready = 0;

		for (unsigned p = 0; p < PORTS; p++)
			ready |= random.chance(stall_percent) ? 0 : 1u << p;
		return ready & ~stuck;
	}

	void collect(unsigned p)
	{
		const Bytes data = get(dut->m_axis_tdata, p * BEAT_BYTES, BEAT_BYTES);
		uint64_t keep;

		std::memcpy(&keep, get(dut->m_axis_tkeep, p * 8, 8).data(), sizeof(keep));
		const size_t count = static_cast<size_t>(__builtin_popcountll(keep));
		const bool last = dut->m_axis_tlast >> p & 1;

		CHECK(keep == keep_mask(count) && count > 0, "port %u: tkeep %016llx has holes", p,
		      static_cast<unsigned long long>(keep));
		CHECK(last || count == BEAT_BYTES, "port %u: a short beat in mid-frame", p);
		beats_out[p]++;
		if (partial[p].empty())
			first_beat[p] = clock();
		partial[p].insert(partial[p].end(), data.begin(),
		                  data.begin() + static_cast<long>(count));
		if (last) {
			out[p].push_back({partial[p], first_beat[p], clock()});
			partial[p].clear();
		}
	}

	template <class Bits> static void set_bit(Bits &bits, unsigned index, bool value)
	{
		bits = static_cast<Bits>((bits & ~(1u << index)) | (unsigned{value} << index));
	}
};

} // namespace bench

#endif
