// SPDX-License-Identifier: Apache-2.0
//
// ina_relay: sums from above, retransmissions and raw packets leave a beat each clock, in order and
// without a gap, except while ina_join reads headers. A sum from above must have the opcode and
// length of the packets that wait for it, and the length and the EQUAL lanes of the part. If it
// differs, it breaks its job, and nothing from above follows it. A retransmission carries the sum
// from one of the two histories, with that sum's length, or does not leave.

#include "paths.hpp"
#include "Vina_relay.h"

#include <cstddef>
#include <cstring>
#include <deque>

namespace
{

using paths::JOBS, paths::PORTS;

constexpr unsigned RAW = 1, RESEND = 2, DOWN = 3;
constexpr unsigned ROUNDS = 20, PACKETS = 80;
constexpr unsigned WINDOW_AT = offsetof(ina_wire_header, exponent); // of a JOIN

int32_t window_lane(const bench::Bytes &join)
{
	int32_t lane;

	std::memcpy(&lane, join.data() + WINDOW_AT, sizeof(lane));
	return lane;
}

/// One chosen packet.
struct Packet {
	unsigned kind, job, slot, from, mask;
	bool above, probe, dropped;
	paths::Message message;
	unsigned here_quads, above_quads; // of the sums in the histories
	bench::Bytes here_beat;           // ... the first beat of the one from here
	bool refused;
	bool differs;                       // from its sum, or from the packet that it must match
	bool ends_elsewhere, breaks_before; // its job ends or breaks in the clocks before it begins
	bench::Bytes payload;               // in whole beats
	paths::Header header[PORTS];

	bool is_down() const
	{
		return kind == DOWN;
	}
	bool is_resend() const
	{
		return kind == RESEND;
	}
	bool leaves() const
	{
		return !is_resend() && message.is_leave();
	}
};

struct Beat {
	const Packet *packet;
	unsigned index;
};

class Relay
{
      public:
	Relay(bench::Random &generator, unsigned percent)
	    : random(generator), others_percent(percent)
	{
		dut->s_valid = dut->others_read = 0;
		dut->job_valid = 0xF;
		dut->job_broken = dut->others_stopped = 0;
		dut.reset();
	}

	void run()
	{
		uint64_t clocks = 8;

		held_clocks = 0;
		for (unsigned i = 0; i < PACKETS; i++) {
			make();
			clocks += std::max(all.back().message.beats(), 2u);
		}
		const uint64_t start = dut.clocks;
		while (!to_settle.empty() || !beats.empty() || dut->busy) {
			clock();
			CHECK(dut.clocks <= start + clocks + held_clocks, "more than %llu clocks",
			      static_cast<unsigned long long>(clocks + held_clocks));
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
		std::fill(over, over + JOBS, false);
		broken = closing = 0;
		ended = false;
	}

	unsigned refused = 0, passed = 0, downs_differ = 0, resends_differ = 0, dropped = 0,
	         left = 0, elsewhere = 0;

      private:
	bench::Random &random;
	bench::Dut<Vina_relay> dut;
	const unsigned others_percent;
	uint64_t held_clocks = 0; // clocks in which ina_join reads headers, or no packet is offered
	std::deque<Packet> all;
	std::deque<const Packet *> waiting;   // packets to offer
	std::deque<const Packet *> reading;   // taken, and not yet read to their end
	std::deque<const Packet *> to_settle; // packets that have not begun
	std::deque<Beat> beats;               // beats that must leave
	const Packet *settled = nullptr;      // in the clock before
	unsigned resending = 0;               // ports whose retransmission has not been removed yet
	unsigned to_pop = 0;                  // and must be removed in this clock: it was read in
	                                      // the last
	bool over[JOBS] = {};
	unsigned broken = 0, closing = 0; // jobs that must be broken or closing, of those that have
	                                  // begun
	unsigned header_due = 0;          // ports whose header came: the beat comes a clock later
	bool ended = false;               // a packet ended in the clock before

	void make()
	{
		Packet packet = {};

		packet.kind = random.chance(40) ? DOWN : random.chance(60) ? RESEND : RAW;
		packet.job = static_cast<unsigned>(random.below(JOBS));
		packet.slot = static_cast<unsigned>(all.size() % 128);
		/* A retransmission of one sum by several ports is a single packet. */
		packet.mask = packet.kind == RAW ? 1u << random.below(PORTS)
		                                 : 1 + static_cast<unsigned>(random.below(15));
		/* A packet from above came by its own flow. */
		packet.from = packet.is_down() ? paths::first(packet.mask) : packet.mask;
		packet.message = paths::Message::draw(random, random.chance(60));
		packet.payload = random.bytes(packet.message.beats() * 64);
		packet.message.put_header(random, packet.payload);
		packet.here_beat = random.bytes(64);
		/*
		 * The part is equal, except for the exponent. A JOIN's part has a different place,
		 * and a window that is not smaller than the one from above.
		 */
		if (packet.message.starts)
			std::copy_n(packet.payload.begin(), packet.message.equal_bytes(),
			            packet.here_beat.begin());
		if (packet.message.starts && packet.message.type == INA_WIRE_JOIN &&
		    window_lane(packet.here_beat) > window_lane(packet.payload))
			std::copy_n(packet.payload.begin() + WINDOW_AT, 4,
			            packet.here_beat.begin() + WINDOW_AT);
		packet.here_quads = random_quads();
		packet.above_quads = random_quads();
		for (unsigned p = 0; p < PORTS; p++)
			packet.header[p] = {static_cast<uint8_t>(packet.slot + p),
			                    packet.message.opcode(),
			                    static_cast<uint8_t>(random.chance(10) ? 3 : 2),
			                    packet.message.quads};
		if (packet.is_resend())
			decide_resend(packet);
		else if (packet.is_down())
			decide_down(packet);
		all.push_back(packet);
		waiting.push_back(&all.back());
		to_settle.push_back(&all.back());
		for (unsigned i = 0; !packet.refused && i < packet.message.beats(); i++)
			beats.push_back({&all.back(), i});
		(packet.refused ? refused : passed)++;
		(packet.is_down() ? downs_differ : resends_differ) += packet.differs;
		dropped += packet.dropped;
		left += !packet.refused && packet.is_down() && packet.leaves();
		elsewhere += packet.ends_elsewhere || packet.breaks_before;
	}

	unsigned random_quads()
	{
		return 1 + static_cast<unsigned>(random.below(256));
	}

	void decide_resend(Packet &packet)
	{
		const unsigned quads = packet.message.quads;

		packet.above = random.chance(50);
		packet.probe = random.chance(30);
		/* Its sum has left the history: the retransmission is removed, and nothing
		 * leaves. */
		packet.dropped = !packet.probe && random.chance(30);
		unsigned &sum_quads = packet.above ? packet.above_quads : packet.here_quads;
		if (random.chance(70))
			sum_quads = quads;
		packet.differs = !packet.probe && sum_quads != quads;
		packet.refused = packet.dropped || packet.differs;
	}

	void decide_down(Packet &packet)
	{
		bool &is_over = over[packet.job];

		packet.here_quads = packet.message.quads;
		if (!is_over && random.chance(8)) {
			make_different(packet);
			packet.differs = true;
		} else if (!is_over && random.chance(4)) {
			packet.breaks_before = random.chance(50);
			packet.ends_elsewhere = !packet.breaks_before;
			is_over = true;
		}
		packet.refused = is_over || packet.differs;
		is_over |= packet.differs || packet.leaves();
	}

	/// Gives the part a smaller window than the JOIN from above has.
	void grant_less(Packet &packet)
	{
		const int32_t lane = window_lane(packet.payload) + 1;

		std::memcpy(packet.here_beat.data() + WINDOW_AT, &lane, sizeof(lane));
	}

	void make_different(Packet &packet)
	{
		const unsigned p = paths::last(packet.mask);
		const bool several = paths::count(packet.mask) > 1;

		if (several && random.chance(30))
			packet.header[p].opcode ^= 2;
		else if (several && random.chance(40))
			packet.header[p].quads ^= 1u << random.below(2);
		else if (packet.message.starts && packet.message.type == INA_WIRE_JOIN &&
		         window_lane(packet.payload) < INT32_MAX && random.chance(30))
			grant_less(packet);
		else if (packet.message.starts && random.chance(50))
			packet.here_beat[random.below(packet.message.equal_bytes())] ^= 1;
		else
			packet.here_quads = packet.message.quads % 256 + 1;
	}

	void clock()
	{
		const Packet *offered = waiting.empty() ? nullptr : waiting.front();
		/* ina_pick promises that the port's previous retransmission has been removed. */
		const bool held = offered && offered->is_resend() && (resending & offered->mask);
		if (held)
			offered = nullptr;
		offer(offered);
		dut->others_read = random.chance(others_percent);
		held_clocks += held || dut->others_read;
		dut.settle();
		const bool taken = dut->s_valid && dut->s_ready;
		const bool peeks = dut->peek_read;
		const unsigned popped = dut->resend_pop;
		const unsigned newly_broken = dut->mismatch;

		check_output();
		check_verdict();
		tell_of_job();
		CHECK(popped == to_pop, "retransmissions of ports %x removed, not of %x", popped,
		      to_pop);
		to_pop = 0;
		const Packet *read = check_reads();
		const unsigned beat = dut->read_beat, headers = dut->header_read;
		dut->clk = 1;
		dut->eval();
		dut.clocks++;
		dut->job_broken |= static_cast<uint8_t>(newly_broken);
		resending &= ~popped;
		if (taken) {
			waiting.pop_front();
			reading.push_back(offered);
			if (offered->is_resend())
				resending |= offered->mask;
		}
		if (peeks)
			answer_peek(*offered);
		if (read)
			answer_reads(*read, beat, headers);
	}

	void offer(const Packet *packet)
	{
		dut->s_valid = packet != nullptr;
		if (!packet)
			return;
		dut->s_kind = static_cast<uint8_t>(packet->kind);
		dut->s_job = static_cast<uint8_t>(packet->job);
		dut->s_slot = static_cast<uint8_t>(packet->slot);
		dut->s_from = static_cast<uint8_t>(packet->from);
		dut->s_mask = static_cast<uint8_t>(packet->mask);
		dut->s_above = packet->above;
		dut->s_probe = packet->probe;
		dut->s_dropped = packet->dropped;
		dut->s_quads = static_cast<uint16_t>(packet->message.quads);
	}

	/// The lengths of a queue's packet and of both histories' sums.
	void answer_peek(const Packet &packet)
	{
		dut->here_quads = static_cast<uint16_t>(packet.here_quads);
		dut->above_quads = static_cast<uint16_t>(packet.above_quads);
		for (unsigned p = 0; p < PORTS; p++) {
			const unsigned at = p * paths::QUADS_BITS;

			dut->peek_quads &= ~(uint64_t{511} << at);
			dut->peek_quads |= uint64_t{packet.header[p].quads} << at;
		}
	}

	/// The reads of this clock: a beat from the one place that the packet comes from, with the
	/// first beat the headers, and a beat of the part.
	const Packet *check_reads()
	{
		const unsigned beat = dut->read_beat;

		if (!dut->beat_read && !dut->history_read) {
			CHECK(!dut->header_read, "headers without a beat");
			return nullptr;
		}
		CHECK(!reading.empty(), "reads for no packet");
		const Packet &packet = *reading.front();

		CHECK(packet.job == dut->read_job && packet.slot == dut->read_slot,
		      "reads slot %u of job %u", dut->read_slot, dut->read_job);
		CHECK(dut->beat_read == (packet.is_resend() ? 0 : packet.from), "reads of ports %x",
		      dut->beat_read);
		CHECK(dut->history_read == (packet.is_resend() || (packet.is_down() && beat == 0)),
		      "reads the histories: %d", dut->history_read);
		CHECK(dut->header_read == (beat == 0 ? packet.from | packet.mask : 0),
		      "headers of ports %x with beat %u", dut->header_read, beat);
		CHECK(!dut->header_read || !dut->others_read, "headers while others read");
		CHECK(!dut->header_read || dut->read_resend == packet.is_resend(),
		      "headers of the other kind");
		if (packet.is_resend() && beat == 0)
			to_pop = packet.mask;
		return &packet;
	}

	/// The RAMs: they give the data that was requested in the last clock. Data that was not
	/// requested belongs to another packet.
	void answer_reads(const Packet &packet, unsigned beat, unsigned headers)
	{
		const uint8_t *payload = &packet.payload[beat * 64];
		const bench::Bytes here =
		        beat == 0 && packet.is_down() ? packet.here_beat : random.bytes(64);

		for (unsigned p = 0; p < PORTS; p++) {
			if (!packet.is_resend() && (packet.from >> p & 1))
				bench::put(dut->queue_data, p * 64, payload, 64);
			else
				bench::put(dut->queue_data, p * 64, random.bytes(64).data(), 64);
			if (headers >> p & 1)
				paths::put_bits(dut->queue_header, p * paths::HEADER_BITS,
				                packet.header[p].bytes(), paths::HEADER_BITS);
		}
		const bool from_here = packet.is_resend() && !packet.above;
		const bool from_above = packet.is_resend() && packet.above;

		bench::put(dut->here_data, 0, from_here ? payload : here.data(), 64);
		bench::put(dut->above_data, 0, from_above ? payload : random.bytes(64).data(), 64);
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
		const bool undone = settled && settled->is_down() && settled->refused;
		const bool breaks = settled && settled->is_down() && settled->differs;

		CHECK(dut->undo_valid == undone, "called off: %u", dut->undo_valid);
		CHECK(!undone || dut->undo_job == settled->job, "of job %u", dut->undo_job);
		CHECK(dut->mismatch == (breaks ? 1u << settled->job : 0), "jobs %x break",
		      dut->mismatch);
		CHECK(dut->closing == closing, "closing: %x, not %x", dut->closing, closing);
		CHECK(dut->stopped == (broken | closing), "over: %x, not %x", dut->stopped,
		      broken | closing);
		settled = nullptr;
		if (!dut->settled) {
			CHECK(!dut->header_valid && !dut->resend_answered && !dut->resend_differed,
			      "news of no packet");
			return;
		}
		CHECK(!to_settle.empty(), "a packet begins that is not there");
		settled = to_settle.front();
		to_settle.pop_front();
		const Packet &packet = *settled;
		const bool answer = packet.is_resend() && !packet.probe && !packet.dropped;

		CHECK(dut->settled == packet.mask, "ports %x settled, not %x", dut->settled,
		      packet.mask);
		CHECK(dut->header_valid == (packet.refused ? 0 : packet.mask),
		      "headers of ports %x, of %x", dut->header_valid, packet.mask);
		CHECK(dut->resend_answered == (answer && !packet.differs ? packet.mask : 0),
		      "answered: %x", dut->resend_answered);
		CHECK(dut->resend_differed == (answer && packet.differs ? packet.mask : 0),
		      "of another length: %x", dut->resend_differed);
		header_due = dut->header_valid;
		if (header_due)
			check_headers(packet);
		if (!packet.is_down())
			return;
		broken |= unsigned{packet.differs} << packet.job;
		if (!packet.refused && packet.leaves())
			closing |= 1u << packet.job;
	}

	void check_headers(const Packet &packet)
	{
		bool marked = false;

		for (unsigned p = 0; p < PORTS; p++) {
			marked |= (packet.from >> p & 1) && packet.header[p].tos == 3;
			if (packet.mask >> p & 1)
				packet.header[p].check(dut->header, p);
		}
		CHECK(dut->header_ce == (marked && packet.is_down()), "header_ce");
	}

	void check_output()
	{
		if (!dut->m_valid) {
			CHECK(!header_due, "a header without its first beat");
			ended = false;
			return;
		}
		CHECK(!beats.empty(), "a beat that must not be");
		const Beat beat = beats.front();
		const Packet &packet = *beat.packet;
		const paths::Message &message = packet.message;
		const bool ends = beat.index + 1 == message.beats();
		const unsigned quads = ends ? (message.quads - 1) % 4 + 1 : 4;

		beats.pop_front();
		CHECK(dut->m_kind == packet.kind && dut->m_job == packet.job &&
		              dut->m_slot == packet.slot && dut->m_mask == packet.mask &&
		              dut->m_beat == beat.index,
		      "packet %u, beat %u, not packet %u, beat %u", dut->m_slot, dut->m_beat,
		      packet.slot, beat.index);
		CHECK(dut->m_first == (beat.index == 0) && dut->m_last == ends,
		      "first, last of beat %u of %u", beat.index, message.beats());
		CHECK(header_due == (beat.index == 0 ? packet.mask : 0), "header and beat apart");
		header_due = 0;
		CHECK(!ends || !ended, "two packets end in consecutive clocks");
		ended = ends;
		CHECK(dut->m_quads == quads, "quads");
		CHECK(dut->m_leave == packet.leaves(), "a LEAVE: %u", dut->m_leave);
		/* A probe has no payload; past the end there are zeros. */
		bench::Bytes want(64, 0);
		if (!packet.probe)
			std::copy_n(packet.payload.begin() + beat.index * 64, quads * 16,
			            want.begin());
		CHECK(bench::get(dut->m_data, 0, 64) == want, "data of packet %u, beat %u",
		      packet.slot, beat.index);
	}
};

} // namespace

int main()
{
	bench::Random random(bench::seed());
	unsigned refused = 0, passed = 0, downs_differ = 0, resends_differ = 0, dropped = 0,
	         left = 0, elsewhere = 0;

	for (unsigned round = 0; round < ROUNDS; round++) {
		Relay relay(random, round % 2 ? 0 : 40);

		relay.run();
		relay.begin_anew();
		relay.run();
		refused += relay.refused;
		passed += relay.passed;
		downs_differ += relay.downs_differ;
		resends_differ += relay.resends_differ;
		dropped += relay.dropped;
		left += relay.left;
		elsewhere += relay.elsewhere;
	}
	CHECK(refused > 100 && passed > 300 && downs_differ > 20 && resends_differ > 20 &&
	              dropped > 20 && left > 20 && elsewhere > 20,
	      "%u refused, %u passed, %u from above and %u retransmissions differ, %u dropped, %u "
	      "LEAVEs, %u over by others",
	      refused, passed, downs_differ, resends_differ, dropped, left, elsewhere);
	return 0;
}
