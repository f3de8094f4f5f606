// SPDX-License-Identifier: Apache-2.0
//
// ina_join: a beat of every port each clock, in order and without a gap; packets that are not
// alike never reach the tree, and neither do those behind them that were chosen before the break.
// What came from above is alike where it has the opcode of those that wait for it, and the length
// and the EQUAL lanes of the part.

#include "bench.hpp"
#include "wire/ina_wire.h"
#include "Vina_join.h"

#include <deque>

namespace
{

constexpr unsigned PORTS = 4, JOIN = 0, RAW = 1, RESEND = 2, DOWN = 3;
constexpr unsigned HEADER_BITS = 672, QUADS_BITS = 9; // of an ina_pkg::header_t

/// One chosen packet, as each port has it.
struct Packet {
	unsigned kind, job, slot, from, mask, quads;
	unsigned sum_quads;     // of the sum or part in the history
	bench::Bytes part_beat; // the first of the part
	bool part, probe, refused, dropped, differs;
	uint8_t opcode;
	bench::Bytes payload[PORTS]; // in whole beats
	unsigned port_quads[PORTS];
	uint8_t port_opcode[PORTS], tos[PORTS];
};

struct Beat {
	const Packet *packet;
	unsigned index;
};

/// Sets `width` bits of a port that need not start at a byte.
template <class Wide>
void put_bits(Wide &port, unsigned at, const bench::Bytes &bytes, unsigned width)
{
	for (unsigned i = 0; i < width; i++) {
		const unsigned bit = bytes[i / 8] >> (i % 8) & 1;
		const unsigned place = at + i;

		port[place / 32] = (port[place / 32] & ~(1u << place % 32)) | bit << place % 32;
	}
}

template <class Wide> unsigned get_bits(const Wide &port, unsigned at, unsigned width)
{
	unsigned value = 0;

	for (unsigned i = 0; i < width; i++)
		value |= (port[(at + i) / 32] >> ((at + i) % 32) & 1) << i;
	return value;
}

bench::Bytes header_of(const Packet &packet, unsigned port)
{
	bench::Bytes header(84, static_cast<uint8_t>(packet.slot + port));
	const bool congested = packet.tos[port] == 3;

	header[66] = packet.port_opcode[port];
	header[78] = static_cast<uint8_t>(packet.port_quads[port]);
	header[79] = static_cast<uint8_t>(packet.port_quads[port] >> 8 | congested << 3);
	return header;
}

class Join
{
      public:
	explicit Join(bench::Random &generator) : random(generator)
	{
		dut->s_valid = 0;
		dut->job_valid = 0xF;
		dut->job_broken = 0;
		dut.reset();
	}

	void run(unsigned packets)
	{
		uint64_t busy_clocks = 0;

		for (unsigned i = 0; i < packets; i++)
			make();
		const uint64_t start = dut.clocks;
		while (!waiting.empty() || !beats.empty() || dut->busy) {
			clock();
			CHECK(dut.clocks < start + 70 * packets + 1000, "no end");
		}
		busy_clocks = dut.clocks - start;
		CHECK(busy_clocks <= beats_read + 4 * resends + 8, "%llu clocks for %u beats",
		      static_cast<unsigned long long>(busy_clocks), beats_read);
		CHECK(beats.empty(), "%zu beats are missing", beats.size());
		CHECK(answered == to_answer && differed == to_differ,
		      "%u answered, %u of another length, not %u and %u", answered, differed,
		      to_answer, to_differ);
		CHECK(settled == to_settle, "%u headers settled, not %u", settled, to_settle);
	}

	unsigned refused = 0, passed = 0, dropped = 0, differed = 0;

      private:
	unsigned settled = 0, to_settle = 0;                 // ports of packets
	unsigned answered = 0, to_answer = 0, to_differ = 0; // of retransmissions
	bench::Random &random;
	bench::Dut<Vina_join> dut;
	std::deque<Packet> all;
	std::deque<const Packet *> waiting; // to be offered
	std::deque<Beat> beats;             // that must reach the tree
	std::deque<const Packet *> reading; // taken, and not yet read to their end
	unsigned resending = 0;             // ports whose retransmission has not been removed
	unsigned to_pop = 0;                // and must be in this clock: it was read in the last
	unsigned beats_read = 0, resends = 0;
	bool in_message[4] = {}, broken[4] = {};

	void make()
	{
		Packet packet = {};
		ina_wire_header header = {};

		packet.kind = random.chance(60)   ? JOIN
		              : random.chance(50) ? DOWN
		              : random.chance(50) ? RAW
		                                  : RESEND;
		packet.job = static_cast<unsigned>(random.below(4));
		packet.slot = static_cast<unsigned>(all.size() % 128);
		packet.probe = packet.kind == RESEND && random.chance(30);
		/* Its sum has left the history: it is taken out, and nothing more. */
		packet.dropped = packet.kind == RESEND && !packet.probe && random.chance(30);
		dropped += packet.dropped;
		/* A retransmission of one sum by several ports is one packet. */
		packet.mask = packet.kind == RAW ? 1u << random.below(PORTS)
		                                 : 1 + static_cast<unsigned>(random.below(15));
		packet.from = packet.mask;
		packet.part = packet.kind == DOWN || (packet.kind != RAW && random.chance(50));
		if (packet.kind == JOIN && packet.part)
			packet.mask &= -packet.mask; // the border
		if (packet.kind == DOWN)
			packet.from &= -packet.from; // its own flow
		/* Alike on all ports, but the message has not begun, or not ended. */
		const bool misplaced =
		        packet.kind == JOIN && !broken[packet.job] && random.chance(2);
		const bool starts = (packet.kind != JOIN || !in_message[packet.job]) != misplaced;
		const bool joins = starts && random.chance(10); // a JOIN: places differ
		const bool ends = joins || random.chance(50);
		packet.opcode = starts ? (ends ? 4 : 0) : (ends ? 2 : 1);
		packet.quads = joins ? 3
		                     : 3 + static_cast<unsigned>(
		                                   random.below(random.chance(50) ? 6 : 254));
		header.magic = INA_WIRE_MAGIC;
		header.version = 1;
		header.type = joins ? INA_WIRE_JOIN : INA_WIRE_DATA;
		header.number_type = joins ? 0 : INA_WIRE_FLOAT32;
		header.operation = joins ? 0 : INA_WIRE_SUM;
		for (unsigned p = 0; p < PORTS; p++) {
			packet.port_quads[p] = packet.quads;
			packet.port_opcode[p] = packet.opcode;
			packet.tos[p] = random.chance(10) ? 3 : 2;
			packet.payload[p] = random.bytes((packet.quads + 3) / 4 * 64);
			header.exponent = static_cast<int32_t>(random.next()); // lane 7: MAX
			if (joins)
				header.remaining_bytes = static_cast<uint32_t>(random.next());
			if (starts)
				std::memcpy(&packet.payload[p][0], &header, sizeof(header));
			if (packet.kind == RESEND)
				packet.payload[p] = packet.payload[0];
		}
		/* A sum of another length: likewise. */
		const bool is_right = packet.kind != RESEND || random.chance(70);
		packet.sum_quads =
		        is_right ? packet.quads : 1 + static_cast<unsigned>(random.below(256));
		packet.part_beat = random.bytes(64);
		if (starts)
			std::memcpy(&packet.part_beat[0], &packet.payload[0][0], joins ? 24 : 28);
		packet.differs =
		        packet.kind == RESEND && !packet.probe && packet.sum_quads != packet.quads;
		packet.refused = packet.dropped || packet.differs;
		const unsigned ports = static_cast<unsigned>(__builtin_popcount(packet.mask));
		if (packet.kind == RESEND && !packet.probe && !packet.dropped)
			(packet.differs ? to_differ : to_answer) += ports;
		if (packet.kind == JOIN)
			decide(packet, starts, ends, joins, misplaced);
		if (packet.kind == DOWN)
			decide_down(packet, starts, joins);
		all.push_back(packet);
		waiting.push_back(&all.back());
		resends += packet.kind == RESEND;
		to_settle += static_cast<unsigned>(__builtin_popcount(packet.mask));
		beats_read += (packet.quads + 3) / 4;
		for (unsigned i = 0; !packet.refused && i < (packet.quads + 3) / 4; i++)
			beats.push_back({&all.back(), i});
		(packet.refused ? refused : passed)++;
	}

	void decide(Packet &packet, bool starts, bool ends, bool joins, bool misplaced)
	{
		const bool several = (packet.from & (packet.from - 1)) != 0;

		broken[packet.job] |= misplaced;
		packet.refused = broken[packet.job];
		if (random.chance(3) && several && !broken[packet.job]) {
			const unsigned last =
			        31 - static_cast<unsigned>(__builtin_clz(packet.from));

			if (starts && random.chance(70)) // an EQUAL lane
				packet.payload[last][random.below(joins ? 24 : 28)] ^= 1;
			else
				packet.port_opcode[last] ^= 2;
			broken[packet.job] = true;
			packet.refused = true;
		}
		if (!packet.refused)
			in_message[packet.job] = !ends;
	}

	void decide_down(Packet &packet, bool starts, bool joins)
	{
		const bool several = (packet.mask & (packet.mask - 1)) != 0;

		packet.refused = broken[packet.job];
		if (broken[packet.job] || !random.chance(5))
			return;
		if (several && random.chance(40))
			packet.port_opcode[31 - __builtin_clz(packet.mask)] ^= 2;
		else if (starts && random.chance(50))
			packet.part_beat[random.below(joins ? 24 : 28)] ^= 1;
		else
			packet.sum_quads = packet.quads % 256 + 1;
		broken[packet.job] = packet.refused = true;
	}

	void clock()
	{
		const Packet *offered = waiting.empty() ? nullptr : waiting.front();

		/* ina_pick's promise: the port's retransmission before it has been removed. */
		if (offered && offered->kind == RESEND && (resending & offered->mask))
			offered = nullptr;
		dut->s_valid = offered != nullptr;
		if (offered) {
			dut->s_kind = static_cast<uint8_t>(offered->kind);
			dut->s_job = static_cast<uint8_t>(offered->job);
			dut->s_slot = static_cast<uint8_t>(offered->slot);
			dut->s_from = static_cast<uint8_t>(offered->from);
			dut->s_mask = static_cast<uint8_t>(offered->mask);
			dut->s_part = offered->part;
			dut->s_probe = offered->probe;
			dut->s_dropped = offered->dropped;
		}
		dut.settle();
		const bool taken = dut->s_valid && dut->s_ready;
		const bool peeks = dut->peek_read;
		const unsigned header_read = dut->header_read, beat_read = dut->beat_read;
		const bool history = dut->history_read, read_resend = dut->read_resend;
		const unsigned popped = dut->resend_pop, beat = dut->read_beat;
		const unsigned newly_broken = dut->mismatch_valid ? 1u << dut->undo_job : 0;

		check_output();
		if (dut->undo_valid)
			CHECK(broken[dut->undo_job], "a good job is called off");
		answered += static_cast<unsigned>(__builtin_popcount(dut->resend_answered));
		differed += static_cast<unsigned>(__builtin_popcount(dut->resend_differed));
		settled += static_cast<unsigned>(__builtin_popcount(dut->settled));
		dut->clk = 1;
		dut->eval();
		dut.clocks++;
		dut->job_broken |= static_cast<uint8_t>(newly_broken);
		resending &= ~popped;
		if (taken) {
			waiting.pop_front();
			reading.push_back(offered);
			if (offered->kind == RESEND)
				resending |= offered->mask;
		}
		if (peeks)
			dut->history_quads = static_cast<uint16_t>(offered->sum_quads);
		for (unsigned p = 0; peeks && p < PORTS; p++) {
			const unsigned at = p * QUADS_BITS;

			dut->peek_quads &= ~(uint64_t{511} << at);
			dut->peek_quads |= uint64_t{offered->port_quads[p]} << at;
		}
		CHECK(popped == to_pop, "retransmissions of ports %x removed, not of %x", popped,
		      to_pop);
		to_pop = 0;
		if (beat_read || history)
			answer_reads(header_read, read_resend, beat_read, beat, history);
	}

	/// The RAMs: what was asked for in the last clock.
	void answer_reads(unsigned header_read, bool read_resend, unsigned beat_read, unsigned beat,
	                  bool history)
	{
		const Packet &packet = *reading.front();

		CHECK(beat_read == (packet.kind == RESEND ? 0 : packet.from), "reads of ports %x",
		      beat_read);
		CHECK(history == (packet.kind == RESEND || (packet.kind == DOWN && beat == 0)),
		      "reads the history: %d", history);
		if (packet.kind == DOWN && beat == 0)
			bench::put(dut->history_data, 0, &packet.part_beat[0], 64);
		CHECK(header_read == (beat == 0 ? packet.from | packet.mask : 0),
		      "header of beat %u", beat);
		CHECK(read_resend == (packet.kind == RESEND), "a header of the other kind");
		if (packet.kind == RESEND && beat == 0)
			to_pop = packet.mask;
		for (unsigned p = 0; p < PORTS; p++) {
			const bench::Bytes &payload = packet.payload[p];

			if (!((packet.from | packet.mask) >> p & 1))
				continue;
			if (packet.kind == RESEND)
				bench::put(dut->history_data, 0, &payload[beat * 64], 64);
			else if (packet.from >> p & 1)
				bench::put(dut->queue_data, p * 64, &payload[beat * 64], 64);
			if (header_read >> p & 1)
				put_bits(dut->queue_header, p * HEADER_BITS, header_of(packet, p),
				         HEADER_BITS);
		}
		if (beat + 1 == (packet.quads + 3) / 4)
			reading.pop_front();
	}

	void check_output()
	{
		if (!dut->m_valid) {
			CHECK(!dut->header_valid, "a header without a beat");
			return;
		}
		CHECK(!beats.empty(), "a beat that must not be");
		const Beat beat = beats.front();
		const Packet &packet = *beat.packet;
		const unsigned count = (packet.quads + 3) / 4;

		beats.pop_front();
		CHECK(dut->m_kind == packet.kind && dut->m_job == packet.job &&
		              dut->m_slot == packet.slot && dut->m_mask == packet.mask &&
		              dut->m_part == packet.part && dut->m_beat == beat.index,
		      "packet %u, beat %u, not packet %u, beat %u", dut->m_slot, dut->m_beat,
		      packet.slot, beat.index);
		CHECK(dut->m_first == (beat.index == 0) && dut->m_last == (beat.index + 1 == count),
		      "first, last of beat %u of %u", beat.index, count);
		CHECK(dut->m_quads == (dut->m_last ? (packet.quads - 1) % 4 + 1 : 4), "quads");
		CHECK(dut->m_leaves == (packet.kind == RESEND ? 1 : packet.from), "leaves");
		CHECK(dut->header_valid == (dut->m_first ? packet.mask : 0), "header_valid");
		for (unsigned p = 0; p < PORTS; p++)
			if ((packet.from | packet.mask) >> p & 1)
				check_port(packet, beat.index, p);
		if (dut->m_first)
			check_marking(packet);
	}

	void check_port(const Packet &packet, unsigned index, unsigned p)
	{
		bench::Bytes want(packet.payload[p].begin() + index * 64,
		                  packet.payload[p].begin() + index * 64 + 64);

		if (packet.probe)
			want.assign(64, 0);
		const unsigned leaf = packet.kind == RESEND ? 0 : p;

		if (packet.from >> p & 1) {
			CHECK(dut->m_leaves >> leaf & 1, "the operand of port %u does not count",
			      p);
			CHECK(bench::get(dut->m_data, leaf * 64, 64) == want, "data of port %u", p);
		}
		if (!dut->m_first || !(packet.mask >> p & 1))
			return;
		bench::Bytes header = header_of(packet, p);
		header[64] = header[65] = 0; // UDP checksum
		for (unsigned i = 0; i < HEADER_BITS; i++)
			CHECK(get_bits(dut->header, p * HEADER_BITS + i, 1) ==
			              (header[i / 8] >> (i % 8) & 1u),
			      "bit %u of the header of port %u", i, p);
	}

	void check_marking(const Packet &packet)
	{
		bool marked = false;

		for (unsigned p = 0; p < PORTS; p++)
			marked |= (packet.from >> p & 1) && packet.tos[p] == 3;
		CHECK(dut->header_ce == (marked && (packet.kind == JOIN || packet.kind == DOWN)),
		      "header_ce");
	}
};

} // namespace

int main()
{
	bench::Random random(bench::seed());
	unsigned refused = 0, passed = 0, dropped = 0, differed = 0;

	for (unsigned round = 0; round < 40; round++) {
		Join join(random);

		join.run(60);
		refused += join.refused;
		passed += join.passed;
		dropped += join.dropped;
		differed += join.differed;
	}
	CHECK(refused > 100 && passed > 300 && dropped > 20 && differed > 20,
	      "%u refused, %u passed, %u dropped, %u of another length", refused, passed, dropped,
	      differed);
	return 0;
}
