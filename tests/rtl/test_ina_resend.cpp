// SPDX-License-Identifier: Apache-2.0
//
// ina_resend: retransmissions come out whole and in order, and `pending` names exactly the jobs of
// those that are in it.

#include "bench.hpp"
#include "Vina_resend.h"

#include <deque>

namespace
{

struct Entry {
	bool probe;
	uint8_t job, slot, mark;
	uint16_t ordinal;
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
		const Entry entry = {random.chance(50), static_cast<uint8_t>(random.below(4)),
		                     static_cast<uint8_t>(random.below(128)),
		                     static_cast<uint8_t>(random.next()),
		                     static_cast<uint16_t>(random.next())};
		unsigned pending = 0;

		dut->s_valid = random.chance(i / 1000 % 2 ? 70 : 30);
		dut->s_probe = entry.probe;
		dut->s_job = entry.job;
		dut->s_slot = entry.slot;
		dut->s_ordinal = entry.ordinal;
		bench::put_header(dut->s_header, bench::Bytes(54, entry.mark), entry.mark);
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
			              bench::get(dut->m_header, 0, bench::RECORD_BYTES) ==
			                      bench::record_of(bench::Bytes(54, front.mark)),
			      "not the oldest entry");
		}
		const bool pop = dut->m_valid && dut->m_ready;
		const bool push = dut->s_valid && dut->s_ready;

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
