// SPDX-License-Identifier: Apache-2.0
//
// ina_join: it reads a beat of every port in each clock, in order and without a gap. Packets that
// are not alike never reach the tree. Nor do packets after them that were chosen before the break,
// before the job's end, or before either was known on the other path. Raw packets always reach it.

#include "paths.hpp"
#include "Vina_join.h"

#include <deque>

namespace
{

using paths::JOBS, paths::PORTS;

constexpr unsigned ROUNDS = 20, PACKETS = 80;

/// One chosen packet, as each port holds it.
struct Packet {
	bool raw, part;
	unsigned job, slot, from, mask;
	paths::Message message;
	bool refused, differs;              // differs: the packet breaks its job
	bool ends_elsewhere, breaks_before; // its job ends or breaks in the clocks before it begins
	bench::Bytes payload[PORTS];        // in whole beats
	paths::Header header[PORTS];

	bool leaves() const
	{
		return message.is_leave() && !part;
	}
};

struct Beat {
	const Packet *packet;
	unsigned index;
};

class Join
{
      public:
	explicit Join(bench::Random &generator) : random(generator)
	{
		dut->s_valid = 0;
		dut->job_valid = 0xF;
		dut->job_broken = dut->others_stopped = 0;
		dut.reset();
	}

	void run()
	{
		uint64_t clocks = 8;

		for (unsigned i = 0; i < PACKETS; i++) {
			make();
			clocks += std::max(all.back().message.beats(), 2u);
		}
		const uint64_t start = dut.clocks;
		while (!to_settle.empty() || !beats.empty() || dut->busy) {
			clock();
			CHECK(dut.clocks <= start + clocks, "more than %llu clocks",
			      static_cast<unsigned long long>(clocks));
		}
	}

	/// All jobs end, and other jobs take their contexts.
	void begin_anew()
	{
		dut->job_valid = dut->job_broken = dut->others_stopped = 0;
		dut.tick();
		dut->job_valid = 0xF;
		dut.settle();
		CHECK(dut->stopped == 0 && dut->closing == 0, "a new job has ended");
		std::fill(in_message, in_message + JOBS, false);
		std::fill(over, over + JOBS, false);
		broken = closing = 0;
		ended = false;
	}

	unsigned refused = 0, passed = 0, differed = 0, left = 0, elsewhere = 0;

      private:
	bench::Random &random;
	bench::Dut<Vina_join> dut;
	std::deque<Packet> all;
	std::deque<const Packet *> waiting;   // packets to offer
	std::deque<const Packet *> reading;   // taken, and not yet read to their end
	std::deque<const Packet *> to_settle; // packets that have not begun
	std::deque<Beat> beats;               // beats that must reach the tree
	const Packet *settled = nullptr;      // in the clock before
	bool in_message[JOBS] = {};
	bool over[JOBS] = {};             // no sum of the job may follow
	unsigned broken = 0, closing = 0; // jobs that must be broken or closing, of those that have
	                                  // begun
	bool ended = false;               // a packet ended in the clock before

	void make()
	{
		Packet packet = {};

		packet.raw = random.chance(20);
		packet.job = static_cast<unsigned>(random.below(JOBS));
		packet.slot = static_cast<unsigned>(all.size() % 128);
		packet.from = packet.raw ? 1u << random.below(PORTS)
		                         : 1 + static_cast<unsigned>(random.below(15));
		packet.part = !packet.raw && random.chance(50);
		packet.mask = packet.part ? paths::first(packet.from) : packet.from; // the border
		/* Equal on all ports, but the message has not begun, or has not ended. */
		const bool misplaced = !packet.raw && !over[packet.job] && random.chance(2);
		const bool starts =
		        packet.raw ? random.chance(50) : !in_message[packet.job] != misplaced;
		packet.message = paths::Message::draw(random, starts);
		for (unsigned p = 0; p < PORTS; p++) {
			packet.header[p] = {static_cast<uint8_t>(packet.slot + p),
			                    packet.message.opcode(),
			                    static_cast<uint8_t>(random.chance(10) ? 3 : 2),
			                    packet.message.quads};
			packet.payload[p] = random.bytes(packet.message.beats() * 64);
			packet.message.put_header(random, packet.payload[p]);
		}
		if (!packet.raw)
			decide(packet, misplaced);
		all.push_back(packet);
		waiting.push_back(&all.back());
		to_settle.push_back(&all.back());
		for (unsigned i = 0; !packet.refused && i < packet.message.beats(); i++)
			beats.push_back({&all.back(), i});
		(packet.refused ? refused : passed)++;
		differed += packet.differs;
		left += !packet.refused && !packet.raw && packet.leaves();
		elsewhere += packet.ends_elsewhere || packet.breaks_before;
	}

	void decide(Packet &packet, bool misplaced)
	{
		bool &is_over = over[packet.job];

		packet.differs = misplaced;
		if (!is_over && !misplaced && random.chance(3) && paths::count(packet.from) > 1) {
			make_different(packet);
			packet.differs = true;
		} else if (!is_over && !misplaced && random.chance(3)) {
			const bool breaks = random.chance(50);

			packet.breaks_before = breaks;
			packet.ends_elsewhere = !breaks;
			is_over = true;
		}
		packet.refused = is_over || packet.differs;
		is_over |= packet.differs || packet.leaves();
		if (!packet.refused)
			in_message[packet.job] = !packet.message.ends;
	}

	void make_different(Packet &packet)
	{
		const unsigned p = paths::last(packet.from);

		if (packet.message.starts && random.chance(60))
			packet.payload[p][random.below(packet.message.equal_bytes())] ^= 1;
		else if (random.chance(50))
			packet.header[p].opcode ^= 2;
		else
			packet.header[p].quads ^= 1u << random.below(2);
	}

	void clock()
	{
		const Packet *offered = waiting.empty() ? nullptr : waiting.front();
		dut->s_valid = offered != nullptr;
		if (offered) {
			dut->s_raw = offered->raw;
			dut->s_job = static_cast<uint8_t>(offered->job);
			dut->s_slot = static_cast<uint8_t>(offered->slot);
			dut->s_from = static_cast<uint8_t>(offered->from);
			dut->s_mask = static_cast<uint8_t>(offered->mask);
			dut->s_part = offered->part;
		}
		dut.settle();
		const bool taken = dut->s_valid && dut->s_ready;
		const bool peeks = dut->peek_read;
		const unsigned header_read = dut->header_read, beat_read = dut->beat_read;
		const unsigned job = dut->read_job, slot = dut->read_slot, beat = dut->read_beat;
		const unsigned newly_broken = dut->mismatch;

		check_verdict();
		check_output();
		tell_of_job();
		dut->clk = 1;
		dut->eval();
		dut.clocks++;
		dut->job_broken |= static_cast<uint8_t>(newly_broken);
		if (taken) {
			waiting.pop_front();
			reading.push_back(offered);
		}
		for (unsigned p = 0; peeks && p < PORTS; p++) {
			const unsigned at = p * paths::QUADS_BITS;

			dut->peek_quads &= ~(uint64_t{511} << at);
			dut->peek_quads |= uint64_t{offered->header[p].quads} << at;
		}
		CHECK(header_read == 0 || beat_read != 0, "headers without a beat");
		if (beat_read) {
			CHECK(reading.front()->job == job && reading.front()->slot == slot,
			      "reads slot %u of job %u", slot, job);
			answer_reads(header_read, beat_read, beat);
		}
	}

	/// The RAMs: they give the data that was requested in the last clock.
	void answer_reads(unsigned header_read, unsigned beat_read, unsigned beat)
	{
		const Packet &packet = *reading.front();

		CHECK(beat_read == packet.from, "reads of ports %x", beat_read);
		CHECK(header_read == (beat == 0 ? packet.from : 0), "header of beat %u", beat);
		for (unsigned p = 0; p < PORTS; p++) {
			if (!(packet.from >> p & 1))
				continue;
			bench::put(dut->queue_data, p * 64, &packet.payload[p][beat * 64], 64);
			if (header_read)
				paths::put_bits(dut->queue_header, p * paths::HEADER_BITS,
				                packet.header[p].bytes(), paths::HEADER_BITS);
		}
		if (beat + 1 == packet.message.beats())
			reading.pop_front();
	}

	/// A report on the next packet's job counts for that packet from the clock on in which the
	/// packet before it begins.
	void tell_of_job()
	{
		const Packet *next = to_settle.empty() ? nullptr : to_settle.front();

		if (next && next->ends_elsewhere)
			dut->others_stopped |= static_cast<uint8_t>(1u << next->job);
		if (next && next->breaks_before)
			dut->job_broken |= static_cast<uint8_t>(1u << next->job);
		dut.settle();
	}

	/// A packet's verdict comes with its first beat. The report on its job comes a clock later.
	void check_verdict()
	{
		const bool undone = settled && !settled->raw && settled->refused;
		const bool breaks = settled && settled->differs;

		CHECK(dut->undo_valid == undone, "called off: %u", dut->undo_valid);
		CHECK(!undone || dut->undo_job == settled->job, "of job %u", dut->undo_job);
		CHECK(dut->mismatch == (breaks ? 1u << settled->job : 0), "jobs %x break",
		      dut->mismatch);
		CHECK(dut->closing == closing, "closing: %x, not %x", dut->closing, closing);
		CHECK((dut->stopped & (broken | closing)) == (broken | closing), "over: only %x",
		      dut->stopped);
		CHECK((dut->stopped &
		       ~(broken | closing | dut->job_broken | dut->others_stopped)) == 0,
		      "over: %x", dut->stopped);
		settled = nullptr;
		if (!dut->settled)
			return;
		CHECK(!to_settle.empty(), "a packet begins that is not there");
		settled = to_settle.front();
		to_settle.pop_front();
		CHECK(dut->settled == settled->mask, "ports %x settled, not %x", dut->settled,
		      settled->mask);
		CHECK(dut->header_valid == (settled->refused ? 0 : settled->mask),
		      "headers of ports %x", dut->header_valid);
		broken |= unsigned{settled->differs} << settled->job;
		if (!settled->raw && !settled->refused && settled->leaves())
			closing |= 1u << settled->job;
	}

	void check_output()
	{
		if (!dut->m_valid) {
			CHECK(!dut->header_valid, "a header without a beat");
			ended = false;
			return;
		}
		CHECK(!beats.empty(), "a beat that must not be");
		const Beat beat = beats.front();
		const Packet &packet = *beat.packet;
		const paths::Message &message = packet.message;
		const bool ends = beat.index + 1 == message.beats();

		beats.pop_front();
		CHECK(dut->m_load, "a beat that was not loaded");
		CHECK(dut->m_raw == packet.raw && dut->m_job == packet.job &&
		              dut->m_slot == packet.slot && dut->m_mask == packet.mask &&
		              dut->m_part == packet.part && dut->m_beat == beat.index,
		      "packet %u, beat %u, not packet %u, beat %u", dut->m_slot, dut->m_beat,
		      packet.slot, beat.index);
		CHECK(dut->m_first == (beat.index == 0) && dut->m_last == ends,
		      "first, last of beat %u of %u", beat.index, message.beats());
		CHECK(!ends || !ended, "two packets end in consecutive clocks");
		ended = ends;
		CHECK(dut->m_quads == (ends ? (message.quads - 1) % 4 + 1 : 4), "quads");
		CHECK(dut->m_from == packet.from, "operands %x", dut->m_from);
		CHECK(!dut->m_first || dut->header_valid == packet.mask, "header_valid");
		CHECK(dut->m_first || !dut->header_valid, "a header without a packet");
		CHECK(dut->m_leave == packet.leaves(), "a LEAVE: %u", dut->m_leave);
		CHECK(dut->m_starts == message.starts && dut->m_ends == message.ends,
		      "of a message: starts %u, ends %u", dut->m_starts, dut->m_ends);
		bool marked = false;
		for (unsigned p = 0; p < PORTS; p++) {
			const bench::Bytes &payload = packet.payload[p];

			if (!(packet.from >> p & 1))
				continue;
			marked |= packet.header[p].tos == 3;
			CHECK(bench::get(dut->m_data, p * 64, 64) ==
			              bench::Bytes(payload.begin() + beat.index * 64,
			                           payload.begin() + beat.index * 64 + 64),
			      "data of port %u", p);
			if (dut->m_first && (packet.mask >> p & 1))
				packet.header[p].check(dut->header, p);
		}
		CHECK(!dut->m_first || dut->header_ce == (marked && !packet.raw), "header_ce");
	}
};

} // namespace

int main()
{
	bench::Random random(bench::seed());
	unsigned refused = 0, passed = 0, differed = 0, left = 0, elsewhere = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		Join join(random);

		join.run();
		join.begin_anew();
		join.run();
		refused += join.refused;
		passed += join.passed;
		differed += join.differed;
		left += join.left;
		elsewhere += join.elsewhere;
	}
	CHECK(refused > 100 && passed > 300 && differed > 20 && left > 20 && elsewhere > 20,
	      "%u refused, %u passed, %u differed, %u LEAVEs, %u over by others", refused, passed,
	      differed, left, elsewhere);
	return 0;
}
