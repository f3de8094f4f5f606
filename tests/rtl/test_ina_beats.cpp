// SPDX-License-Identifier: Apache-2.0
//
// ina_beats: every beat of every packet comes once and in order, one a clock, without a gap within
// a packet or between two. A packet of one beat takes two clocks, so two packets never end in
// consecutive clocks. No packet begins in a clock of `waits`, which delays nothing else.

#include "bench.hpp"
#include "Vina_beats.h"

namespace
{

struct Packet {
	unsigned quads = 0;
	uint32_t side = 0;

	unsigned beats() const
	{
		return (quads + 3) / 4;
	}
};

class Beats
{
      public:
	explicit Beats(bench::Random &generator) : random(generator)
	{
		dut->s_valid = dut->waits = 0;
		dut.reset();
		draw();
	}

	void clock()
	{
		dut->s_valid = is_offered = is_offered || random.chance(offered_percent);
		dut->s_quads = static_cast<uint16_t>(offered.quads);
		dut->s_side = offered.side;
		dut->waits = random.chance(waits_percent);
		dut.settle();
		const bool goes = is_held && dut.clocks >= next_at && !(beat == 0 && dut->waits);
		const bool ends = goes && beat + 1 == held.beats();
		CHECK(dut->busy == is_held, "busy: %u", dut->busy);
		CHECK(dut->m_valid == goes, "clock %llu, beat %u of %u: goes %u",
		      static_cast<unsigned long long>(dut.clocks), beat, held.beats(),
		      dut->m_valid);
		CHECK(dut->s_ready == (!is_held || ends), "takes the next one: %u", dut->s_ready);
		if (goes)
			check_beat(ends);
		held_back += is_held && beat == 0 && dut->waits;
		if (ends)
			is_held = false;
		if (dut->s_valid && dut->s_ready) {
			/* The first beat of a packet comes in the next clock. If the packet also
			 * ends with that beat, it comes one clock later. */
			held = offered;
			is_held = true;
			beat = 0;
			next_at = dut.clocks + (held.beats() == 1 ? 2 : 1);
			packets++;
			back_to_back += ends;
			draw();
		}
		dut.tick();
	}

	void set_pace(unsigned offered, unsigned waits)
	{
		offered_percent = offered;
		waits_percent = waits;
	}

	unsigned packets = 0, back_to_back = 0, held_back = 0;

      private:
	bench::Random &random;
	bench::Dut<Vina_beats> dut;
	Packet offered, held;
	bool is_offered = false, is_held = false;
	unsigned beat = 0; // the next beat of the packet that is held
	uint64_t next_at = 0, ended_at = ~uint64_t{0} - 1;
	unsigned offered_percent = 0, waits_percent = 0;

	void draw()
	{
		is_offered = false;
		offered.quads =
		        static_cast<unsigned>(1 + random.below(random.chance(80) ? 12 : 256));
		offered.side = static_cast<uint32_t>(random.next());
	}

	void check_beat(bool ends)
	{
		CHECK(dut->m_beat == beat && dut->m_side == held.side, "beat %u, not %u",
		      dut->m_beat, beat);
		CHECK(dut->m_first == (beat == 0) && dut->m_last == ends,
		      "first, last of beat %u of %u", beat, held.beats());
		CHECK(dut->m_quads == (ends ? held.quads - 4 * beat : 4), "quads of beat %u", beat);
		if (ends) {
			CHECK(dut.clocks != ended_at + 1, "two packets end in consecutive clocks");
			ended_at = dut.clocks;
		}
		beat++;
	}
};

} // namespace

int main()
{
	bench::Random random(bench::seed());
	const unsigned paces[][2] = {{100, 0}, {100, 30}, {30, 0}, {60, 90}};

	for (const unsigned(&pace)[2] : paces) {
		Beats beats(random);

		beats.set_pace(pace[0], pace[1]);
		for (unsigned i = 0; i < 100000; i++)
			beats.clock();
		CHECK(beats.packets > 1000 && beats.back_to_back > 100,
		      "%u packets, %u at the same time", beats.packets, beats.back_to_back);
		CHECK(!pace[1] || beats.held_back > 1000, "%u clocks held back", beats.held_back);
	}
	return 0;
}
