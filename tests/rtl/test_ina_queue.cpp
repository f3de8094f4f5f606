// SPDX-License-Identifier: Apache-2.0
//
// ina_queue against a deque for each job. Packets that go in come out at their slots, in order. The
// counts are those of packets taken, chosen and popped. Once a job is broken, packets that were
// chosen and still wait leave raw in their order. A job that ends leaves nothing. In between,
// retransmissions leave their headers.

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
	bool broken = false; // from now on the head is chosen, and is popped before the next choice
	bool goes = false;   // ... it was chosen, and is not popped yet
	unsigned window = SLOTS, base = 0;
};

/// The state of a ring that the judge sees, in the clock after it has asked.
void check_watched(Vina_queue &top, const Ring &ring, unsigned job)
{
	CHECK(top.fill == ring.packets.size(), "job %u: fill", job);
	CHECK(top.sums == std::min(ring.sums, SLOTS), "job %u: sums", job);
	CHECK(top.raw == ring.raw, "job %u: raw", job);
	CHECK(top.sum_count == (ring.sums & 0xFFFF), "job %u: sum_count", job);
	CHECK(top.sum_slot == ring.sum_end % ring.window, "job %u: sum_slot", job);
}

/// Reads lengths, headers and beats independently of each other, each of any packet, or the header
/// of a retransmission. An output whose read is not repeated stays.
class Reader
{
      public:
	Reader(bench::Random &generator, bench::Dut<Vina_queue> &queue)
	    : random(generator), dut(queue)
	{
	}

	void check(const Ring (&rings)[JOBS], const Packet (&resent)[ENTRIES])
	{
		const Place length = draw(rings), header = draw(rings), beat = draw(rings);
		const unsigned entry = static_cast<unsigned>(random.below(ENTRIES));
		const bool resend = random.chance(30);

		dut->peek_read = length.packet && random.chance(70);
		dut->peek_index = static_cast<uint16_t>(length.index);
		if (dut->peek_read)
			quads = length.packet->quads;
		dut->header_read = (resend || header.packet) && random.chance(70);
		dut->header_index = static_cast<uint16_t>(header.index);
		dut->header_resend = resend;
		dut->header_entry = static_cast<uint8_t>(entry);
		if (dut->header_read)
			record = bench::record_of(bench::Bytes(54, resend ? resent[entry].mark
			                                                  : header.packet->mark));
		dut->beat_read = beat.packet && random.chance(70);
		dut->beat_index = static_cast<uint16_t>(beat.index);
		if (dut->beat_read) {
			const unsigned at =
			        static_cast<unsigned>(random.below(beat.packet->quads / 4));

			dut->beat_at = static_cast<uint8_t>(at);
			data.assign(64, static_cast<uint8_t>(beat.packet->mark + at));
		}
		dut.tick();
		dut->peek_read = dut->header_read = dut->beat_read = 0;
		if (random.chance(30))
			dut.tick();
		CHECK(!quads || dut->peek_quads == quads, "length %u, not %u", dut->peek_quads,
		      quads);
		CHECK(record.empty() ||
		              bench::get(dut->read_header, 0, bench::RECORD_BYTES) == record,
		      "header");
		CHECK(data.empty() || bench::get(dut->read_data, 0, 64) == data, "beat");
	}

      private:
	struct Place {
		const Packet *packet; // or none
		unsigned index;       // in the memory of all jobs
	};

	Place draw(const Ring (&rings)[JOBS])
	{
		const unsigned job = static_cast<unsigned>(random.below(JOBS));
		const Ring &ring = rings[job];

		if (ring.packets.empty())
			return {nullptr, 0};
		const unsigned ahead = static_cast<unsigned>(random.below(ring.packets.size()));
		return {&ring.packets[ahead], ring.base + (ring.head + ahead) % ring.window};
	}

	bench::Random &random;
	bench::Dut<Vina_queue> &dut;
	unsigned quads = 0;
	bench::Bytes record, data; // the last results read
};

/// Places a block of any size within the job's share of the memory.
Ring place_ring(bench::Random &random, bench::Dut<Vina_queue> &dut, unsigned job)
{
	const unsigned slot_width = bench::width_of(SLOTS), width = bench::width_of(JOBS * SLOTS);
	const unsigned window = SLOTS >> random.below(slot_width);
	const unsigned share = JOBS - 1 - job;
	Ring ring;

	ring.window = window;
	ring.base = share * SLOTS + window * static_cast<unsigned>(random.below(SLOTS / window));
	bench::set_bits(dut->job_window, job * slot_width, slot_width, window - 1);
	bench::set_bits(dut->job_base, job * width, width, ring.base);
	return ring;
}

/// Writes a retransmission's header to `entry`.
void put_resend(bench::Dut<Vina_queue> &dut, unsigned entry, const Packet &packet)
{
	dut->resend_valid = 1;
	dut->resend_entry = static_cast<uint8_t>(entry);
	bench::put_header(dut->commit_header, bench::Bytes(54, packet.mark), packet.quads);
	dut.tick();
	dut->resend_valid = 0;
}

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_queue> dut;
	Reader reader(random, dut);
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
		const bool push =
		        random.chance(60) && rings[job].packets.size() < rings[job].window;
		const bool too_soon = issue_job == took_job && dut.clocks == took_clock;
		Ring &chosen = rings[issue_job];
		const bool raw = chosen.broken;
		const bool take = random.chance(50) && !too_soon &&
		                  (raw ? !chosen.packets.empty() && !chosen.goes
		                       : chosen.chosen < chosen.packets.size());
		const unsigned beats = 1 + static_cast<unsigned>(random.below(3));
		const Packet packet = {static_cast<uint8_t>(random.next()), beats * 4};

		if (push) {
			if (opens)
				rings[job] = place_ring(random, dut, job);
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
		/* All in the same clock, and possibly for the same job. */
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
		const unsigned slot = (chosen.head + (raw ? 0 : chosen.chosen)) % chosen.window;
		dut.tick();
		if (push) {
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
		reader.check(rings, resent);
		if (random.chance(10)) {
			const unsigned entry = static_cast<unsigned>(random.below(ENTRIES));

			resent[entry] = {packet.mark, packet.quads};
			put_resend(dut, entry, resent[entry]);
		}
		if (random.below(500) == 0) { // it ends, with all its packets
			is_open[job] = false;
			dut->job_valid &= ~(uint64_t{1} << job);
			rings[job] = Ring();
			dut.tick();
		}
	}
	return 0;
}
