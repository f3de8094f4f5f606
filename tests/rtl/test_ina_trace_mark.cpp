// SPDX-License-Identifier: Apache-2.0
//
// ina_trace_mark: each port's mark has the CRC of the slot that it describes, as zlib computes it
// for the slot at its level's place in a TRACE.

#include "bench.hpp"
#include "wire/ina_wire.h"
#include "Vina_trace_mark.h"

#include <zlib.h>

namespace
{

constexpr unsigned MARK_BITS = 32 + 2 + 4 + 7 + 64;

uint64_t bits(const bench::Bytes &bytes, size_t at, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++)
		value |= static_cast<uint64_t>(bytes[(at + i) / 8] >> (at + i) % 8 & 1) << i;
	return value;
}

/// From the level's slot to the end of the trailer; zlib's start value and complement cancel out.
uint32_t crc_of(unsigned level, unsigned port, unsigned jobs, uint64_t id)
{
	bench::Bytes empty(16 * (INA_WIRE_LEVELS - level + 2), 0), full = empty;

	std::memcpy(full.data(), &id, 8);
	full[8] = static_cast<uint8_t>(port);
	full[12] = static_cast<uint8_t>(jobs);
	return static_cast<uint32_t>(crc32(0, full.data(), static_cast<uInt>(full.size())) ^
	                             crc32(0, empty.data(), static_cast<uInt>(empty.size())));
}

} // namespace

int main()
{
	bench::Dut<Vina_trace_mark> dut;
	bench::Random random(bench::seed());

	for (unsigned i = 0; i < 2000; i++) {
		const unsigned level = 1 + i % INA_WIRE_LEVELS;
		const unsigned jobs = static_cast<unsigned>(random.below(65));
		const uint64_t id = random.next();

		dut->level = static_cast<uint8_t>(level);
		dut->id = id;
		dut->jobs = static_cast<uint8_t>(jobs);
		dut.settle();
		dut.tick();
		dut.settle();
		const bench::Bytes marks =
		        bench::get(dut->m_marks, 0, (INA_PORT_COUNT * MARK_BITS + 7) / 8);

		for (unsigned port = 0; port < INA_PORT_COUNT; port++) {
			const size_t at = static_cast<size_t>(port) * MARK_BITS;

			CHECK(bits(marks, at, 64) == id && bits(marks, at + 64, 7) == jobs &&
			              bits(marks, at + 71, 4) == port &&
			              bits(marks, at + 75, 2) == level,
			      "port %u has another mark", port);
			CHECK(bits(marks, at + 77, 32) == crc_of(level, port, jobs, id),
			      "port %u, level %u: the CRC differs", port, level);
		}
	}
	return 0;
}
