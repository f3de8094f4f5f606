// SPDX-License-Identifier: Apache-2.0
//
// ina_fifo against a queue: it loses nothing, repeats nothing and keeps the order. It is full
// exactly when DEPTH words wait in front of the output register, and a word can be read two clocks
// after it was written.

#include "bench.hpp"
#include "Vina_fifo.h"

#include <deque>

namespace
{

constexpr unsigned CLOCKS = 200000;
constexpr unsigned DEPTH = 16;

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_fifo> dut;
	std::deque<std::pair<uint64_t, uint8_t>> model; // clock of writing, word
	unsigned write_percent = 50, read_percent = 50;
	unsigned most = 0;

	dut->s_valid = 0;
	dut->m_ready = 0;
	dut.reset();
	for (unsigned i = 0; i < CLOCKS; i++) {
		if (i % 100 == 0) {
			write_percent = static_cast<unsigned>(random.below(101));
			read_percent = static_cast<unsigned>(random.below(101));
		}
		dut->s_valid = random.chance(write_percent);
		dut->s_data = static_cast<uint8_t>(random.next());
		dut->m_ready = random.chance(read_percent);
		dut.settle();
		CHECK(dut->count == model.size(), "count %u, must be %zu", dut->count,
		      model.size());
		CHECK(dut->s_ready == (model.size() - dut->m_valid < DEPTH), "s_ready = %d at %zu",
		      dut->s_ready, model.size());
		CHECK(!dut->m_valid || !model.empty(), "a word from nowhere");
		CHECK(dut->m_valid || model.empty() || model.front().first + 2 > dut.clocks,
		      "a word came too late");
		CHECK(!dut->m_valid || dut->m_data == model.front().second, "%02x, must be %02x",
		      dut->m_data, model.front().second);
		const bool popped = dut->m_valid && dut->m_ready;
		const bool pushed = dut->s_valid && dut->s_ready;

		if (popped)
			model.pop_front();
		if (pushed)
			model.push_back({dut.clocks, dut->s_data});
		most = model.size() > most ? static_cast<unsigned>(model.size()) : most;
		dut.tick();
	}
	CHECK(most == DEPTH + 1, "never held more than %u words", most);
	return 0;
}
