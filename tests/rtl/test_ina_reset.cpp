// SPDX-License-Identifier: Apache-2.0
//
// ina_top is reset in the middle of a frame, while the sources continue: they are not reset with
// it. Only whole frames come out afterwards, including all frames that began after the reset. Every
// length, place and duration of the reset is tried, with and without gaps at the sources.

#include "bench.hpp"
#include "Vina_top.h"

namespace
{

constexpr unsigned PORTS = INA_PORT_COUNT;
constexpr size_t FRAME_BEATS_MAX = 5;
constexpr unsigned RESET_CLOCKS_MAX = 6;
constexpr unsigned FRAMES_AFTER = 3; // frames that begin after the reset
constexpr unsigned SETTLE_CLOCKS = 100;

/// A source of frames of one length, each with its number, and the record of which came out.
struct Port {
	size_t beats = 0; // of each frame
	unsigned frame = 0;
	size_t beat = 0;
	bool offers = false;
	bool began_in_reset = false; // or before the reset
	std::vector<bench::Bytes> expected;
	bench::Bytes partial;
	size_t whole = 0;

	bench::Bytes bytes() const
	{
		bench::Bytes frame_bytes(beats * bench::BEAT_BYTES - 4,
		                         static_cast<uint8_t>(frame));

		bench::put_be16(frame_bytes, 12, 0x88B5); // IEEE 802, for experiments
		return frame_bytes;
	}
};

class Test
{
      public:
	/// Resets for `reset_clocks` clocks when `before` beats of port 0 have gone in.
	void run(size_t beats, size_t before, unsigned reset_clocks, unsigned gap_percent)
	{
		bench::Dut<Vina_top> fresh;
		size_t taken = 0;

		dut = &fresh;
		gaps = gap_percent;
		(*dut)->age = 0;
		(*dut)->place_level = 0;
		(*dut)->place_uplinks = 0;
		(*dut)->place_id = 0;
		(*dut)->quota = (*dut)->vlan_quota = 0;
		(*dut)->trusted_ports = 0;
		(*dut)->port_priority = 0;
		(*dut)->s_axis_tvalid = 0;
		(*dut)->m_axis_tready = (1u << PORTS) - 1;
		dut->reset();
		for (unsigned p = 0; p < PORTS; p++) {
			ports[p] = Port();
			ports[p].beats = 1 + (beats - 1 + p) % FRAME_BEATS_MAX;
		}
		while (taken < before)
			taken += clock(false) & 1;
		for (Port &port : ports) {
			port.expected.clear();
			port.began_in_reset = true;
		}
		for (unsigned i = 0; i < reset_clocks; i++)
			clock(true);
		for (Port &port : ports) {
			CHECK(port.partial.empty(), "a beat left in the reset");
			port.whole = 0;
		}
		while (!all_ended())
			clock(false);
		for (unsigned i = 0; i < SETTLE_CLOCKS; i++)
			clock(false);
		for (unsigned p = 0; p < PORTS; p++)
			CHECK(ports[p].whole == ports[p].expected.size() &&
			              ports[p].partial.empty(),
			      "%zu beats, reset behind %zu for %u clocks, port %u: %zu frames "
			      "came, "
			      "not %zu",
			      beats, before, reset_clocks, p, ports[p].whole,
			      ports[p].expected.size());
	}

      private:
	bench::Random random = bench::Random(1);
	bench::Dut<Vina_top> *dut = nullptr;
	Port ports[PORTS];
	unsigned gaps = 0;

	bool all_ended()
	{
		size_t open = 0;

		for (Port &port : ports) {
			if (port.expected.size() >= FRAMES_AFTER && port.beat == 0) {
				port.beats = 0;
				port.offers = false;
			}
			open += port.beats > 0;
		}
		return open == 0;
	}

	/// Returns the ports whose beat was taken.
	unsigned clock(bool reset)
	{
		unsigned valid = 0, last = 0;

		for (unsigned p = 0; p < PORTS; p++) {
			Port &port = ports[p];

			port.offers = port.offers || (port.beats > 0 && !random.chance(gaps));
			if (!port.offers)
				continue;
			const bench::Bytes frame = port.bytes();
			const size_t at = port.beat * bench::BEAT_BYTES;
			const size_t count = std::min(frame.size() - at, bench::BEAT_BYTES);
			const uint64_t keep = bench::keep_mask(count);

			bench::put((*dut)->s_axis_tdata, p * bench::BEAT_BYTES, &frame[at], count);
			bench::put((*dut)->s_axis_tkeep, p * sizeof(keep), &keep, sizeof(keep));
			valid |= 1u << p;
			last |= (port.beat + 1 == port.beats ? 1u : 0u) << p;
		}
		(*dut)->rst = reset;
		(*dut)->s_axis_tvalid = static_cast<uint8_t>(valid);
		(*dut)->s_axis_tlast = static_cast<uint8_t>(last);
		dut->settle();
		const unsigned taken = valid & (*dut)->s_axis_tready;

		for (unsigned p = 0; p < PORTS; p++) {
			if (!reset && ((*dut)->m_axis_tvalid >> p & 1))
				collect(p);
			if (reset)
				ports[p].partial.clear();
			if (taken >> p & 1)
				advance(ports[p], reset);
		}
		dut->tick();
		return taken;
	}

	static void advance(Port &port, bool reset)
	{
		port.offers = false;
		if (port.beat == 0)
			port.began_in_reset = reset;
		if (++port.beat < port.beats)
			return;
		if (!port.began_in_reset)
			port.expected.push_back(port.bytes());
		port.beat = 0;
		port.frame++;
	}

	void collect(unsigned p)
	{
		Port &port = ports[p];
		uint64_t keep;

		std::memcpy(&keep, bench::get((*dut)->m_axis_tkeep, p * 8, 8).data(), sizeof(keep));
		const bench::Bytes data =
		        bench::get((*dut)->m_axis_tdata, p * bench::BEAT_BYTES,
		                   static_cast<size_t>(__builtin_popcountll(keep)));

		port.partial.insert(port.partial.end(), data.begin(), data.end());
		if (!((*dut)->m_axis_tlast >> p & 1))
			return;
		CHECK(port.whole < port.expected.size() &&
		              port.partial == port.expected[port.whole],
		      "port %u: %zu bytes came out that are no frame which began after the reset",
		      p, port.partial.size());
		port.whole++;
		port.partial.clear();
	}
};

} // namespace

int main()
{
	Test test;

	for (size_t beats = 1; beats <= FRAME_BEATS_MAX; beats++)
		for (size_t before = 0; before <= 2 * beats; before++)
			for (unsigned clocks = 1; clocks <= RESET_CLOCKS_MAX; clocks++)
				for (unsigned gap_percent : {0u, 50u})
					test.run(beats, before, clocks, gap_percent);
	return 0;
}
