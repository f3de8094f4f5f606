// SPDX-License-Identifier: Apache-2.0
//
// ina_flows against a table: packets of few keys directly after each other, stalls, and flows that
// are learned, advanced and forgotten while other packets of these flows are on the way. Each
// packet's answer must be that of the table at the time when the packet is in front of the judge.

#include "bench.hpp"
#include "Vina_flows.h"

namespace
{

constexpr unsigned JOBS = INA_JOB_COUNT;
constexpr uint32_t PSN_MASK = 0xFFFFFF;

struct Flow {
	bool valid = false;
	unsigned key = 0;
	uint32_t next_psn = 0;
};

struct Packet {
	bool there = false;
	unsigned key = 0;
	uint32_t psn = 0;
};

class Flows
{
      public:
	explicit Flows(bench::Random &generator) : random(generator)
	{
		dut->en = 1;
		dut->s_valid = 0;
		dut->learn = dut->advance = 0;
		dut->forget = 0;
		dut.reset();
	}

	void clock()
	{
		dut->learn = dut->advance = 0;
		settling -= settling > 0;
		dut->en = settling == 0 && random.chance(80);
		const int job = job_of(at_judge);
		if (at_judge.there && !decided)
			decide(job);
		forget();
		Packet next;
		if (dut->en && random.chance(70)) {
			next = {true,
			        static_cast<unsigned>(random.below(std::min(2 * JOBS + 2, 12u))),
			        0};
			next.psn = likely_psn(next.key);
		}
		offer(next);
		dut.tick();
		update_table(job);
		if (dut->en) {
			if (before.there) {
				at_judge = before;
				decided = false;
			}
			before = next;
		}
		check();
	}

	uint64_t hits = 0, learned = 0, advanced = 0, forgotten = 0, back_to_back = 0;

      private:
	bench::Random &random;
	bench::Dut<Vina_flows> dut;
	Flow flows[JOBS];
	Packet before, at_judge; // in stage 1, in stage 2
	bool decided = true;
	unsigned settling = 0; // clocks for which the pipeline still stands after a flow was
	                       // learned
	uint64_t ending = 0;
	unsigned learned_job = 0;

	int job_of(const Packet &packet) const
	{
		for (unsigned j = 0; packet.there && j < JOBS; j++)
			if (flows[j].valid && flows[j].key == packet.key)
				return static_cast<int>(j);
		return -1;
	}

	uint32_t likely_psn(unsigned key)
	{
		uint32_t psn = static_cast<uint32_t>(random.next());

		for (const Flow &flow : flows)
			if (flow.valid && flow.key == key && random.chance(90))
				psn = flow.next_psn + static_cast<uint32_t>(random.below(4)) - 1;
		return psn & PSN_MASK;
	}

	void decide(int job)
	{
		if (job < 0 && settling == 0 && !before.there && random.chance(50)) {
			learned_job = static_cast<unsigned>(random.below(JOBS));
			if (!flows[learned_job].valid) {
				dut->en = 0;
				dut->learn = 1;
				dut->learn_job = static_cast<uint8_t>(learned_job);
				settling = 2;
			}
		} else if (dut->en && job >= 0) {
			/* No packet follows directly after one that is taken (ina_parse). */
			dut->advance = !before.there && flows[job].next_psn == at_judge.psn &&
			               random.chance(80);
		}
		decided = dut->en || dut->learn;
	}

	void forget()
	{
		ending = random.chance(3) ? uint64_t{1} << random.below(JOBS) : 0;
		if (dut->learn || settling)
			ending &= ~(uint64_t{1} << learned_job);
		dut->forget = ending;
	}

	void offer(const Packet &packet)
	{
		bench::Bytes key(11, static_cast<uint8_t>(packet.key));

		/* Keys differ in one bit, at either end or in the middle. */
		key[packet.key % 3 * 5] ^= 0x80;
		bench::put(dut->s_key, 0, key.data(), key.size());
		dut->s_valid = packet.there;
		dut->s_psn = packet.psn;
	}

	void update_table(int job)
	{
		if (dut->learn) {
			flows[learned_job] = {true, at_judge.key, (at_judge.psn + 1) & PSN_MASK};
			learned++;
		}
		if (dut->advance) {
			flows[job].next_psn = (at_judge.psn + 1) & PSN_MASK;
			advanced++;
		}
		for (unsigned j = 0; j < JOBS; j++)
			if (ending >> j & 1) {
				forgotten += flows[j].valid;
				flows[j].valid = false;
			}
	}

	void check()
	{
		if (!at_judge.there || decided)
			return;
		const int job = job_of(at_judge);

		CHECK(dut->m_hit == (job >= 0), "clock %llu: key %u, hit %u, job %d",
		      static_cast<unsigned long long>(dut.clocks), at_judge.key, dut->m_hit, job);
		if (job < 0)
			return;
		hits++;
		back_to_back += before.there && before.key == at_judge.key;
		CHECK(dut->m_job == job, "job %u, not %d", dut->m_job, job);
		CHECK(dut->m_distance == ((at_judge.psn - flows[job].next_psn) & PSN_MASK),
		      "distance %06x, PSN %06x, next %06x", dut->m_distance, at_judge.psn,
		      flows[job].next_psn);
	}
};

} // namespace

int main()
{
	bench::Random random(bench::seed());
	Flows flows(random);

	for (unsigned i = 0; i < 300000; i++)
		flows.clock();
	CHECK(flows.hits > 10000 && flows.learned > 500 && flows.advanced > 1000 &&
	              flows.forgotten > 500 && flows.back_to_back > 100,
	      "%llu hits, %llu learned, %llu advanced, %llu forgotten, %llu back to back",
	      static_cast<unsigned long long>(flows.hits),
	      static_cast<unsigned long long>(flows.learned),
	      static_cast<unsigned long long>(flows.advanced),
	      static_cast<unsigned long long>(flows.forgotten),
	      static_cast<unsigned long long>(flows.back_to_back));
	return 0;
}
