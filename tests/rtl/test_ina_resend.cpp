// SPDX-License-Identifier: Apache-2.0
//
// ina_resend: retransmissions come out whole and in order, no two of them at one entry, and `pending`
// names exactly the jobs of those that are in it.

#include "bench.hpp"
#include "Vina_resend.h"

#include <deque>

namespace
{

struct Entry {
	bool probe;
	uint8_t job, slot;
	uint16_t ordinal;
	uint8_t at; // the entry
};

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_resend> dut;
	std::deque<Entry> model;
	size_t most = 0;

	dut->s_valid = 0;
	dut->m_ready = 0;
	dut.reset();
	for (unsigned i = 0; i < 100000; i++) {
		Entry entry = {random.chance(50), static_cast<uint8_t>(random.below(4)),
		               static_cast<uint8_t>(random.below(128)),
		               static_cast<uint16_t>(random.next()), 0};
		unsigned pending = 0;

		dut->s_valid = random.chance(i / 1000 % 2 ? 70 : 30);
		dut->s_probe = entry.probe;
		dut->s_job = entry.job;
		dut->s_slot = entry.slot;
		dut->s_ordinal = entry.ordinal;
		dut->m_ready = random.chance(50);
		dut.settle();
		for (const Entry &waiting : model)
			pending |= 1u << waiting.job;
		CHECK(dut->pending == pending, "pending %x, not %x", dut->pending, pending);
		if (dut->m_valid) {
			CHECK(!model.empty(), "an entry from nowhere");
			const Entry &front = model.front();

			CHECK(dut->m_probe == front.probe && dut->m_job == front.job &&
			              dut->m_slot == front.slot &&
			              dut->m_ordinal == front.ordinal &&
			              dut->m_entry == front.at,
			      "not the oldest entry");
		}
		const bool pop = dut->m_valid && dut->m_ready;
		const bool push = dut->s_valid && dut->s_ready;

		entry.at = dut->s_entry;
		for (const Entry &waiting : model)
			CHECK(!push || waiting.at != entry.at, "two at entry %u", entry.at);
		if (pop)
			model.pop_front();
		if (push)
			model.push_back(entry);
		most = std::max(most, model.size());
		dut.tick();
	}
	CHECK(most >= 16, "never full: %zu", most);
	return 0;
}
