// SPDX-License-Identifier: Apache-2.0
//
// ina_queue against a deque for each job: what goes in comes out at its slot, in order; the counts
// are those of what was taken, chosen and popped; what was chosen and waits goes out raw in its
// order, once a job is broken; a job that ends leaves nothing. Between them retransmissions leave
// their headers.

#include "bench.hpp"
#include "Vina_queue.h"

#include <deque>

namespace
{

constexpr unsigned JOBS = INA_JOB_COUNT, SLOTS = INA_SLOT_COUNT, ENTRIES = 16;

struct Packet {
	uint8_t mark; // fills its beats and its header
	unsigned quads;
};

struct Ring {
	std::deque<Packet> packets;
	unsigned head = 0, sums = 0, raw = 0, sum_end = 0;
	unsigned chosen = 0; // of the packets
	bool broken = false; // from now on the head is chosen, and popped before the next
	bool goes = false;   // ... it was, and is not popped yet
};

/// What the judge sees of a ring, in the clock after it has asked.
void check_watched(Vina_queue &top, const Ring &ring, unsigned job)
{
	CHECK(top.fill == ring.packets.size(), "job %u: fill", job);
	CHECK(top.sums == std::min(ring.sums, SLOTS), "job %u: sums", job);
	CHECK(top.raw == ring.raw, "job %u: raw", job);
	CHECK(top.sum_count == (ring.sums & 0xFFFF), "job %u: sum_count", job);
	CHECK(top.sum_slot == ring.sum_end % SLOTS, "job %u: sum_slot", job);
}

/// Reads beat `beat` of the packet `ahead` of the head, its header and its length.
void check_packet(bench::Dut<Vina_queue> &dut, const Ring &ring, unsigned job, unsigned ahead,
                  unsigned beat)
{
	const Packet &packet = ring.packets[ahead];

	dut->peek_read = dut->header_read = dut->beat_read = 1;
	dut->peek_job = dut->read_job = static_cast<uint8_t>(job);
	dut->peek_slot = dut->read_slot = static_cast<uint8_t>((ring.head + ahead) % SLOTS);
	dut->read_beat = static_cast<uint8_t>(beat);
	dut->peek_resend = dut->read_resend = 0;
	dut.tick();
	dut->peek_read = dut->header_read = dut->beat_read = 0;
	dut.tick();
	CHECK(dut->peek_quads == packet.quads, "length %u, not %u", dut->peek_quads, packet.quads);
	CHECK(bench::get(dut->read_header, 0, bench::RECORD_BYTES) ==
	              bench::record_of(bench::Bytes(54, packet.mark)),
	      "header");
	CHECK(bench::get(dut->read_data, 0, 64) ==
	              bench::Bytes(64, static_cast<uint8_t>(packet.mark + beat)),
	      "beat %u", beat);
}

/// A retransmission's header goes to `entry`.
void put_resend(bench::Dut<Vina_queue> &dut, unsigned entry, const Packet &packet)
{
	dut->resend_valid = 1;
	dut->resend_entry = static_cast<uint8_t>(entry);
	bench::put_header(dut->commit_header, bench::Bytes(54, packet.mark), packet.quads);
	dut.tick();
	dut->resend_valid = 0;
}

void check_resend(bench::Dut<Vina_queue> &dut, unsigned entry, const Packet &packet)
{
	dut->peek_read = dut->header_read = 1;
	dut->peek_resend = dut->read_resend = 1;
	dut->read_entry = static_cast<uint8_t>(entry);
	dut.tick();
	dut->peek_read = dut->header_read = 0;
	dut.tick();
	CHECK(dut->peek_quads == packet.quads, "length %u at entry %u, not %u", dut->peek_quads,
	      entry, packet.quads);
	CHECK(bench::get(dut->read_header, 0, bench::RECORD_BYTES) ==
	              bench::record_of(bench::Bytes(54, packet.mark)),
	      "header at entry %u", entry);
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_queue> dut;
	Ring rings[JOBS];
	bool is_open[JOBS] = {};
	Packet resent[ENTRIES];

	dut->write_valid = dut->commit_valid = dut->pop_valid = dut->write_opens = 0;
	dut->issue_valid = dut->issue_raw = dut->resend_valid = 0;
	dut->peek_read = dut->header_read = dut->beat_read = 0;
	dut->watch_read = 1;
	dut->job_valid = 0;
	dut.reset();
	for (unsigned entry = 0; entry < ENTRIES; entry++) {
		resent[entry] = {static_cast<uint8_t>(random.next()), 1 + entry};
		put_resend(dut, entry, resent[entry]);
	}
	unsigned took_job = JOBS;
	uint64_t took_clock = 0;

	for (unsigned i = 0; i < 40000; i++) {
		const unsigned job = static_cast<unsigned>(random.below(JOBS));
		const unsigned pop_job = static_cast<unsigned>(random.below(JOBS));
		const unsigned issue_job = static_cast<unsigned>(random.below(JOBS));
		const unsigned watched = static_cast<unsigned>(random.below(JOBS));
		const bool opens = !is_open[job];
		const bool push = random.chance(60) && rings[job].packets.size() < SLOTS;
		const bool too_soon = issue_job == took_job && dut.clocks == took_clock;
		Ring &chosen = rings[issue_job];
		const bool raw = chosen.broken;
		const bool take = random.chance(50) && !too_soon &&
		                  (raw ? !chosen.packets.empty() && !chosen.goes
		                       : chosen.chosen < chosen.packets.size());
		const unsigned beats = 1 + static_cast<unsigned>(random.below(3));
		const Packet packet = {static_cast<uint8_t>(random.next()), beats * 4};

		if (push) {
			is_open[job] = true;
			dut->job_valid |= uint64_t{1} << job;
		}
		dut->write_opens = push && opens;
		for (unsigned beat = 0; push && beat < beats; beat++) {
			const bench::Bytes data(64, static_cast<uint8_t>(packet.mark + beat));

			dut->write_valid = 1;
			dut->write_job = static_cast<uint8_t>(job);
			dut->write_beat = static_cast<uint8_t>(beat);
			bench::put(dut->write_data, 0, data.data(), data.size());
			bench::put_header(dut->commit_header, bench::Bytes(54, packet.mark),
			                  packet.quads);
			if (beat + 1 < beats)
				dut.tick();
		}
		/* All in the same clock, also of the same job. */
		Ring &popped = rings[pop_job];
		dut->commit_valid = push;
		dut->pop_valid =
		        (popped.broken ? popped.goes : popped.chosen > 0) && random.chance(50);
		dut->pop_job = static_cast<uint8_t>(pop_job);
		dut->pop_raw = popped.broken;
		dut->issue_valid = take;
		dut->issue_raw = raw;
		dut->issue_job = static_cast<uint8_t>(issue_job);
		dut->watch_job = static_cast<uint8_t>(watched);
		const unsigned slot = (chosen.head + (raw ? 0 : chosen.chosen)) % SLOTS;
		dut.tick();
		if (push) {
			if (opens)
				rings[job] = Ring();
			rings[job].packets.push_back(packet);
		}
		if (dut->pop_valid) {
			popped.packets.pop_front();
			popped.head++;
			popped.chosen -= popped.chosen > 0;
			popped.goes = false;
			(dut->pop_raw ? popped.raw : popped.sums)++;
			if (!dut->pop_raw)
				popped.sum_end = popped.head;
		}
		chosen.chosen += take && !raw;
		chosen.goes |= take && raw;
		if (!rings[job].broken && random.below(300) == 0)
			rings[job].broken = true;
		if (take) {
			took_job = issue_job;
			took_clock = dut.clocks;
		}
		dut->write_valid = dut->commit_valid = dut->pop_valid = 0;
		dut->issue_valid = 0;
		dut.settle();
		if (take)
			CHECK(dut->issue_slot == slot, "slot %u chosen, not %u", dut->issue_slot,
			      slot);
		if (is_open[watched])
			check_watched(dut.top, rings[watched], watched);
		for (unsigned j = 0; j < JOBS; j++)
			CHECK((dut->waiting >> j & 1) == !rings[j].packets.empty(),
			      "job %u: %zu packets, waiting %u", j, rings[j].packets.size(),
			      static_cast<unsigned>(dut->waiting >> j & 1));
		for (unsigned j = 0; j < JOBS; j++)
			CHECK(rings[j].broken || (dut->ready >> j &
			                          1) == (rings[j].packets.size() > rings[j].chosen),
			      "job %u: %zu packets, %u chosen, ready %u", j,
			      rings[j].packets.size(), rings[j].chosen,
			      static_cast<unsigned>(dut->ready >> j & 1));
		if (!rings[job].packets.empty()) {
			const unsigned ahead =
			        static_cast<unsigned>(random.below(rings[job].packets.size()));

			check_packet(dut, rings[job], job, ahead,
			             static_cast<unsigned>(
			                     random.below(rings[job].packets[ahead].quads / 4)));
		}
		if (random.chance(10)) {
			const unsigned entry = static_cast<unsigned>(random.below(ENTRIES));

			check_resend(dut, entry, resent[entry]);
			resent[entry] = {packet.mark, packet.quads};
			put_resend(dut, entry, resent[entry]);
		}
		if (random.below(500) == 0) { // it ends, with all that it has
			is_open[job] = false;
			dut->job_valid &= ~(uint64_t{1} << job);
			rings[job] = Ring();
			dut.tick();
		}
	}
	return 0;
}
