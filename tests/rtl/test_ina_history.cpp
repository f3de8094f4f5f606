// SPDX-License-Identifier: Apache-2.0
//
// ina_history: a read returns, one clock later, the beat that was last written at that place. The
// same holds for the length of the sum whose last beat was last written into a slot.

#include "bench.hpp"
#include "Vina_history.h"

#include <map>

namespace
{

constexpr unsigned PACKETS = INA_MEMORY, BEATS = INA_MTU / 64;

/// The places are few, so that they are used again, and include the first and the last place.
unsigned random_place(bench::Random &random)
{
	const unsigned packet = random.chance(50)
	                                ? PACKETS - 1 - static_cast<unsigned>(random.below(2))
	                                : static_cast<unsigned>(random.below(2));
	const unsigned beat =
	        random.chance(50) ? BEATS - 1 : static_cast<unsigned>(random.below(3));

	return packet * BEATS + beat;
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_history> dut;
	std::map<unsigned, bench::Bytes> model;
	std::map<unsigned, unsigned> lengths; // of packets
	unsigned peeked = 0;

	for (unsigned i = 0; i < 50000; i++) {
		const unsigned place = random_place(random);
		const unsigned wanted = random_place(random);
		const bench::Bytes data = random.bytes(64);

		dut->write_valid = random.chance(50) && place != wanted;
		dut->write_index = static_cast<uint16_t>(place / BEATS);
		dut->write_beat = static_cast<uint8_t>(place % BEATS);
		bench::put(dut->write_data, 0, data.data(), data.size());
		dut->write_last = random.chance(50);
		dut->write_quads = static_cast<uint8_t>(1 + random.below(4));
		const unsigned peek = random_place(random) / BEATS;
		dut->peek_read = lengths.count(peek) > 0 && peek != place / BEATS;
		dut->peek_index = static_cast<uint16_t>(peek);
		if (dut->peek_read)
			peeked = lengths[peek];
		dut->read_valid = model.count(wanted) > 0;
		dut->read_index = static_cast<uint16_t>(wanted / BEATS);
		dut->read_beat = static_cast<uint8_t>(wanted % BEATS);
		dut.tick();
		if (dut->read_valid)
			CHECK(bench::get(dut->read_data, 0, 64) == model[wanted], "place %x",
			      wanted);
		if (peeked)
			CHECK(dut->peek_quads == peeked, "packet %x: %u quads, not %u", peek,
			      dut->peek_quads, peeked);
		if (dut->write_valid)
			model[place] = data;
		if (dut->write_valid && dut->write_last)
			lengths[place / BEATS] = place % BEATS * 4 + dut->write_quads;
	}
	return 0;
}
