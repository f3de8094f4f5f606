// SPDX-License-Identifier: Apache-2.0
//
// ina_top with one connection at two ports (docs/protocol.md, Another port). A flow that is known
// at one port is dropped at all others, whenever the two meet. If two JOINs come in the same
// clocks, one is granted and the other is dropped. A packet that has the same hash but another key
// belongs to no flow and passes. Packets at another port end a flow that is silent, but not one
// that still sends.

#include "aggregator_rtl.hpp"
#include "counters.hpp"
#include "traffic.hpp"

#include <memory>

using bench::AggregatorRtl;
using bench::Bytes;
using bench::Random;

namespace
{

constexpr unsigned PORTS = INA_PORT_COUNT;

constexpr uint8_t RDMA_WRITE_ONLY = 0x0A;

struct Flow {
	bench::Form form;
	uint32_t source_ip = 0xC0000201, destination_ip = 0xC0000202, qpn = 0x11;

	Bytes frame(uint8_t opcode, uint32_t psn, const Bytes &payload) const
	{
		bench::Packet packet;

		packet.form = form;
		packet.vlan = 5;
		packet.opcode = opcode;
		packet.source_ip = source_ip;
		packet.destination_ip = destination_ip;
		packet.qpn = qpn;
		packet.psn = psn;
		packet.payload = payload;
		return bench::make_frame(packet);
	}
	/// A message without elements, of a job of two ranks.
	Bytes message(uint32_t psn, uint8_t type, uint64_t job_id) const
	{
		ina_wire_header header = bench::wire_header(type, 2, job_id);

		if (type == INA_WIRE_JOIN)
			header.exponent = -2;
		else
			header.message_number = 1;
		return frame(traffic::SEND_ONLY, psn, traffic::make_message(header, {}, 0));
	}
	Bytes join(uint64_t job_id) const
	{
		return message(100, INA_WIRE_JOIN, job_id);
	}
	Bytes leave() const
	{
		return message(101, INA_WIRE_LEAVE, 1);
	}
	/// Another key with the same hash: the addresses' last byte and the QPN's first byte are in
	/// the same place of the 24-bit words that ina_elsewhere adds up.
	Flow with_same_hash(uint8_t difference) const
	{
		Flow other = *this;

		other.source_ip ^= difference;
		other.qpn ^= uint32_t{difference} << 16;
		return other;
	}
};

Bytes request(const Flow &flow, Random &random)
{
	const bool send = random.chance(50);

	return flow.frame(send ? traffic::SEND_ONLY : RDMA_WRITE_ONLY,
	                  101 + static_cast<uint32_t>(random.below(4)),
	                  random.bytes(16 * random.below(16)));
}

/// Ends the quiet time. From here on patience does not end on its own.
void wake(AggregatorRtl &rtl)
{
	for (unsigned i = 0; i < 3; i++)
		rtl.tick();
}

/// Job 1: `flow` joins at port 0, and `peer` at port 1.
void join_both(AggregatorRtl &rtl, const Flow &flow, const Flow &peer)
{
	wake(rtl);
	rtl.in[0].push_back(flow.join(1));
	rtl.in[1].push_back(peer.join(1));
	rtl.settle();
}

uint64_t frames_out(const AggregatorRtl &rtl)
{
	uint64_t count = 0;

	for (const auto &out : rtl.out)
		count += out.size();
	return count;
}

void expect(const AggregatorRtl &rtl, unsigned counter, uint64_t want, const char *what)
{
	CHECK(rtl.counter(counter) == want, "%s: %llu, not %llu", what,
	      static_cast<unsigned long long>(rtl.counter(counter)),
	      static_cast<unsigned long long>(want));
}

/// A flow is known at one port. Packets of its key come at another port, mixed with packets of
/// other keys, some with the same hash, back to back. Exactly the packets of its key are dropped.
void known_at_one(Random &random, const bench::Form &form)
{
	for (unsigned home = 0; home < PORTS; home++)
		for (unsigned other = 0; other < PORTS; other++) {
			if (other == home)
				continue;
			AggregatorRtl rtl(random, true);
			Flow flow;
			std::vector<Bytes> pass;
			unsigned dropped = 0;

			wake(rtl);
			flow.form = form;
			rtl.in[home].push_back(flow.join(1));
			rtl.settle();
			for (unsigned i = 0; i < 60; i++) {
				if (random.chance(40)) {
					rtl.in[other].push_back(random.chance(20)
					                                ? flow.join(random.next())
					                                : request(flow, random));
					dropped++;
					continue;
				}
				Flow stranger = flow.with_same_hash(
				        static_cast<uint8_t>(1 + random.below(255)));
				if (random.chance(30))
					stranger.qpn++;
				pass.push_back(request(stranger, random));
				rtl.in[other].push_back(pass.back());
			}
			rtl.settle();
			expect(rtl, counters::elsewhere_dropped, dropped, "dropped");
			expect(rtl, counters::frames_passed, pass.size(), "passed");
			CHECK(rtl.out[other].size() == pass.size(), "%zu came out, not %zu",
			      rtl.out[other].size(), pass.size());
			for (size_t i = 0; i < pass.size(); i++)
				CHECK(rtl.out[other][i].frame == pass[i], "frame %zu differs", i);
		}
}

/// JOINs with the same key come at two or more ports, `lag` clocks apart, for the same job or
/// different ones. One is granted, and its flow is the only one. All that comes later at the other
/// ports is dropped. JOINs of another key with the same hash come too, and both of these are
/// granted.
void join_at_several(Random &random, unsigned lag, bool same_job)
{
	AggregatorRtl rtl(random, true);
	Flow flow;
	unsigned asked = 0;

	wake(rtl);
	for (unsigned p = 0; p < PORTS; p++) {
		rtl.in[p].push_back(flow.join(same_job ? 1 : 1 + p));
		asked++;
		for (unsigned i = 0; i < lag; i++)
			rtl.step();
	}
	rtl.settle();
	expect(rtl, counters::joins_granted, 1, "granted");
	expect(rtl, counters::joins_refused, 0, "refused");
	expect(rtl, counters::elsewhere_dropped, asked - 1, "dropped");
	CHECK(frames_out(rtl) == 0, "%llu frames came out: the one that was granted waits",
	      static_cast<unsigned long long>(frames_out(rtl)));
}

void join_of_same_hash(Random &random, unsigned lag)
{
	AggregatorRtl rtl(random, true);
	Flow flow;

	wake(rtl);
	for (unsigned p = 0; p < 2; p++) {
		rtl.in[p].push_back((p ? flow.with_same_hash(0x55) : flow).join(1));
		for (unsigned i = 0; i < lag; i++)
			rtl.step();
	}
	rtl.settle();
	expect(rtl, counters::joins_granted, 2, "of the same hash granted");
	expect(rtl, counters::elsewhere_dropped, 0, "of the same hash dropped");
	CHECK(rtl.out[0].size() == 1 && rtl.out[1].size() == 1, "the JOINs were not joined");
}

/// A flow ends by its LEAVE, `lag` clocks before a packet of its key comes at another port. That
/// packet is dropped or passes, depending on which comes first. Later packets pass.
void forgotten(Random &random, unsigned lag)
{
	AggregatorRtl rtl(random, true);
	Flow flow, peer;

	peer.qpn = 0x12;
	join_both(rtl, flow, peer);
	rtl.in[1].push_back(peer.leave());
	rtl.settle();
	rtl.in[0].push_back(flow.leave());
	for (unsigned i = 0; i < lag; i++)
		rtl.step();
	rtl.in[1].push_back(request(flow, random));
	rtl.settle();
	expect(rtl, counters::jobs_closed, 1, "closed");
	const uint64_t passed = rtl.counter(counters::frames_passed);

	CHECK(passed + rtl.counter(counters::elsewhere_dropped) == 1, "neither passed nor dropped");
	CHECK(lag > 0 || passed == 0, "passed, with the LEAVE still to come");
	rtl.in[1].push_back(flow.join(2));
	rtl.settle();
	expect(rtl, counters::joins_granted, 3, "granted after the LEAVE");
}

/// The host of a flow is silent. Packets of its key at another port first break its job and then
/// evict the flow, `lag` clocks before or after a packet comes at the flow's own port. That packet
/// is taken or passes, but it is never lost. The context is free when the other rank has left.
void contested(Random &random, int lag)
{
	AggregatorRtl rtl(random, true);
	Flow flow, peer;
	const Bytes data = flow.message(101, INA_WIRE_DATA, 1);

	peer.qpn = 0x12;
	join_both(rtl, flow, peer);
	for (unsigned silence = 0; silence < 2; silence++) {
		rtl.patience();
		rtl.patience();
		for (unsigned i = 0; i < 3; i++)
			rtl.in[1].push_back(data);
		rtl.settle();
		expect(rtl, counters::jobs_broken, silence, "broken");
		if (silence == 0)
			rtl.in[1].push_back(data);
		rtl.settle();
	}
	expect(rtl, counters::jobs_broken, 1, "broken by the fourth");
	rtl.out[0].clear();
	for (int clock = std::min(lag, 0); clock <= std::max(lag, 0); clock++) {
		if (clock == 0)
			rtl.in[1].push_back(data);
		if (clock == lag)
			rtl.in[0].push_back(data);
		rtl.step();
	}
	rtl.settle();
	expect(rtl, counters::elsewhere_dropped, 8, "dropped");
	CHECK(rtl.out[0].size() == 1 && rtl.out[0].front().frame == data,
	      "the flow's own packet went lost, %d clocks after", lag);
	const bool out = rtl.counter(counters::frames_passed) > 0;

	CHECK(lag > -10 || !out, "evicted %d clocks after its last packet", -lag);
	CHECK(lag < 10 || out, "not evicted");
	if (out) {
		rtl.in[1].push_back(peer.leave());
		rtl.settle();
		expect(rtl, counters::jobs_closed, 1, "closed");
		rtl.in[1].push_back(flow.join(2));
		rtl.settle();
		expect(rtl, counters::joins_granted, 3, "granted at the other port");
	}
}

} // namespace

int main()
{
	Random random(1);

	for (const bench::Form &form : bench::FORMS)
		known_at_one(random, form);
	for (unsigned lag = 0; lag < 30; lag++) {
		join_at_several(random, lag, true);
		join_at_several(random, lag, false);
		join_of_same_hash(random, lag);
	}
	for (unsigned lag = 0; lag < 80; lag++)
		forgotten(random, lag);
	for (int lag = -30; lag <= 30; lag++)
		contested(random, lag);
	return 0;
}
