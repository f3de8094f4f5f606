// SPDX-License-Identifier: Apache-2.0
//
// ina_memory against a map of the memory. Blocks never overlap. Each is the largest free block of
// at most the requested size that leaves a grain to each other context without memory, at the
// lowest place. The memory of idle contexts comes back, whole.

#include "bench.hpp"
#include "Vina_memory.h"

#include <algorithm>

namespace
{

constexpr unsigned JOBS = INA_JOB_COUNT, SLOTS = INA_SLOT_COUNT, MEMORY = INA_MEMORY,
                   GRAIN = INA_GRAIN;
constexpr unsigned SLOT_W = bench::width_of(SLOTS), INDEX_W = bench::width_of(MEMORY);
constexpr unsigned CHANGE_CLOCKS = 3; // until a change becomes visible

struct Block {
	unsigned base = 0, packets = 0; // packets 0: no block
};

template <class Port> unsigned bits(const Port &port, unsigned at, unsigned width)
{
	const uint8_t *bytes = reinterpret_cast<const uint8_t *>(&port);
	unsigned value = 0;

	for (unsigned i = 0; i < width; i++)
		value |= (bytes[(at + i) / 8] >> (at + i) % 8 & 1u) << i;
	return value;
}

/// The lowest of the largest blocks that fit, for a context without memory.
Block find(const Block (&blocks)[JOBS], uint32_t asked, bool shares)
{
	bool used[MEMORY] = {};
	unsigned left = MEMORY, to_come = 0; // packets; contexts without memory

	for (const Block &block : blocks) {
		for (unsigned p = 0; p < block.packets; p++) {
			CHECK(block.base + p < MEMORY && !used[block.base + p], "blocks overlap");
			used[block.base + p] = true;
		}
		left -= block.packets;
		to_come += block.packets == 0;
	}
	for (unsigned size = SLOTS; size >= GRAIN && size > 0; size /= 2)
		for (unsigned base = 0; base + size <= MEMORY; base += size)
			if (((size <= asked && (!shares || size * JOBS <= MEMORY)) ||
			     size == GRAIN) &&
			    left - size >= (to_come - 1) * GRAIN && left >= size &&
			    std::none_of(used + base, used + base + size,
			                 [](bool in) { return in; }))
				return {base, size};
	CHECK(false, "%u packets are left, and no block", left);
	return {};
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_memory> dut;
	Block blocks[JOBS];
	uint64_t idle = 0;
	unsigned granted = 0, less = 0, least = 0, shared = 0;

	dut->look = dut->take = dut->has_quota = 0;
	dut->idle = 0;
	dut.reset();
	for (unsigned i = 0; i < 40000; i++) {
		/* Alternately, jobs end faster than they come, and slower, until the memory is
		 * full. */
		const unsigned per_mille = i % 500 < 150 ? 200 : 2;
		const bool shares = i % 4000 >= 3000;
		const uint32_t asked =
		        random.chance(10)
		                ? 1 + static_cast<uint32_t>(random.below(uint64_t{1} << 31))
		                : 1 + static_cast<uint32_t>(random.below(2 * SLOTS));
		unsigned job = static_cast<unsigned>(random.below(JOBS));

		/* Some become idle, and all idle contexts give their memory back. */
		for (unsigned j = 0; j < JOBS; j++)
			if (blocks[j].packets && random.below(1000) < per_mille)
				idle |= uint64_t{1} << j;
		bench::set_bits(dut->idle, 0, JOBS, idle);
		for (unsigned clocks = 0; dut.settle(), dut->busy; clocks++) {
			CHECK(clocks < 2 * JOBS + 2, "busy forever");
			dut.tick();
		}
		for (unsigned j = 0; j < JOBS; j++)
			if (idle >> j & 1)
				blocks[j] = Block();
		idle = 0;
		for (unsigned clocks = 0; clocks < CHANGE_CLOCKS; clocks++)
			dut.tick();
		for (unsigned j = 0; j < JOBS; j++)
			CHECK(bits(dut->has_block, j, 1) == (blocks[j].packets > 0), "job %u: held",
			      j);
		dut->has_quota = shares;
		shared += shares && (SLOTS * JOBS > MEMORY) && asked >= SLOTS;
		dut->look = 1;
		dut->asked = 0u - asked;
		dut.tick();
		dut->look = 0;
		dut.tick();
		if (blocks[job].packets > 0 || random.chance(10))
			continue;
		const Block want = find(blocks, asked, dut->has_quota);
		dut->take = 1;
		dut->take_job = static_cast<uint8_t>(job);
		dut.tick();
		dut->take = 0;
		blocks[job] = want;
		granted++;
		less += 2 * want.packets <= std::min(asked, SLOTS);
		least += want.packets == GRAIN && 2 * GRAIN <= std::min(asked, SLOTS);
		for (unsigned j = 0; j < JOBS; j++)
			if (blocks[j].packets)
				CHECK(bits(dut->job_base, j * INDEX_W, INDEX_W) == blocks[j].base &&
				              bits(dut->job_window, j * SLOT_W, SLOT_W) + 1 ==
				                      blocks[j].packets,
				      "job %u: %u packets from %u on, not %u from %u", j,
				      bits(dut->job_window, j * SLOT_W, SLOT_W) + 1,
				      bits(dut->job_base, j * INDEX_W, INDEX_W), blocks[j].packets,
				      blocks[j].base);
	}
	std::printf("%u granted, %u of them less than was asked for, %u the least\n", granted, less,
	            least);
	CHECK(SLOTS * JOBS <= MEMORY || shared > 100, "more than a share was asked for %u times",
	      shared);
	CHECK(granted > 1000, "%u granted", granted);
	CHECK(MEMORY >= JOBS * SLOTS || less > 100, "%u granted less", less);
	CHECK(2 * MEMORY > JOBS * SLOTS || least > 100, "%u granted the least", least);
	return 0;
}
