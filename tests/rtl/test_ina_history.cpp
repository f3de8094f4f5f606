// SPDX-License-Identifier: Apache-2.0
//
// ina_history: what was last written at a place is read there, one clock after the read.

#include "bench.hpp"
#include "Vina_history.h"

#include <map>

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_history> dut;
	std::map<unsigned, bench::Bytes> model;

	for (unsigned i = 0; i < 50000; i++) {
		const unsigned place = static_cast<unsigned>(random.below(4 * 128 * 64)) & 0x60C3;
		const unsigned wanted = static_cast<unsigned>(random.below(4 * 128 * 64)) & 0x60C3;
		const bench::Bytes data = random.bytes(64);

		dut->write_valid = random.chance(50) && place != wanted;
		dut->write_job = static_cast<uint8_t>(place >> 13);
		dut->write_slot = static_cast<uint8_t>(place >> 6 & 127);
		dut->write_beat = static_cast<uint8_t>(place & 63);
		bench::put(dut->write_data, 0, data.data(), data.size());
		dut->read_valid = model.count(wanted) > 0;
		dut->read_job = static_cast<uint8_t>(wanted >> 13);
		dut->read_slot = static_cast<uint8_t>(wanted >> 6 & 127);
		dut->read_beat = static_cast<uint8_t>(wanted & 63);
		dut.tick();
		if (dut->read_valid)
			CHECK(bench::get(dut->read_data, 0, 64) == model[wanted], "place %x",
			      wanted);
		if (dut->write_valid)
			model[place] = data;
	}
	return 0;
}
