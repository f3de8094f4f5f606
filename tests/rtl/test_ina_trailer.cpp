// SPDX-License-Identifier: Apache-2.0
//
// ina_trailer: an overflow of an element, and only of an element, in any packet of a message is
// flagged in that message's trailer, and in no other message's or job's. What a last beat has past
// its end leaves as zeros.

#include "bench.hpp"
#include "Vina_trailer.h"

#include <algorithm>

namespace
{

constexpr unsigned JOBS = 4;

struct Beat {
	bool first, last, starts, ends;
	unsigned quads;
};

/// Is this lane of the beat neither message header nor trailer?
bool is_element(const Beat &beat, unsigned lane)
{
	if (beat.first && beat.starts && lane < 8)
		return false;
	return !(beat.last && beat.ends && lane / 4 == beat.quads - 1);
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_trailer> dut;
	bool overflowed[JOBS] = {};
	unsigned flagged = 0, clean = 0;

	dut->s_valid = 0;
	dut.reset();
	for (unsigned i = 0; i < 100000; i++) {
		const unsigned job = static_cast<unsigned>(random.below(JOBS));
		const bool join = random.chance(80);
		const bool last = random.chance(50);
		const Beat beat = {random.chance(50), last, random.chance(40), random.chance(40),
		                   last ? static_cast<unsigned>(1 + random.below(4)) : 4};
		const uint16_t overflow =
		        random.chance(60) ? 0 : static_cast<uint16_t>(1u << random.below(16));
		bench::Bytes data = random.bytes(64);

		dut->s_valid = 1;
		bench::put(dut->s_data, 0, data.data(), data.size());
		dut->s_overflow = overflow;
		dut->s_raw = !join;
		dut->s_job = static_cast<uint8_t>(job);
		dut->s_first = beat.first;
		dut->s_last = beat.last;
		dut->s_quads = static_cast<uint8_t>(beat.quads);
		dut->s_starts = beat.starts;
		dut->s_ends = beat.ends;
		dut.tick();
		if (join) {
			if (beat.first && beat.starts)
				overflowed[job] = false;
			for (unsigned lane = 0; lane < 16; lane++)
				overflowed[job] |= (overflow >> lane & 1) && is_element(beat, lane);
			if (beat.last && beat.ends) {
				(overflowed[job] ? flagged : clean)++;
				if (overflowed[job])
					data[(beat.quads - 1) * 16 + 4] |= 1;
			}
		}
		std::fill(data.begin() + beat.quads * 16, data.end(), 0);
		CHECK(dut->m_valid && bench::get(dut->m_data, 0, 64) == data,
		      "beat %u of job %u: wrong data or flag", i, job);
	}
	CHECK(flagged > 1000 && clean > 1000, "%u flagged, %u clean", flagged, clean);
	return 0;
}
