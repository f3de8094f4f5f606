// SPDX-License-Identifier: Apache-2.0
//
// Measures the speed of ina_top in clocks: hosts send whole messages as fast as their windows
// allow, the network has no faults, and beats are counted over whole frames. The same seed gives
// the same counts on every machine.

#ifndef INA_MEASURE_HPP
#define INA_MEASURE_HPP

#include "aggregator_rtl.hpp"
#include "traffic.hpp"

#include <memory>

namespace measure
{

using bench::AggregatorRtl;
using bench::Bytes;
using bench::Random;

constexpr unsigned PORTS = INA_PORT_COUNT;
constexpr unsigned WINDOW = INA_SLOT_COUNT;
constexpr unsigned MESSAGE_PACKETS = 16; // the size of libina's messages

struct Format {
	const char *name;
	uint8_t number_type, operation;
};

/// The number types and operations.
constexpr Format FORMATS[] = {
        {"int32", INA_WIRE_INT32, INA_WIRE_SUM},
        {"float32", INA_WIRE_FLOAT32, INA_WIRE_SUM},
        {"bfloat16", INA_WIRE_BFLOAT16, INA_WIRE_SUM},
        {"float16 max", INA_WIRE_FLOAT16, INA_WIRE_MAX},
};

/// Beats a clock of each port, and each job's share of the packets.
struct Throughput {
	double in[PORTS], out[PORTS];
	std::vector<double> shares;

	double least_in() const
	{
		return *std::min_element(in, in + PORTS);
	}
	double least_out() const
	{
		return *std::min_element(out, out + PORTS);
	}
};

/// Beats between the ends of two frames on one side of one port, and the clocks that they took.
struct Span {
	uint64_t first_clock = 0, first_beats = 0, last_clock = 0, last_beats = 0;

	void frame_ended(uint64_t clock, uint64_t beats)
	{
		if (first_clock == 0) {
			first_clock = clock;
			first_beats = beats;
		}
		last_clock = clock;
		last_beats = beats;
	}
	double rate() const
	{
		CHECK(last_clock > first_clock, "no two frames to measure between");
		return static_cast<double>(last_beats - first_beats) /
		       static_cast<double>(last_clock - first_clock);
	}
};

inline std::vector<unsigned> every_port()
{
	std::vector<unsigned> ports;

	for (unsigned p = 0; p < PORTS; p++)
		ports.push_back(p);
	return ports;
}

/// The switch's role in a job's tree: the only switch, or a leaf. A leaf has children on all ports
/// but the last. The last child's flow is the border, and the last port is the uplink.
enum class Role { ALONE, LEAF };
constexpr unsigned UPLINK = PORTS - 1, BORDER = PORTS - 2;

/// A job on all ports that sends messages without end. The switch above a leaf sends each part back
/// unchanged, as soon as it has the whole part.
class Sender
{
      public:
	size_t sent[PORTS] = {}, got[PORTS] = {}; // DATA packets in and out of a pipeline

	Sender(Random &random, AggregatorRtl &rtl, unsigned serial, const Format &format,
	       const bench::Form &form, unsigned mtu, unsigned packets_a_message = MESSAGE_PACKETS,
	       Role switch_role = Role::ALONE)
	    : role(switch_role), message_packets(packets_a_message),
	      job(random, every_port(), serial, shape(switch_role))
	{
		ina_wire_header header =
		        bench::wire_header(INA_WIRE_DATA, shape(role).rank_count, job.id);

		header.number_type = format.number_type;
		header.operation = format.operation;
		header.length_bytes = message_packets * mtu - 48;
		for (unsigned p = 0; p < PORTS; p++) {
			std::vector<uint32_t> elements(header.length_bytes / 4);

			for (uint32_t &element : elements)
				element = static_cast<uint32_t>(random.next());
			const Bytes message = traffic::make_message(header, elements, p);
			for (unsigned i = 0; i < message_packets; i++)
				payloads[p].emplace_back(message.begin() + i * mtu,
				                         message.begin() + (i + 1) * mtu);
			job.ranks[p].form = form;
			if (!is_uplink(p))
				rtl.in[p].push_back(join(p));
		}
		rtl.settle();
		if (role == Role::LEAF) // its JOIN has left through the uplink
			rtl.in[UPLINK].push_back(join(UPLINK));
		rtl.settle();
	}

	Bytes join(unsigned p) const
	{
		return job.ranks[p].frame(0);
	}

	bool is_uplink(unsigned p) const
	{
		return role == Role::LEAF && p == UPLINK;
	}

	/// A host sends packet k when it has the sum of packet k - window from its predecessor. The
	/// switch above sends packet k when it has part k.
	bool may_send(unsigned p, unsigned window) const
	{
		if (is_uplink(p))
			return !parts.empty();
		return sent[p] < got[(p + PORTS - 1) % PORTS] + window;
	}

	Bytes next_frame(unsigned p)
	{
		const size_t place = sent[p] % message_packets;
		const uint32_t number = 1 + static_cast<uint32_t>(sent[p] / message_packets);
		const bool first = place == 0, last = place + 1 == message_packets;
		const traffic::Rank &rank = job.ranks[p];
		bench::Packet packet;

		packet.form = rank.form;
		packet.vlan = rank.vlan;
		packet.opcode = first ? (last ? traffic::SEND_ONLY : traffic::SEND_FIRST)
		                      : (last ? traffic::SEND_LAST : traffic::SEND_MIDDLE);
		packet.source_ip = rank.source_ip;
		packet.destination_ip = rank.destination_ip;
		packet.qpn = rank.qpn;
		packet.psn = rank.psn(1 + sent[p]++);
		if (is_uplink(p)) {
			packet.payload = parts.front();
			parts.pop_front();
			return bench::make_frame(packet);
		}
		packet.payload = payloads[p][place];
		if (first)
			std::memcpy(&packet.payload[offsetof(ina_wire_header, message_number)],
			            &number, sizeof(number));
		if (last)
			std::memcpy(
			        &packet.payload[packet.payload.size() - sizeof(ina_wire_trailer) +
			                        offsetof(ina_wire_trailer, message_number)],
			        &number, sizeof(number));
		return bench::make_frame(packet);
	}

	bool owns(const Bytes &frame) const
	{
		return bench::get_be32(frame, bench::form_of(frame).bth() + 4) == job.ranks[0].qpn;
	}

	/// Receives a frame of this job. The frame is a sum, and says so at the end of each
	/// message.
	void receive(unsigned p, const Bytes &frame)
	{
		const unsigned children = role == Role::LEAF ? PORTS - 1 : PORTS;
		uint32_t contributors;

		if (role == Role::LEAF && p == BORDER)
			parts.emplace_back(frame.begin() +
			                           static_cast<long>(job.ranks[p].form.payload()),
			                   frame.end() - bench::ICRC_BYTES);
		if (++got[p] % message_packets != 0)
			return;
		std::memcpy(&contributors, &frame[frame.size() - 4 - sizeof(ina_wire_trailer)], 4);
		CHECK(contributors == children, "port %u: %u contributors, not %u", p, contributors,
		      children);
	}

      private:
	Role role;
	unsigned message_packets;
	traffic::Job job;
	std::vector<Bytes> payloads[PORTS]; // of one message
	std::deque<Bytes> parts;            // parts that have gone up but have not come down

	static traffic::Shape shape(Role role)
	{
		constexpr uint32_t LEAF_PLACE = 1u << 24 | (PORTS - 1);
		traffic::Shape shape;

		shape.window = WINDOW;
		shape.messages = 0;
		shape.rank_count = PORTS;
		if (role == Role::LEAF) {
			shape.rank_count = 2 * (PORTS - 1); // as many again at another switch
			shape.places.assign(PORTS, LEAF_PLACE);
			shape.places[BORDER] += 1u << 24;
		}
		return shape;
	}
};

inline void take_place(AggregatorRtl &rtl, Role role)
{
	if (role == Role::LEAF)
		rtl.place(1, 1u << UPLINK, 0);
}

inline void forget_output(AggregatorRtl &rtl)
{
	for (auto &out : rtl.out)
		out.clear();
}

/// Beats a clock with `jobs` jobs at the same time on all ports, in packets of `mtu` bytes. The
/// measurement takes `clocks` clocks, after as many clocks to get under way. Each host takes its
/// next packet from any of its jobs, so the order of several jobs differs from port to port. If no
/// window is given, several jobs have a smaller window than a single one; otherwise the queues
/// would grow and shrink by more packets than are measured.
inline Throughput throughput(Random &random, const Format &format, const bench::Form &form,
                             unsigned mtu, unsigned jobs, uint64_t clocks, unsigned window = 0,
                             Role role = Role::ALONE)
{
	AggregatorRtl rtl(random);
	std::vector<std::unique_ptr<Sender>> senders;
	std::vector<size_t> got_at_start(jobs);
	Span in[PORTS], out[PORTS];
	size_t frames_in[PORTS] = {};
	Throughput result = {};

	if (window == 0)
		window = jobs == 1 ? WINDOW : std::max(WINDOW / 16, 2u);
	take_place(rtl, role);
	for (unsigned i = 0; i < jobs; i++)
		senders.push_back(std::make_unique<Sender>(random, rtl, i, format, form, mtu,
		                                           MESSAGE_PACKETS, role));
	forget_output(rtl);
	const uint64_t start = rtl.clock() + clocks, end = start + clocks;

	while (rtl.clock() < end) {
		for (unsigned p = 0; p < PORTS; p++) {
			const size_t offset = random.below(jobs);

			for (size_t i = 0; i < jobs && rtl.in[p].size() < 2; i++) {
				Sender &sender = *senders[(i + offset) % jobs];

				if (sender.may_send(p, window))
					rtl.in[p].push_back(sender.next_frame(p));
			}
		}
		rtl.step();
		const bool steady = rtl.clock() > start;

		if (rtl.clock() == start)
			for (unsigned i = 0; i < jobs; i++)
				got_at_start[i] = senders[i]->got[0];
		for (unsigned p = 0; p < PORTS; p++) {
			if (steady && rtl.frames_in[p] != frames_in[p])
				in[p].frame_ended(rtl.clock(), rtl.beats_in[p]);
			frames_in[p] = rtl.frames_in[p];
			for (const auto &entry : rtl.out[p]) {
				if (steady)
					out[p].frame_ended(rtl.clock(), rtl.beats_out[p]);
				for (auto &sender : senders)
					if (sender->owns(entry.frame))
						sender->receive(p, entry.frame);
			}
		}
		forget_output(rtl);
	}
	size_t total = 0;

	for (unsigned p = 0; p < PORTS; p++) {
		result.in[p] = in[p].rate();
		result.out[p] = out[p].rate();
	}
	for (unsigned i = 0; i < jobs; i++)
		total += senders[i]->got[0] - got_at_start[i];
	for (unsigned i = 0; i < jobs; i++)
		result.shares.push_back(static_cast<double>(senders[i]->got[0] - got_at_start[i]) /
		                        static_cast<double>(total));
	return result;
}

/// A frame of `beats` beats that does not concern the aggregator. If `roce` is set, it is an RDMA
/// WRITE of an unknown flow, which is looked up. Otherwise it is not even IP. A frame of 60 bytes,
/// Ethernet's smallest, is one beat.
inline Bytes foreign_frame(Random &random, size_t beats, bool roce)
{
	const size_t size = beats * bench::BEAT_BYTES - 4;
	bench::Packet packet;

	packet.opcode = 0x0A; // RDMA WRITE Only
	Bytes frame = roce ? bench::make_frame(packet) : random.bytes(size);
	frame.resize(size, 0x5A);
	if (!roce)
		bench::put_be16(frame, 12, 0x88B5); // IEEE 802, for experiments
	return frame;
}

/// Beats a clock on all ports for frames that pass unchanged: each has `beats` beats, and they come
/// back to back.
inline Throughput passing(Random &random, size_t beats, bool roce, size_t frames)
{
	AggregatorRtl rtl(random);
	const Bytes frame = foreign_frame(random, beats, roce);
	Span in[PORTS], out[PORTS];
	size_t got[PORTS] = {}, frames_in[PORTS] = {};
	Throughput result = {};

	for (auto &queue : rtl.in)
		queue.assign(frames, frame);
	while (std::any_of(got, got + PORTS, [frames](size_t count) { return count < frames; })) {
		rtl.step();
		CHECK(rtl.clock() < 4 * frames * beats + 1000, "frames of %zu beats are lost",
		      beats);
		for (unsigned p = 0; p < PORTS; p++) {
			if (rtl.frames_in[p] != frames_in[p])
				in[p].frame_ended(rtl.clock(), rtl.beats_in[p]);
			frames_in[p] = rtl.frames_in[p];
			for (const auto &entry : rtl.out[p]) {
				CHECK(entry.frame == frame, "port %u: a frame has changed", p);
				out[p].frame_ended(rtl.clock(), rtl.beats_out[p]);
				got[p]++;
			}
		}
		forget_output(rtl);
	}
	for (unsigned p = 0; p < PORTS; p++) {
		result.in[p] = in[p].rate();
		result.out[p] = out[p].rate();
	}
	return result;
}

/// The clocks from the last beat in of the last rank to the first beat out of the sum: the largest
/// number over all ports, with each rank as the last one and with all ranks at the same time.
inline uint64_t latency(Random &random, const Format &format, const bench::Form &form,
                        unsigned payload_bytes)
{
	AggregatorRtl rtl(random);
	Sender sender(random, rtl, 0, format, form, payload_bytes, 1);
	uint64_t most = 0;

	for (unsigned late = 0; late <= PORTS; late++) { // PORTS: no rank is late
		forget_output(rtl);
		for (unsigned p = 0; p < PORTS; p++)
			if (p != late)
				rtl.in[p].push_back(sender.next_frame(p));
		rtl.settle();
		if (late < PORTS) {
			rtl.in[late].push_back(sender.next_frame(late));
			rtl.settle();
		}
		for (unsigned p = 0; p < PORTS; p++) {
			CHECK(rtl.out[p].size() == 1, "port %u: %zu frames, not one sum", p,
			      rtl.out[p].size());
			sender.receive(p, rtl.out[p][0].frame);
			most = std::max(most, rtl.out[p][0].first_beat - rtl.last_accepted);
		}
	}
	return most;
}

/// The latency of a leaf: from the last child's last beat in to the first beat of the part, and
/// from the last beat from above to the first beat of its sum, on all ports.
struct LeafLatency {
	uint64_t up, down;
};

inline LeafLatency leaf_latency(Random &random, const Format &format, const bench::Form &form,
                                unsigned payload_bytes)
{
	AggregatorRtl rtl(random);
	LeafLatency clocks = {};

	take_place(rtl, Role::LEAF);
	Sender sender(random, rtl, 0, format, form, payload_bytes, 1, Role::LEAF);
	forget_output(rtl);
	for (unsigned p = 0; p < PORTS - 1; p++)
		rtl.in[p].push_back(sender.next_frame(p));
	rtl.settle();
	CHECK(rtl.out[BORDER].size() == 1, "%zu frames went up, not one part",
	      rtl.out[BORDER].size());
	clocks.up = rtl.out[BORDER][0].first_beat - rtl.last_accepted;
	sender.receive(BORDER, rtl.out[BORDER][0].frame);
	forget_output(rtl);
	rtl.in[UPLINK].push_back(sender.next_frame(UPLINK));
	rtl.settle();
	for (unsigned p = 0; p < PORTS; p++) {
		CHECK(rtl.out[p].size() == (p != BORDER), "port %u: %zu frames", p,
		      rtl.out[p].size());
		if (p != BORDER)
			clocks.down =
			        std::max(clocks.down, rtl.out[p][0].first_beat - rtl.last_accepted);
	}
	return clocks;
}

} // namespace measure

#endif
