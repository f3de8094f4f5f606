// SPDX-License-Identifier: Apache-2.0
//
// ina_queue against a deque for each job: what goes in comes out at its slot, in order; the counts
// are those of the pushes and pops; a job that ends leaves nothing.

#include "bench.hpp"
#include "Vina_queue.h"

#include <deque>

namespace
{

constexpr unsigned JOBS = 4, SLOTS = 128;

struct Packet {
	uint8_t mark; // fills its beats and its header
	unsigned quads;
};

struct Ring {
	std::deque<Packet> packets;
	unsigned head = 0, sums = 0, raw = 0;
};

uint32_t field(uint32_t all, unsigned job, unsigned width)
{
	return all >> (job * width) & ((1u << width) - 1);
}

void check_counts(Vina_queue &top, const Ring *rings)
{
	for (unsigned j = 0; j < JOBS; j++) {
		uint32_t raw = 0;

		std::memcpy(&raw, bench::get(top.raw, 3 * j, 3).data(), 3);
		CHECK(field(top.fill, j, 8) == rings[j].packets.size(), "job %u: fill", j);
		CHECK(field(top.head, j, 7) == rings[j].head % SLOTS, "job %u: head", j);
		CHECK(field(top.sums, j, 8) == std::min(rings[j].sums, SLOTS), "job %u: sums", j);
		CHECK(raw == rings[j].raw, "job %u: raw", j);
	}
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

} // namespace

int main()
{
	bench::Random random(bench::seed());
	bench::Dut<Vina_queue> dut;
	Ring rings[JOBS];

	dut->write_valid = dut->commit_valid = dut->pop_valid = 0;
	dut->peek_read = dut->header_read = dut->beat_read = 0;
	dut->job_valid = 0xF;
	dut.reset();
	for (unsigned i = 0; i < 20000; i++) {
		const unsigned job = static_cast<unsigned>(random.below(JOBS));
		const unsigned pop_job = static_cast<unsigned>(random.below(JOBS));
		const bool push = random.chance(60) && rings[job].packets.size() < SLOTS;
		const unsigned beats = 1 + static_cast<unsigned>(random.below(3));
		const Packet packet = {static_cast<uint8_t>(random.next()), beats * 4};

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
		dut->commit_valid = push;
		dut->pop_valid = !rings[pop_job].packets.empty() && random.chance(50);
		dut->pop_job = static_cast<uint8_t>(pop_job);
		dut->pop_raw = random.chance(30);
		dut.tick(); // a push and a pop in the same clock, also of the same job
		if (push)
			rings[job].packets.push_back(packet);
		if (dut->pop_valid) {
			Ring &ring = rings[pop_job];

			ring.packets.pop_front();
			ring.head++;
			(dut->pop_raw ? ring.raw : ring.sums)++;
		}
		dut->write_valid = dut->commit_valid = dut->pop_valid = 0;
		dut.settle();
		check_counts(dut.top, rings);
		if (!rings[job].packets.empty()) {
			const unsigned ahead =
			        static_cast<unsigned>(random.below(rings[job].packets.size()));

			check_packet(dut, rings[job], job, ahead,
			             static_cast<unsigned>(
			                     random.below(rings[job].packets[ahead].quads / 4)));
		}
		if (random.below(500) == 0) {
			dut->job_valid = 0xF & ~(1u << job);
			dut.tick();
			dut->job_valid = 0xF;
			rings[job] = Ring();
		}
	}
	return 0;
}
