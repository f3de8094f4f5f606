// SPDX-License-Identifier: Apache-2.0
//
// ina_judge against the table of PSNs in docs/protocol.md: every distance from the next PSN, with
// every state of the queue and the job, gets the verdict of its row. This file restates the rows
// from the table.

#include "bench.hpp"
#include "counters.hpp"
#include "Vina_judge.h"

namespace
{

constexpr unsigned SLOTS = 128, JOBS = 4;
constexpr uint32_t JOIN_LANE = 0x01014E49, LEAVE_LANE = 0x03014E49, DATA_LANE = 0x02014E49;
constexpr uint32_t PROBE_OFFSET = 0x400000;
constexpr uint64_t JOB_ID = 0x0123456789ABCDEF;
constexpr int PROBE_REACH = 1 << 14; // how near another switch's probe is to PROBE_OFFSET
struct Queue {
	unsigned fill = 0, sums = 0, head = 0, sum_count = 0;
	uint32_t raw = 0;
};

class Judge
{
      public:
	bench::Dut<Vina_judge> dut;
	Queue queue[JOBS];

	/// Without a quiet time by default.
	explicit Judge(bool has_quiet_time = false)
	{
		dut->contest_valid = 0; // the proof of ina_judge covers it
		dut->tick = dut->patience = !has_quiet_time;
		dut->s_job_id = dut->next_job_id = JOB_ID;
		dut->s_valid = 0;
		dut->early_valid = 0;
		dut->next_valid = 0;
		dut->answer_valid = 0;
		dut->job_freed = 0;
		dut->job_complete = 0xF;
		dut->job_broken = dut->job_lingers = 0;
		dut->uplink = dut->probes = 0;
		dut->job_border = dut->job_early = dut->job_unanswered = 0;
		for (unsigned j = 0; j < JOBS; j++)
			bench::set_bits(dut->job_window, j * 7, 7, SLOTS - 1);
		dut->resend_ready = 1;
		dut.reset();
	}

	/// Puts one packet of one beat in front of the judge. Its header came two clocks before,
	/// its payload one clock before.
	void show(uint32_t flow, uint32_t psn, uint32_t lane_0, unsigned quads, uint8_t opcode = 4,
	          bool ok = true, bool candidate = true, bool roce = true, bool ack = false)
	{
		bench::Packet packet;

		packet.ack = ack;
		packet.opcode = opcode;
		packet.qpn = flow;
		packet.psn = psn;
		show(bench::make_frame(packet), lane_0, quads, ok, candidate, roce);
	}
	void show(const bench::Bytes &frame, uint32_t lane_0, unsigned quads, bool ok = true,
	          bool candidate = true, bool roce = true)
	{
		bench::put_header(dut->early_header, frame, quads);
		dut->early_valid = 1;
		dut.tick();
		dut->early_valid = 0;
		dut->next_valid = dut->next_first = 1;
		dut->next_candidate = candidate;
		dut->next_lane_0 = lane_0;
		dut.tick();
		dut->next_valid = 0;
		bench::put_header(dut->s_header, frame, quads, bench::header_crc(frame));
		dut->s_valid = dut->s_first = dut->s_last = 1;
		dut->s_candidate = candidate;
		dut->s_roce_data = roce;
		dut->s_ok = ok;
		dut.settle();
		set_queue(queue[dut->watch_job]);
		dut.settle();
	}
	/// Lets the judge decide on the packet that is shown. A JOIN that asks for nothing stops
	/// for a clock.
	void judge()
	{
		if (!dut->en) {
			dut.tick();
			CHECK(dut->en && !dut->token_valid, "a JOIN that asks for nothing waits");
		}
		dut.tick();
		dut->s_valid = 0;
		dut.settle();
		CHECK(dut->token_valid, "no token");
	}
	/// The packets of one clock: a data packet of one beat comes, and the others move on.
	void offer(bool early, uint32_t flow, uint32_t psn, bool next, bool now)
	{
		bench::Packet packet;

		packet.qpn = flow;
		packet.psn = psn;
		bench::put_header(dut->early_header, bench::make_frame(packet), 4);
		dut->early_valid = early;
		dut->next_valid = next;
		dut->next_first = dut->next_candidate = 1;
		dut->next_lane_0 = DATA_LANE;
		dut->s_valid = now;
		dut->s_first = dut->s_last = dut->s_candidate = dut->s_roce_data = dut->s_ok = 1;
		dut.settle();
	}
	/// Ends the packet: nothing else comes.
	void next()
	{
		dut.tick();
		CHECK(!dut->token_valid && !dut->commit_valid && !dut->write_valid && !resends() &&
		              !dut->break_valid && !dut->leave_valid && !dut->hit_valid &&
		              dut->events == 0,
		      "a second verdict");
	}
	/// Shows a JOIN that is granted context `job`.
	void learn(uint32_t flow, uint32_t psn, unsigned job)
	{
		show(flow, psn, JOIN_LANE, 3);
		grant(job);
	}
	/// Grants the JOIN that is shown.
	void grant(unsigned job)
	{
		CHECK(dut->ask_valid && !dut->en && !dut->token_valid, "a JOIN does not wait");
		dut.tick();
		dut->answer_valid = 1;
		dut->answer_granted = 1;
		dut->answer_job = static_cast<uint8_t>(job);
		for (int i = 0; i < 2; i++) { // its flow is learned
			dut.settle();
			CHECK(!dut->en && !dut->token_valid && !dut->write_valid,
			      "a JOIN is forwarded before its flow is learned");
			dut.tick();
			dut->answer_valid = 0;
			dut->answer_granted = 0;
			dut->answer_job = 0;
		}
		dut.settle();
		CHECK(dut->en && dut->token_valid && !dut->token_pass && dut->commit_valid &&
		              dut->write_valid && dut->write_opens && dut->write_job == job &&
		              dut->write_beat == 0,
		      "a granted JOIN is not taken");
		dut.tick();
		dut->s_valid = 0;
		dut.settle();
		CHECK(!dut->token_valid && !dut->commit_valid, "a JOIN is taken twice");
	}
	bool resends() const
	{
		return dut.top.resend_valid;
	}
	uint32_t resend_psn() const
	{
		const bench::Bytes psn = bench::get(dut.top.commit_header, 75, 3);

		return uint32_t{psn[0]} << 16 | bench::get_be16(psn, 1);
	}

	bool asks_for_ack() const
	{
		return bench::get(dut.top.commit_header, 74, 1)[0] >> 7;
	}

	void set_queue(const Queue &state)
	{
		dut->queue_fill = static_cast<uint8_t>(state.fill);
		dut->queue_sums = static_cast<uint8_t>(state.sums);
		dut->queue_raw = state.raw;
		dut->queue_sum_count = static_cast<uint16_t>(state.sum_count);
		dut->queue_sum_slot =
		        static_cast<uint8_t>((state.head + 1000 * SLOTS - state.raw) % SLOTS);
	}
};

enum Verdict { TAKE, DROP, PASS, RESEND, PROBE, BREAK_AND_PASS, SUSPECT, OUT, QUIET };

bool is_far(int distance, int window)
{
	return distance >= window || distance < -2 * window - 1;
}

/// The role of a flow at a switch among several.
struct Role {
	unsigned window = SLOTS;
	bool probes = false; // other switches' probes can come
	bool border = false;
	bool early = false;      // a down flow whose next part has not gone up
	bool over = false;       // all ranks have left its broken job
	bool unanswered = false; // a border, and the sum of the JOINs has not come down yet
};

bool is_other_probe(int distance, const Role &role)
{
	return role.probes && std::abs(distance - static_cast<int>(PROBE_OFFSET)) < PROBE_REACH;
}

Verdict verdict_by_table(int distance, const Queue &queue, bool broken, const Role &role = Role())
{
	const unsigned age = distance < 0 ? static_cast<unsigned>(-distance) : 0;

	if (role.over)
		return QUIET;
	if (is_other_probe(distance, role))
		return PASS;
	const bool begun = queue.sums > 0 && !role.unanswered; // the sum of its JOIN has gone out

	if (is_far(distance, static_cast<int>(role.window)))
		return broken && !begun ? PASS : SUSPECT;
	if (distance == 0)
		return queue.fill < role.window && !(role.early && !broken) ? TAKE : DROP;
	if (distance > 0 && !begun)
		return BREAK_AND_PASS;
	if (distance > 0 && broken)
		return PASS;
	if (distance > 0)
		return PROBE;
	if (age <= queue.fill)
		return DROP;
	if (age - queue.fill <= queue.raw) // was sent raw
		return PASS;
	if (age - queue.fill - queue.raw <= std::min(queue.sums, role.window))
		return RESEND;
	return role.border ? PASS : PROBE;
}

bool went_raw(int distance, const Queue &queue)
{
	return static_cast<unsigned>(-distance) <= queue.fill + queue.raw;
}

/// The judge's output in this clock.
Verdict verdict_out(Judge &judge)
{
	CHECK(judge.dut->token_valid, "no token");
	if (judge.dut->commit_valid)
		return TAKE;
	if (judge.resends())
		return bench::Resend::of(judge.dut->resend).probe ? PROBE : RESEND;
	if (judge.dut->token_pass)
		return judge.dut->break_valid ? BREAK_AND_PASS : PASS;
	if (judge.dut->events >> counters::suspects_dropped & 1) {
		CHECK(judge.dut->break_valid == judge.dut->leave_valid, "half evicted");
		return judge.dut->break_valid ? OUT : SUSPECT;
	}
	if (judge.dut->events >> counters::quiet_dropped & 1)
		return QUIET;
	return DROP;
}

/// The verdict on the packet that is shown.
Verdict verdict_of(Judge &judge)
{
	judge.judge();
	return verdict_out(judge);
}

void test_table(bench::Random &random)
{
	Judge judge;
	const uint32_t flow = 0x123456;
	const unsigned job = 2;
	uint32_t next_psn = 0xFFFFF0;
	bool recovers = false; // past a gap, before an ACK was asked for
	unsigned asked = 0;

	judge.learn(flow, next_psn++, job);
	judge.dut->patience = 0; // so that no flow is ever silent
	for (unsigned i = 0; i < 200000; i++) {
		Queue &queue = judge.queue[job];
		const bool broken = random.chance(30);
		/* A ring of the largest size or a smaller one. */
		const unsigned window = SLOTS >> random.below(4);
		int distance = static_cast<int>(random.below(400)) - 260;

		bench::set_bits(judge.dut->job_window, job * 7, 7, window - 1);

		queue.fill = static_cast<unsigned>(random.below(window + 1));
		queue.sums = static_cast<unsigned>(random.below(SLOTS + 1));
		queue.raw = broken ? static_cast<uint32_t>(random.below(200)) : 0;
		queue.head = static_cast<unsigned>(random.below(SLOTS)) % window;
		queue.sum_count = static_cast<unsigned>(random.below(0x10000));
		if (random.chance(2))
			distance = random.chance(50) ? 0x7FFFFF : -0x800000;
		if (random.chance(20))
			distance = 0;
		if (random.chance(5))
			distance = static_cast<int>(PROBE_OFFSET) +
			           (random.chance(50) ? PROBE_REACH : -PROBE_REACH) +
			           static_cast<int>(random.below(3)) - 1;
		const bool border = random.chance(30);
		const Role role = {window,
		                   random.chance(50),
		                   border,
		                   random.chance(30),
		                   broken && random.chance(20),
		                   border && random.chance(20)};
		const bool far = is_far(distance, static_cast<int>(window)) &&
		                 !is_other_probe(distance, role);
		judge.dut->probes = role.probes;
		judge.dut->job_border = role.border ? 1 << job : 0;
		judge.dut->job_early = role.early ? 1 << job : 0;
		judge.dut->job_unanswered = role.unanswered ? 1 << job : 0;
		judge.dut->job_broken = broken ? 1 << job : 0;
		judge.dut->job_lingers = role.over ? 1 << job : 0;
		const uint32_t psn = (next_psn + static_cast<uint32_t>(distance)) & 0xFFFFFF;
		const bool ack = random.chance(10);
		judge.show(flow, psn, DATA_LANE, 4, 4, true, true, true, ack);
		const Verdict want = verdict_by_table(distance, queue, broken, role);
		const Verdict got = verdict_of(judge);
		const bool old = want == PROBE || (want == PASS && role.border && !far);
		const bool own =
		        got != SUSPECT && got != QUIET && !far && !is_other_probe(distance, role);

		CHECK(judge.dut->hit_valid == own && judge.dut->hit_job == job, "heard of: %u",
		      judge.dut->hit_valid);
		CHECK((judge.dut->events >> counters::duplicates_old & 1) ==
		                      (old && distance < 0 && !went_raw(distance, queue)) &&
		              (judge.dut->events >> counters::gaps & 1) ==
		                      (distance > 0 &&
		                       !is_far(distance, static_cast<int>(role.window)) &&
		                       !role.over),
		      "events %x", judge.dut->events);
		CHECK(got == want, "distance %d, fill %u, sums %u, raw %u, broken %d: %d, not %d",
		      distance, queue.fill, queue.sums, queue.raw, broken, got, want);
		/* A border's packet that comes before the sum of its JOIN breaks its job. */
		CHECK(got != TAKE || judge.dut->break_valid ==
		                             (border && (role.unanswered || !queue.sums)),
		      "a border's: %u", judge.dut->break_valid);
		CHECK(judge.dut->caught_up == (own && got != RESEND), "caught up: %u",
		      judge.dut->caught_up);
		if (got == TAKE || got == PROBE || got == RESEND) {
			bench::Packet sent;

			sent.ack = ack || got == RESEND || (got == TAKE && recovers);
			CHECK(judge.asks_for_ack() == sent.ack, "asks for an ACK: %u", !sent.ack);
			asked += got == TAKE && !ack && sent.ack;
			sent.qpn = flow;
			sent.psn = judge.resend_psn();
			CHECK(bench::get_header_crc(judge.dut->commit_header) ==
			              bench::header_crc(bench::make_frame(sent)),
			      "a wrong CRC of the headers with PSN %06x", sent.psn);
		}
		if (got == TAKE)
			next_psn = (next_psn + 1) & 0xFFFFFF;
		recovers = (got == PROBE && distance > 0) || (recovers && !(got == TAKE && ack));
		if (got == PROBE)
			CHECK(judge.resend_psn() == ((psn + PROBE_OFFSET) & 0xFFFFFF),
			      "a probe with PSN %06x", judge.resend_psn());
		const bench::Resend resend = bench::Resend::of(judge.dut->resend);
		if (got == RESEND)
			CHECK(judge.resend_psn() == psn && resend.part == role.border &&
			              resend.slot ==
			                      ((queue.head + queue.fill + 4 * SLOTS + distance) %
			                       window) &&
			              resend.ordinal == ((queue.sum_count + queue.fill + queue.raw +
			                                  static_cast<unsigned>(distance)) &
			                                 0xFFFF),
			      "answered from slot %u, as sum %u", resend.slot, resend.ordinal);
		judge.next();
	}
	CHECK(asked > 100, "%u that were lost asked for an ACK", asked);
}

/// A JOIN of another flow that asks for an ACK does not end this flow's recovery.
void test_join_beside_a_gap()
{
	Judge judge;

	judge.learn(7, 100, 0);
	judge.queue[0].sums = 1;
	judge.show(7, 102, DATA_LANE, 4);
	CHECK(verdict_of(judge) == PROBE, "a packet after a gap is forwarded");
	judge.next();
	judge.show(8, 200, JOIN_LANE, 3, 4, true, true, true, true);
	judge.grant(1);
	judge.show(7, 101, DATA_LANE, 4);
	CHECK(verdict_of(judge) == TAKE && judge.asks_for_ack(),
	      "what was lost does not ask for an ACK behind another flow's JOIN");
}

/// A JOIN that must come again is dropped and counted at its port: one from above waits for its
/// job's part, and one from below waits for its port's quota.
void test_held()
{
	Judge judge;

	for (bool uplink : {false, true}) {
		judge.dut->uplink = uplink;
		judge.show(7, 100, JOIN_LANE, 3);
		judge.dut.tick();
		judge.dut->answer_valid = judge.dut->answer_held = 1;
		judge.dut->answer_granted = 0;
		judge.dut.tick();
		judge.dut->answer_valid = judge.dut->answer_held = 0;
		judge.dut.tick();
		CHECK(verdict_out(judge) == DROP, "a held JOIN is forwarded");
		CHECK((judge.dut->events >> counters::joins_held & 1) == !uplink &&
		              (judge.dut->events >> counters::no_room_dropped & 1) == uplink,
		      "events %x", judge.dut->events);
		judge.dut.tick();
		judge.dut->s_valid = 0;
		judge.next();
	}
}

/// A suspect of each kind.
void show_suspect(Judge &judge, unsigned kind, uint32_t next_psn)
{
	judge.dut->next_job_id = JOB_ID;
	if (kind % 4 == 0) { // a request that cannot be a contribution, at any distance
		judge.show(7, next_psn + kind % 7 - 3, 0, 0, 0x0A, true, false);
	} else if (kind % 4 == 1) {
		judge.show(7, next_psn + (kind % 2 ? SLOTS : -2 * SLOTS - 2), DATA_LANE, 4);
	} else {
		judge.dut->next_job_id = JOB_ID ^ uint64_t { 1 } << kind % 64;
		if (kind % 4 == 2)
			judge.show(7, next_psn + kind % 5 - 3, JOIN_LANE, 3);
		else
			judge.show(7, next_psn + kind % 5 - 3, DATA_LANE, 4, kind % 8 == 3 ? 0 : 4);
	}
}

/// Only the fourth suspect in a row evicts the flow: any packet of the flow starts the count again.
void test_suspects()
{
	Judge judge;

	judge.learn(7, 100, 0);
	judge.queue[0].sums = 1;
	for (unsigned i = 0; i < 60; i++) {
		show_suspect(judge, i, 101 + i / 3);
		CHECK(verdict_of(judge) == SUSPECT, "suspect %u", i);
		CHECK(!judge.dut->hit_valid && !judge.dut->caught_up, "it counts as the flow's");
		judge.next();
		if (i % 3 != 2)
			continue;
		judge.dut->next_job_id = JOB_ID;
		judge.show(7, 101 + i / 3, DATA_LANE, 4);
		CHECK(verdict_of(judge) == TAKE, "not taken");
		judge.next();
	}
	for (unsigned i = 0; i < 4; i++) {
		show_suspect(judge, 5 * i, 121);
		CHECK(verdict_of(judge) == (i < 3 ? SUSPECT : OUT), "suspect %u in a row", i);
		judge.next();
	}
	judge.dut->next_job_id = JOB_ID;
	judge.show(7, 121, DATA_LANE, 4);
	CHECK(verdict_of(judge) == PASS, "the flow is still known");
	judge.learn(7, 5000, 1); // another connection
	judge.show(7, 5001, DATA_LANE, 4);
	CHECK(verdict_of(judge) == TAKE && judge.dut->hit_job == 1, "a new flow is not judged");
}

/// Suspects of one beat, one a clock: the fourth one evicts the flow, and the packet directly after
/// it has no flow.
void test_suspects_together()
{
	constexpr unsigned COUNT = 6;
	bench::Packet packet;

	packet.opcode = 0x0A;
	packet.qpn = 7;
	packet.psn = 101;
	for (unsigned before = 0; before < 4; before++) {
		Judge judge;
		auto &dut = judge.dut;

		judge.learn(7, 100, 0);
		judge.queue[0].sums = 1;
		for (unsigned i = 0; i < before; i++) {
			show_suspect(judge, 0, 101);
			CHECK(verdict_of(judge) == SUSPECT, "suspect %u", i);
			judge.next();
		}
		dut->s_valid = 0;
		const bench::Bytes frame = bench::make_frame(packet);
		bench::put_header(dut->early_header, frame, 0);
		bench::put_header(dut->s_header, frame, 0, bench::header_crc(frame));
		dut->next_candidate = dut->s_candidate = 0;
		dut->s_roce_data = dut->s_ok = 1;
		for (unsigned clock = 0; clock < COUNT + 3; clock++) {
			dut->early_valid = clock < COUNT;
			dut->next_valid = dut->next_first = clock >= 1 && clock < COUNT + 1;
			dut->s_valid = dut->s_first = dut->s_last = clock >= 2 && clock < COUNT + 2;
			dut.tick();
			if (clock < 2 || clock >= COUNT + 2)
				continue;
			const unsigned number = before + clock - 2; // number of the suspect
			CHECK(dut->token_valid && dut->break_valid == (number == 3) &&
			              dut->leave_valid == (number == 3) &&
			              dut->token_pass == (number > 3),
			      "%u and %u: breaks %u, passes %u", before, clock - 2,
			      dut->break_valid, dut->token_pass);
		}
	}
}

/// Only the first packet of a message has a job id, and each of two flows has its own.
void test_job_ids()
{
	Judge judge;

	judge.learn(7, 100, 0);
	judge.dut->s_job_id = judge.dut->next_job_id = 5;
	judge.learn(8, 200, 1);
	judge.queue[0].sums = judge.queue[1].sums = 1;
	judge.show(8, 201, DATA_LANE, 4, 0);
	CHECK(verdict_of(judge) == TAKE, "a First packet of its job");
	judge.show(7, 101, DATA_LANE, 4, 0);
	CHECK(verdict_of(judge) == SUSPECT, "a First packet of the other flow's job");
	for (uint8_t opcode : {1, 2}) {
		judge.show(7, 101u + opcode - 1, DATA_LANE, 4, opcode);
		CHECK(verdict_of(judge) == TAKE, "a packet with opcode %u in mid-message", opcode);
	}
	judge.show(7, 103, DATA_LANE, 4, 4, false);
	CHECK(verdict_of(judge) == DROP, "a damaged one is no suspect");
}

/// Another switch's probe has zeros in place of a job id, and passes. A JOIN is never taken for a
/// probe.
void test_other_probes()
{
	Judge judge;

	judge.learn(7, 100, 0);
	judge.queue[0].sums = 1;
	judge.dut->probes = 1;
	judge.dut->next_job_id = 0;
	judge.show(7, 101 + PROBE_OFFSET, 0, 4);
	CHECK(verdict_of(judge) == PASS && !judge.dut->hit_valid && !judge.dut->caught_up,
	      "another switch's probe");
	judge.next();
	judge.dut->next_job_id = JOB_ID;
	judge.show(7, 101 + PROBE_OFFSET, JOIN_LANE, 3);
	CHECK(verdict_of(judge) == SUSPECT, "a JOIN where probes are");
}

/// A flow that sent a packet in this period between two ends of patience, or in the period before,
/// stays.
void test_silence()
{
	Judge judge(true);
	const auto end = [&judge] {
		judge.dut->patience = 1;
		judge.dut.tick();
		judge.dut->patience = 0;
	};

	for (unsigned i = 0; i < 2; i++) {
		judge.dut->tick = 1;
		judge.dut.tick();
		judge.dut->tick = 0;
	}
	judge.learn(7, 100, 0);
	for (unsigned i = 0; i < 5; i++) { // of the quiet time
		judge.dut->tick = 1;
		judge.dut.tick();
		judge.dut->tick = 0;
	}
	for (unsigned i = 0; i < 20; i++) {
		if (i == 10)
			end();
		show_suspect(judge, i, 101);
		CHECK(verdict_of(judge) == SUSPECT, "a live flow is evicted");
		judge.next();
	}
	end();
	show_suspect(judge, 0, 101);
	CHECK(verdict_of(judge) == OUT, "a silent flow is not evicted");
}

/// After a reset, SENDs are dropped until the second tick, whether their flow is known or not. A
/// JOIN asks for nothing.
void test_quiet_time()
{
	Judge judge(true);

	for (unsigned ticks = 0; ticks <= 2; ticks++) {
		for (const bench::Form &form : bench::FORMS)
			for (uint8_t opcode : {0, 1, 2, 3, 4, 5, 6, 10}) {
				bench::Packet packet;

				packet.form = form;
				packet.opcode = opcode;
				judge.show(bench::make_frame(packet), DATA_LANE, 4);
				const bool quiet = ticks < 2 && opcode < 6;
				CHECK(verdict_of(judge) == (quiet ? QUIET : PASS),
				      "%u ticks, opcode %u", ticks, opcode);
				CHECK((judge.dut->events >> counters::quiet_dropped & 1) == quiet,
				      "not counted");
				judge.next();
			}
		judge.show(7, 100, JOIN_LANE, 3);
		if (ticks == 2)
			break;
		CHECK(!judge.dut->ask_valid && verdict_of(judge) == QUIET,
		      "a JOIN in the quiet time");
		judge.next();
		judge.dut->tick = 1;
		judge.dut.tick();
		judge.dut->tick = 0;
	}
	judge.grant(0);
}

/// A packet of the flow that the format forbids breaks its job immediately.
void test_ill_formed()
{
	Judge judge;

	judge.learn(7, 102, 0);
	judge.show(7, 103, DATA_LANE, 2);
	CHECK(verdict_of(judge) == BREAK_AND_PASS, "an Only packet of 32 bytes");
	judge.show(7, 103, DATA_LANE, 1, 0);
	CHECK(verdict_of(judge) == BREAK_AND_PASS, "a First packet of 16 bytes");
	judge.show(7, 103, DATA_LANE, 1, 1);
	CHECK(verdict_of(judge) == TAKE, "a Middle packet of 16 bytes");
	judge.show(7, 103, DATA_LANE, 4, 4, false);
	CHECK(verdict_of(judge) == DROP && !judge.dut->hit_valid, "a wrong iCRC");
	judge.show(8, 103, DATA_LANE, 4, 4, false);
	CHECK(verdict_of(judge) == PASS, "a wrong iCRC of a stranger");
}

/// A flow's key is its form, VLAN id, addresses, UDP source port and QPN. Each bit of them counts,
/// and nothing else.
void test_key()
{
	for (const bench::Form &form : bench::FORMS) {
		Judge judge;
		bench::Packet packet;

		packet.form = form;
		packet.psn = 100;
		judge.show(bench::make_frame(packet), JOIN_LANE, 3);
		judge.grant(1);
		uint32_t next_psn = 101;
		const size_t qpn = form.bth() + 5;

		for (size_t bit = 0; bit < 8 * (form.bth() + 8); bit++) {
			const size_t at = bit / 8;

			packet.psn = next_psn;
			bench::Bytes other = bench::make_frame(packet);
			other[at] ^= static_cast<uint8_t>(1u << bit % 8);
			if (!(bench::form_of(other) == form) || at == form.bth())
				continue;
			const bool differs = (at >= form.source() && at < form.udp() + 2) ||
			                     (at >= qpn && at < qpn + 3) ||
			                     (form.vlan && (at == 15 || (at == 14 && bit % 8 < 4)));
			judge.show(other, DATA_LANE, 4);
			CHECK(verdict_of(judge) == (differs ? PASS : TAKE),
			      "bit %zu of byte %zu makes %s flow", bit % 8, at,
			      differs ? "no other" : "another");
			judge.next();
			next_psn += !differs;
		}
	}
}

/// A packet with VLAN id 0, whose IPv6 addresses are zeros and then an IPv4 address.
bench::Bytes frame_in(const bench::Form &form, uint32_t psn)
{
	bench::Packet packet;

	packet.form = form;
	packet.vlan = 0;
	packet.psn = psn;
	bench::Bytes frame = bench::make_frame(packet);
	if (form.ipv6) {
		const auto end = frame.begin() + static_cast<long>(form.udp());

		std::fill(end - 32, end, 0);
		bench::put_be32(frame, form.udp() - 8, packet.source_ip);
		bench::put_be32(frame, form.udp() - 4, packet.destination_ip);
	}
	return frame;
}

void test_form_is_in_the_key()
{
	for (const bench::Form &form : bench::FORMS) {
		Judge judge;

		judge.show(frame_in(form, 100), JOIN_LANE, 3);
		judge.grant(1);
		for (const bench::Form &other : bench::FORMS) {
			judge.show(frame_in(other, 101), DATA_LANE, 4);
			CHECK(verdict_of(judge) == (other == form ? TAKE : PASS),
			      "another form is not another flow");
			judge.next();
		}
	}
}

/// Packets of one beat of two flows, as close to each other as ina_parse gives them, with a clock
/// between. The queue shows packets that it takes one clock late (it has its state of the clock
/// before, and that clock's commit). The verdicts are still those of packets that come one by one.
void test_back_to_back(bench::Random &random)
{
	constexpr uint32_t FLOWS[] = {0x111, 0x222};
	struct Sent {
		bool there = false;
		unsigned job = 0;
		uint32_t psn = 0;
	};
	Judge judge;
	Queue model[2]; // after all verdicts until now; the JOINs have been sent
	uint32_t next_psn[2] = {0xFFFFF0, 0x10};
	unsigned takes = 0, answers = 0, full = 0;
	Sent stage[4]; // early, next, at the judge, decided
	Verdict want = DROP;

	for (unsigned job = 0; job < 2; job++) {
		judge.learn(FLOWS[job], next_psn[job]++, job);
		model[job].sums = model[job].head = 1;
		judge.queue[job] = model[job];
	}
	for (unsigned i = 0; i < 200000; i++) {
		std::copy_backward(stage, stage + 3, stage + 4);
		stage[0] = {!stage[1].there && random.chance(90), random.chance(80) ? 0u : 1u, 0};
		stage[0].psn =
		        (next_psn[stage[0].job] + 2 - static_cast<uint32_t>(random.below(5))) &
		        0xFFFFFF;
		judge.offer(stage[0].there, FLOWS[stage[0].job], stage[0].psn, stage[1].there,
		            stage[2].there);
		if (stage[2].there) {
			Queue &queue = model[stage[2].job];
			const int32_t distance =
			        static_cast<int32_t>((stage[2].psn - next_psn[stage[2].job]) << 8) /
			        256;

			judge.set_queue(judge.queue[stage[2].job]);
			want = verdict_by_table(distance, queue, false);
			if (want == TAKE) {
				next_psn[stage[2].job] = (next_psn[stage[2].job] + 1) & 0xFFFFFF;
				queue.fill++;
				takes++;
			}
			answers += want == RESEND;
			full += want == DROP && distance == 0;
		}
		judge.dut.settle();
		/* The state that the queue shows from the next clock on, including this clock's
		 * commit. */
		for (unsigned job = 0; job < 2; job++) {
			Queue &queue = model[job];
			const bool taken_now =
			        stage[2].there && stage[2].job == job && want == TAKE;
			const bool pops = random.chance(i / 4000 % 2 ? 50 : 2);

			judge.queue[job] = queue;
			judge.queue[job].fill -= taken_now;
			if (pops && judge.queue[job].fill > 0) {
				queue.fill--;
				queue.sums += queue.sums < SLOTS;
				queue.head = (queue.head + 1) % SLOTS;
				judge.queue[job].fill--;
				judge.queue[job].sums = queue.sums;
				judge.queue[job].head = queue.head;
			}
		}
		judge.dut.tick();
		if (stage[2].there)
			CHECK(verdict_out(judge) == want, "clock %u, PSN %06x: %d, not %d", i,
			      stage[2].psn, verdict_out(judge), want);
		else
			CHECK(!judge.dut->token_valid, "a verdict on nothing");
	}
	CHECK(takes > 10000 && answers > 1000 && full > 100, "%u taken, %u answered, %u no room",
	      takes, answers, full);
}

void test_leave()
{
	Judge judge;

	judge.learn(7, 100, 1);
	judge.dut->job_complete = 0;
	judge.show(7, 101, LEAVE_LANE, 3);
	judge.judge();
	CHECK(judge.dut->commit_valid && judge.dut->break_valid, "an early LEAVE breaks the job");
	judge.next();
	judge.show(7, 105, LEAVE_LANE, 3);
	CHECK(verdict_of(judge) == BREAK_AND_PASS && judge.dut->leave_valid,
	      "a LEAVE past a gap before its JOIN has gone out");
	judge.next();
	judge.queue[1].sums = 1;
	judge.dut->job_broken = 2;
	judge.show(7, 105, LEAVE_LANE, 3);
	CHECK(verdict_of(judge) == PASS && judge.dut->leave_valid && judge.dut->hit_job == 1,
	      "the LEAVE that passes by is not seen");
	judge.next();
	judge.dut->job_broken = 0;
	judge.dut->job_complete = 0xF;
	judge.show(7, 101, LEAVE_LANE, 3);
	judge.dut->job_freed = 2;
	judge.dut.settle();
	judge.judge();
	CHECK(judge.dut->token_pass && !judge.resends() && !judge.dut->hit_valid &&
	              !judge.dut->commit_valid && judge.dut->events == 1u << counters::frames_in,
	      "a LEAVE that comes again as its job is freed does not pass");
	judge.next();
	judge.dut->job_freed = 0;
	judge.show(7, 102, DATA_LANE, 4);
	CHECK(verdict_of(judge) == PASS, "the flow is not forgotten");
}

} // namespace

int main()
{
	bench::Random random(bench::seed());

	test_table(random);
	test_join_beside_a_gap();
	test_held();
	test_suspects();
	test_suspects_together();
	test_job_ids();
	test_other_probes();
	test_silence();
	test_quiet_time();
	test_ill_formed();
	test_key();
	test_form_is_in_the_key();
	test_leave();
	test_back_to_back(random);
	return 0;
}
