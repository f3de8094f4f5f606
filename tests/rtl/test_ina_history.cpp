// SPDX-License-Identifier: Apache-2.0
//
// ina_history: what was last written at a place is read there, one clock after the read; and so is
// the length of the sum whose last beat was last written into a slot.

#include "bench.hpp"
#include "Vina_history.h"

#include <map>

namespace
{

constexpr unsigned JOBS = INA_JOB_COUNT, SLOTS = INA_SLOT_COUNT, BEATS = INA_MTU / 64;

/// Few enough to be met again, and the first and the last of all.
unsigned random_place(bench::Random &random)
{
	const unsigned job = static_cast<unsigned>(random.below(JOBS));
	const unsigned slot = random.chance(50) ? SLOTS - 1 - static_cast<unsigned>(random.below(2))
	                                        : static_cast<unsigned>(random.below(2));
	const unsigned beat =
	        random.chance(50) ? BEATS - 1 : static_cast<unsigned>(random.below(3));

	return (job * SLOTS + slot) * BEATS + beat;
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_history> dut;
	std::map<unsigned, bench::Bytes> model;
	std::map<unsigned, unsigned> lengths; // of slots
	unsigned peeked = 0;
	const unsigned width = bench::width_of(JOBS * SLOTS);

	/* Blocks of the largest size, in another order than the jobs. */
	for (unsigned j = 0; j < JOBS; j++)
		bench::set_bits(dut->job_base, j * width, width, (JOBS - 1 - j) * SLOTS);

	for (unsigned i = 0; i < 50000; i++) {
		const unsigned place = random_place(random);
		const unsigned wanted = random_place(random);
		const bench::Bytes data = random.bytes(64);

		dut->write_valid = random.chance(50) && place != wanted;
		dut->write_job = static_cast<uint8_t>(place / BEATS / SLOTS);
		dut->write_slot = static_cast<uint8_t>(place / BEATS % SLOTS);
		dut->write_beat = static_cast<uint8_t>(place % BEATS);
		bench::put(dut->write_data, 0, data.data(), data.size());
		dut->write_last = random.chance(50);
		dut->write_quads = static_cast<uint8_t>(1 + random.below(4));
		const unsigned peek = random_place(random) / BEATS;
		dut->peek_read = lengths.count(peek) > 0 && peek != place / BEATS;
		dut->peek_job = static_cast<uint8_t>(peek / SLOTS);
		dut->peek_slot = static_cast<uint8_t>(peek % SLOTS);
		if (dut->peek_read)
			peeked = lengths[peek];
		dut->read_valid = model.count(wanted) > 0;
		dut->read_job = static_cast<uint8_t>(wanted / BEATS / SLOTS);
		dut->read_slot = static_cast<uint8_t>(wanted / BEATS % SLOTS);
		dut->read_beat = static_cast<uint8_t>(wanted % BEATS);
		dut.tick();
		if (dut->read_valid)
			CHECK(bench::get(dut->read_data, 0, 64) == model[wanted], "place %x",
			      wanted);
		if (peeked)
			CHECK(dut->peek_quads == peeked, "slot %x: %u quads, not %u", peek,
			      dut->peek_quads, peeked);
		if (dut->write_valid)
			model[place] = data;
		if (dut->write_valid && dut->write_last)
			lengths[place / BEATS] = place % BEATS * 4 + dut->write_quads;
	}
	return 0;
}
