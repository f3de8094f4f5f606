// SPDX-License-Identifier: Apache-2.0
//
// ina_trailer. If an element overflows in any packet of a message, that message's trailer says so,
// but no trailer of another message or job; only elements count. Congestion is reported in the
// job's next trailer, and in no later one, nor in a trailer of the next job that has the context.
// If one of some contexts is wanted, the next trailer of DATA of one of their jobs says so, once;
// no trailer of a later job in such a context does. Bytes past the end of a last beat leave as
// zeros. A JOIN's sum has the smaller of its window and the job's. Unless it is a part, it also
// says how many jobs were there before this one.

#include "bench.hpp"
#include "Vina_trailer.h"

#include <algorithm>

#include "wire/ina_wire.h"

namespace
{

constexpr unsigned JOBS = 4, WINDOW_W = 7;

struct Beat {
	bool first, last, starts, ends;
	unsigned quads;
};

/// Does this lane of the beat belong neither to the message header nor to the trailer?
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
	bool overflowed[JOBS] = {}, congested[JOBS] = {}, wanted[JOBS] = {};
	unsigned flagged = 0, clean = 0, met = 0, unmet = 0, lowered = 0, kept = 0, asked_for = 0,
	         others = 0, told = 0;
	int32_t granted[JOBS];
	uint32_t windows = 0;
	const unsigned before[JOBS] = {0, 3, 1, 2};

	dut->job_before = 0;
	for (unsigned j = 0; j < JOBS; j++) {
		dut->job_before |= static_cast<uint16_t>(before[j] << 3 * j);
		granted[j] = 1 << (j == 0 ? WINDOW_W : random.below(WINDOW_W));
		windows |= static_cast<uint32_t>(granted[j] - 1) << (WINDOW_W * j);
	}
	dut->job_window = windows;
	dut->s_valid = 0;
	dut->job_valid = 0;
	dut->down_marked = 0;
	dut->context_wanted = 0;
	dut.reset();
	dut.tick();
	for (unsigned i = 0; i < 100000; i++) {
		const unsigned job = static_cast<unsigned>(random.below(JOBS));
		const bool join = random.chance(80);
		const bool last = random.chance(50);
		const Beat beat = {random.chance(50), last, random.chance(40), random.chance(40),
		                   last ? static_cast<unsigned>(1 + random.below(4)) : 4};
		const uint16_t overflow =
		        random.chance(60) ? 0 : static_cast<uint16_t>(1u << random.below(16));
		bench::Bytes data = random.bytes(64);
		int32_t asked = -1 - static_cast<int32_t>(random.below(2u << WINDOW_W));

		if (random.chance(10))
			asked = static_cast<int32_t>(random.next());
		data[3] = static_cast<uint8_t>(INA_WIRE_JOIN + random.below(2));
		std::memcpy(&data[28], &asked, sizeof(asked));
		const bool marked = random.chance(15), down_marked = random.chance(15);
		const unsigned wants =
		        random.chance(5) ? static_cast<unsigned>(random.below(16)) : 0;
		const unsigned down_job = static_cast<unsigned>(random.below(JOBS));
		// A free context has no packet under way.
		const unsigned freed = static_cast<unsigned>(random.below(20));
		const unsigned free_jobs =
		        freed < JOBS && freed != job && freed != down_job ? 1u << freed : 0;

		dut->s_valid = 1;
		dut->s_marked = marked;
		dut->down_marked = down_marked;
		dut->context_wanted = static_cast<uint8_t>(wants);
		dut->down_job = static_cast<uint8_t>(down_job);
		dut->job_valid = static_cast<uint8_t>(0xF & ~free_jobs);
		bench::put(dut->s_data, 0, data.data(), data.size());
		dut->s_overflow = overflow;
		const bool part = random.chance(30);

		dut->s_raw = !join;
		dut->s_part = part;
		dut->s_job = static_cast<uint8_t>(job);
		dut->s_first = beat.first;
		dut->s_last = beat.last;
		dut->s_quads = static_cast<uint8_t>(beat.quads);
		dut->s_starts = beat.starts;
		dut->s_ends = beat.ends;
		dut.tick();
		if (join && beat.first && beat.starts && data[3] == INA_WIRE_JOIN) {
			const int32_t smaller = std::max(asked, -granted[job]);

			(smaller == asked ? kept : lowered)++;
			std::memcpy(&data[28], &smaller, sizeof(smaller));
		}
		if (join) {
			if (beat.first && beat.starts)
				overflowed[job] = false;
			for (unsigned lane = 0; lane < 16; lane++)
				overflowed[job] |= (overflow >> lane & 1) && is_element(beat, lane);
			congested[job] |= beat.first && marked;
			if (beat.last && beat.ends) {
				(overflowed[job] ? flagged : clean)++;
				(congested[job] ? met : unmet)++;
				if (overflowed[job])
					data[(beat.quads - 1) * 16 + 4] |= 1;
				if (congested[job])
					data[(beat.quads - 1) * 16 + 4] |= 4;
				congested[job] = false;
				// Only the first beat gives the message type.
				const bool is_data =
				        !(beat.first && beat.starts && data[3] != INA_WIRE_DATA);

				// In the flags' upper half.
				if (!is_data && !part) {
					data[(beat.quads - 1) * 16 + 6] |=
					        static_cast<uint8_t>(before[job]);
					told += before[job] > 0;
				}
				if (wanted[job] && is_data) {
					data[(beat.quads - 1) * 16 + 4] |= 8;
					std::fill(wanted, wanted + JOBS, false);
					asked_for++;
				} else {
					others += is_data &&
					          std::count(wanted, wanted + JOBS, true) > 0;
				}
			}
		}
		if (down_marked)
			congested[down_job] = true;
		for (unsigned j = 0; j < JOBS; j++)
			wanted[j] |= wants >> j & 1;
		for (unsigned j = 0; j < JOBS; j++)
			if (free_jobs >> j & 1)
				congested[j] = wanted[j] = false;
		std::fill(data.begin() + beat.quads * 16, data.end(), 0);
		CHECK(dut->m_valid && bench::get(dut->m_data, 0, 64) == data,
		      "beat %u of job %u: wrong data or flag", i, job);
	}
	CHECK(flagged > 1000 && clean > 1000, "%u flagged, %u clean", flagged, clean);
	CHECK(told > 500, "%u were notified of other jobs", told);
	CHECK(lowered > 500 && kept > 500, "%u lowered, %u kept", lowered, kept);
	CHECK(asked_for > 500 && others > 500,
	      "a context was asked for %u times, and %u trailers were of others", asked_for,
	      others);
	CHECK(met > 1000 && unmet > 1000, "congestion: %u flagged, %u clean", met, unmet);
	return 0;
}
