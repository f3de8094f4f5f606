// SPDX-License-Identifier: Apache-2.0
//
// ina_counters against sums made here: any events of all ports in one clock, each of which is
// counted once, in the order of model/counters.h.

#include "bench.hpp"
#include "Vina_counters.h"

extern "C" {
#include "model/counters.h"
}

namespace
{

constexpr unsigned PORTS = 4, COUNTERS = INA_COUNTER_COUNT;

/// Does a judge count this event? All other events are counted where they happen.
bool is_judged(unsigned counter)
{
	return counter == 0 || counter == 2 || counter == 3 || (counter >= 8 && counter < 14) ||
	       (counter > 20 && counter < 25);
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_counters> dut;
	ina_counters want = {};
	uint64_t *const counts = reinterpret_cast<uint64_t *>(&want);

	std::memset(&dut->judged[0], 0, sizeof(dut->judged));
	dut->passed = dut->marked = dut->opened = dut->lacked = 0;
	dut->newly_closed = dut->newly_broken = 0;
	dut->newly_expired = dut->answered = dut->differed = dut->dropped = 0;
	dut->done_valid = 0;
	dut.reset();
	for (unsigned i = 0; i < 100000; i++) {
		uint32_t judged[(PORTS * COUNTERS + 31) / 32] = {};

		for (unsigned bit = 0; bit < PORTS * COUNTERS; bit++)
			if (random.chance(5) && is_judged(bit % COUNTERS)) {
				judged[bit / 32] |= 1u << bit % 32;
				counts[bit % COUNTERS]++;
			}
		bench::put(dut->judged, 0, judged, sizeof(judged));
		dut->passed = static_cast<uint8_t>(1 + random.below(15)); // some event happens
		dut->marked = static_cast<uint8_t>(random.below(16));
		dut->opened = random.chance(50);
		dut->lacked = random.chance(50);
		dut->newly_closed = static_cast<uint8_t>(random.below(16));
		dut->newly_broken = static_cast<uint8_t>(random.below(16));
		dut->newly_expired = static_cast<uint8_t>(random.chance(20) ? random.below(16) : 0);
		dut->answered = static_cast<uint8_t>(random.below(16));
		dut->differed = static_cast<uint8_t>(random.below(16));
		dut->dropped = static_cast<uint8_t>(random.below(16));
		dut->done_valid = random.chance(50);
		dut->done_raw = random.chance(30);
		dut->done_mask = static_cast<uint8_t>(random.below(16));
		dut->done_last_beat = static_cast<uint8_t>(random.below(64));
		dut->done_last_quads = static_cast<uint8_t>(1 + random.below(4));
		want.frames_passed += static_cast<unsigned>(__builtin_popcount(dut->passed));
		want.ecn_marked += static_cast<unsigned>(__builtin_popcount(dut->marked));
		want.jobs_opened += dut->opened;
		want.contexts_lacked += dut->lacked;
		want.jobs_closed += static_cast<unsigned>(__builtin_popcount(dut->newly_closed));
		want.jobs_broken += static_cast<unsigned>(__builtin_popcount(dut->newly_broken));
		want.jobs_expired += static_cast<unsigned>(__builtin_popcount(dut->newly_expired));
		want.duplicates_answered +=
		        static_cast<unsigned>(__builtin_popcount(dut->answered));
		want.answers_differ += static_cast<unsigned>(__builtin_popcount(dut->differed));
		want.answers_dropped += static_cast<unsigned>(__builtin_popcount(dut->dropped));
		if (dut->done_valid) {
			const uint64_t ports =
			        static_cast<unsigned>(__builtin_popcount(dut->done_mask));

			(dut->done_raw ? want.packets_raw : want.packets_joined) += ports;
			if (!dut->done_raw)
				want.bytes_joined += ports * (dut->done_last_beat * 64u +
				                              dut->done_last_quads * 16u);
		}
		dut.tick();
		CHECK(dut->busy, "an event was lost");
		std::memset(&dut->judged[0], 0, sizeof(dut->judged));
		dut->passed = dut->marked = dut->opened = dut->lacked = 0;
		dut->newly_closed = dut->newly_broken = 0;
		dut->newly_expired = dut->answered = dut->differed = dut->dropped = 0;
		dut->done_valid = 0;
		if (random.chance(50))
			continue;
		dut.tick();
		CHECK(dut->busy, "an event was not waited for");
		dut.tick();
		CHECK(!dut->busy, "nothing happens");
		CHECK(std::memcmp(&dut->counters[0], counts, sizeof(want)) == 0,
		      "the counters differ after clock %u", i);
	}
	return 0;
}
