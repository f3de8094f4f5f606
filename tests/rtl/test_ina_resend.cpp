// SPDX-License-Identifier: Apache-2.0
//
// ina_resend: retransmissions come out whole and in order, and no two of them share an entry.
// `pending` names exactly the jobs whose retransmissions are in the module or have just left it.
// `behind` names a job from its first answer on. It does so until all answers have gone and a
// packet has come that needs none, or no packet has come for a while.

#include "bench.hpp"
#include "Vina_resend.h"

#include <deque>

namespace
{

struct Entry {
	bench::Resend resend;
	uint8_t at; // the entry
};

constexpr unsigned PATIENCE_CLOCKS = 4096, PATIENCE_MOST = 5 * 1024;

/// One answer, which leaves immediately if `goes` is set.
void answer(bench::Dut<Vina_resend> &dut, unsigned job, bool goes)
{
	dut->s_valid = 1;
	dut->s_resend = bench::Resend{0, job, 0, 0, 0}.bits();
	dut->m_ready = goes;
	dut.tick();
	dut->s_valid = 0;
	for (unsigned i = 0; i < 4; i++)
		dut.tick();
	dut->m_ready = 0;
}

void catch_up(bench::Dut<Vina_resend> &dut, unsigned job)
{
	dut->s_caught_up = 1;
	dut->s_resend = bench::Resend{0, job, 0, 0, 0}.bits();
	dut.tick();
	dut->s_caught_up = 0;
	dut.tick();
}

void test_behind()
{
	bench::Dut<Vina_resend> dut;

	dut->s_valid = dut->m_ready = dut->s_caught_up = 0;
	dut.reset();
	CHECK(dut->behind == 0, "behind from the start");
	answer(dut, 2, true);
	CHECK(dut->behind == 4 && dut->pending == 0, "no more answers are awaited");
	catch_up(dut, 1);
	CHECK(dut->behind == 4, "another job's packet ends it");
	catch_up(dut, 2);
	CHECK(dut->behind == 0, "it does not end with a packet that needs no answer");

	answer(dut, 1, false);
	catch_up(dut, 1);
	CHECK(dut->behind == 2, "it ends before the answer has gone");
	dut->m_ready = 1;
	for (unsigned i = 0; i < 3; i++)
		dut.tick();
	CHECK(dut->behind == 0, "it does not end when the answer has gone");

	answer(dut, 3, true);
	for (unsigned i = 0; i < PATIENCE_CLOCKS - 10; i++)
		dut.tick();
	CHECK(dut->behind == 8, "it does not wait for the next one");
	for (unsigned i = 0; i < PATIENCE_MOST - PATIENCE_CLOCKS; i++)
		dut.tick();
	CHECK(dut->behind == 0, "it waits forever");

	dut->s_valid = 1;
	dut->s_resend = bench::Resend{1, 0, 0, 0, 0}.bits();
	dut.tick();
	dut->s_valid = 0;
	dut.tick();
	CHECK(dut->behind == 0, "a probe is no answer");
}

/// Job 2 has had its last answer. Job 1's answers come again and again, and one of them is always
/// waiting.
void test_jobs_apart()
{
	bench::Dut<Vina_resend> dut;

	dut->s_valid = dut->m_ready = dut->s_caught_up = 0;
	dut.reset();
	answer(dut, 1, false);
	answer(dut, 2, false);
	catch_up(dut, 2);
	for (unsigned i = 0; i < 3; i++)
		answer(dut, 1, false);
	dut->m_ready = 1; // the answers of 1 and 2
	dut.tick();
	dut.tick();
	dut->m_ready = 0;
	dut.tick();
	CHECK(dut->pending == 2, "pending %x", dut->pending);
	dut.tick();
	CHECK(dut->behind == 2, "another job's answers hold job 2's sums");

	answer(dut, 3, false);
	dut->m_ready = 1;
	for (unsigned i = 0; i < 8; i++)
		dut.tick();
	CHECK(dut->pending == 0 && dut->behind == 10, "behind %x", dut->behind);
	for (unsigned i = 0; i < PATIENCE_MOST / 64; i++) {
		for (unsigned j = 0; j < 60; j++)
			dut.tick();
		answer(dut, 1, true);
	}
	CHECK(dut->behind == 2, "while another job's answers come, job 3 waits forever");
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_resend> dut;
	std::deque<Entry> model;
	size_t most = 0;
	unsigned left = 0; // in the clock before: jobs

	test_behind();
	test_jobs_apart();
	dut->s_valid = dut->s_caught_up = 0;
	dut->m_ready = 0;
	dut.reset();
	for (unsigned i = 0; i < 100000; i++) {
		Entry entry = {{random.chance(50), static_cast<unsigned>(random.below(4)),
		                static_cast<unsigned>(random.below(128)),
		                static_cast<unsigned>(random.next() & 0xFFFF),
		                static_cast<unsigned>(random.below(512))},
		               0};
		unsigned pending = left;

		dut->s_valid = random.chance(i / 1000 % 2 ? 70 : 30);
		dut->s_resend = entry.resend.bits();
		dut->m_ready = random.chance(50);
		dut.settle();
		for (const Entry &waiting : model)
			pending |= 1u << waiting.resend.job;
		CHECK(dut->pending == pending, "pending %x, not %x", dut->pending, pending);
		if (dut->m_valid) {
			CHECK(!model.empty(), "an entry from nowhere");
			const Entry &front = model.front();

			CHECK(dut->m_resend == front.resend.bits() && dut->m_entry == front.at,
			      "not the oldest entry");
		}
		const bool pop = dut->m_valid && dut->m_ready;
		const bool push = dut->s_valid && dut->s_ready;

		entry.at = dut->s_entry;
		for (const Entry &waiting : model)
			CHECK(!push || waiting.at != entry.at, "two at entry %u", entry.at);
		left = pop ? 1u << model.front().resend.job : 0;
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
