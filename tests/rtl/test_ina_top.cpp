// SPDX-License-Identifier: Apache-2.0
//
// ina_top against the C model, frame by frame. The random traffic of several jobs has every fault
// that a network and a careless host can make, one frame at a time. After each frame, the same
// frames have come out and the counters are equal.

#include "aggregator_rtl.hpp"
#include "counters.hpp"
#include "traffic.hpp"

#include <memory>

// The RTL's parameters, if a build does not use their defaults.
#ifndef INA_HALF_FORMATS
#define INA_HALF_FORMATS 1
#endif
#ifndef INA_MAX_MIN
#define INA_MAX_MIN 1
#endif
#ifndef INA_INT32
#define INA_INT32 1
#endif

extern "C" {
#include "model/aggregator.h"
}

using bench::AggregatorRtl;
using bench::Bytes;
using bench::Random;

namespace
{

constexpr unsigned PORTS = INA_PORT_COUNT;
constexpr bool HAS_HALF_FORMATS = INA_HALF_FORMATS, HAS_MAX_MIN = INA_MAX_MIN,
               HAS_INT32 = INA_INT32;

/// A connection from the view of its sender and its receiver.
struct Connection {
	size_t cursor = 0;    // the next packet to send
	size_t delivered = 0; // packets that its receiver has accepted, in order
};

using RunningJob = traffic::Running<Connection>;

class Comparison
{
      public:
	Comparison(uint64_t seed, bool has_quiet_time, const aggregator_place &where)
	    : place(where), random(seed), rtl(random, has_quiet_time),
	      tick_permille(has_quiet_time ? 30 : 0)
	{
		const unsigned vlan_quota = static_cast<unsigned>(seed % 3);
		const uint32_t trusted = static_cast<uint32_t>(seed >> 13) & ((1u << PORTS) - 1);
		aggregator_config config = {PORTS,
		                            INA_JOB_COUNT,
		                            INA_MEMORY,
		                            INA_SLOT_COUNT,
		                            INA_GRAIN,
		                            INA_MTU,
		                            has_quiet_time,
		                            has_quiet_time,
		                            {!HAS_HALF_FORMATS, !HAS_MAX_MIN, !HAS_INT32},
		                            place,
		                            0,
		                            vlan_quota,
		                            {},
		                            trusted,
		                            nullptr,
		                            nullptr};

		for (unsigned port = 0; port < PORTS; port++) {
			config.port_priority[port] = static_cast<uint8_t>(seed >> 3 * port & 7);
			rtl.prefer(port, config.port_priority[port]);
		}
		rtl.place(place.level, place.uplinks, place.id);
		rtl.limit_vlans(vlan_quota);
		rtl.trust(trusted);
		model = aggregator_open(&config, on_model_frame, this);
		CHECK(model, "no memory for the model");
	}
	~Comparison()
	{
		aggregator_close(model);
	}

	void run(unsigned frames, const traffic::Shape &wanted, unsigned ageing)
	{
		age_permille = ageing;
		at_once = 1 + random.below(INA_JOB_COUNT + 1);
		shape = wanted;
		rtl.gap_percent = static_cast<unsigned>(random.below(30));
		rtl.stall_percent = static_cast<unsigned>(random.below(30));
		if (random.chance(50))
			crowd();
		while (frame_number < frames)
			one_frame();
	}

	/// Only TRACEs, at any place.
	void run_traces(unsigned frames)
	{
		while (frame_number < frames)
			trace();
	}

	/// Runs a job from its JOINs to its LEAVEs, without faults. If `lacks` is set, one rank has
	/// not added to the LEAVEs' sum, because a switch elsewhere was reset. Then the job breaks,
	/// and the packets of its ranks are dropped for a quiet time.
	void run_life(const traffic::Shape &wanted, bool lacks)
	{
		std::vector<unsigned> ports;
		traffic::Shape own = wanted;

		for (unsigned port = 0; port < PORTS; port++)
			if (!is_uplink(port))
				ports.push_back(port);
		if (ports.size() < 2)
			return;
		const uint32_t children = static_cast<uint32_t>(ports.size());
		const uint32_t sizes =
		        place.level ? children << (8 * (place.level - 1)) : 0; // 0: the place of a
		                                                               // job that is at no
		                                                               // switch of a tree
		own.rank_count = children + (place.level ? 1 : 0);
		own.places.assign(children, place.level << 24 | sizes);
		if (place.uplinks) {
			own.places[0] = (place.level + 1) << 24 | sizes;
			own.places.push_back(0);
			ports.push_back(static_cast<unsigned>(__builtin_ctz(place.uplinks)));
		}
		traffic::Job job(random, ports, 0, own);
		/* The sum is made here, of all children's packets; or it comes down. */
		const size_t deciding = place.uplinks ? children : 0;
		const uint32_t others = place.uplinks ? 0 : children - 1;
		const uint32_t contributors = own.rank_count - others - lacks;
		Bytes &leave = job.ranks[deciding].segments.back().payload;

		std::memcpy(&leave[leave.size() - sizeof(ina_wire_trailer)], &contributors,
		            sizeof(contributors));
		for (unsigned i = 0; i < 2; i++) // the quiet time after the reset ends
			tick();
		for (size_t index = 0; index + 1 < job.packets(); index++)
			put_all(job, index);
		for (const traffic::Rank &rank : job.ranks) {
			put(rank.port, rank.frame(job.packets() - 1));
			if (&rank == &job.ranks[0]) // and one packet more, which is lost
				put(rank.port, behind(rank, job.packets()));
		}
		CHECK(rtl.counter(counters::jobs_closed) == 1, "the job has not ended");
		CHECK(rtl.counter(counters::jobs_broken) == lacks, "lacks a rank: %u", lacks);
		const uint64_t dropped = rtl.counter(counters::quiet_dropped);

		put_all(job, 1);
		CHECK(rtl.counter(counters::quiet_dropped) - dropped ==
		              (lacks && (place.level > 1 || place.uplinks) ? ports.size() : 0),
		      "it is not dropped for a quiet time");
		for (unsigned i = 0; i < 2; i++)
			tick();
		put_all(job, 1);
	}

	void add_counters(uint64_t *totals) const
	{
		for (unsigned i = 0; i < INA_COUNTER_COUNT; i++)
			totals[i] += rtl.counter(i);
	}

	/// Packets of down flows that their receivers have accepted.
	uint64_t from_above = 0;

      private:
	const aggregator_place place;
	Random random;
	AggregatorRtl rtl;
	aggregator *model = nullptr;
	std::vector<Bytes> expected[PORTS];
	std::vector<std::unique_ptr<RunningJob>> running;
	traffic::Shape shape;
	unsigned serial = 0;
	unsigned age_permille = 0;
	const unsigned tick_permille;
	size_t at_once = 1; // jobs
	uint64_t frame_number = 0;

	static void on_model_frame(void *context, unsigned port, const uint8_t *frame,
	                           size_t length)
	{
		static_cast<Comparison *>(context)->expected[port].emplace_back(frame,
		                                                                frame + length);
	}

	/// What a rank has sent once, with the PSN of another packet.
	static Bytes behind(const traffic::Rank &rank, size_t index)
	{
		Bytes frame = rank.frame(1);

		bench::put_be32(frame, rank.form.bth() + 8, rank.psn(index));
		bench::seal(frame);
		return frame;
	}

	void put_all(const traffic::Job &job, size_t index)
	{
		for (const traffic::Rank &rank : job.ranks)
			put(rank.port, rank.frame(index));
	}

	void put(unsigned port, const Bytes &frame)
	{
		aggregator_put(model, port, frame.data(), frame.size());
		rtl.in[port].push_back(frame);
		compare(frame);
	}

	/// The end of a time-to-live, for all jobs that were silent since the last one.
	void age()
	{
		aggregator_age(model);
		rtl.age();
		compare({});
	}

	/// The end of a quiet time.
	void tick()
	{
		aggregator_tick(model);
		rtl.tick();
		compare({});
	}

	/// The end of a patience, for silent flows.
	void patience()
	{
		aggregator_patience(model);
		rtl.patience();
		compare({});
	}

	void compare(const Bytes &frame)
	{
		rtl.settle();
		frame_number++;
		for (unsigned p = 0; p < PORTS; p++)
			compare_port(p, frame);
		compare_counters();
		deliver();
		for (auto &frames : rtl.out)
			frames.clear();
		for (auto &frames : expected)
			frames.clear();
	}

	/// Compares the frames in their order, except the frame that passes unchanged: it takes
	/// another way, and may overtake packets that a breaking job releases.
	void compare_port(unsigned p, const Bytes &input)
	{
		std::vector<Bytes> want = expected[p], got;

		for (const auto &out : rtl.out[p])
			got.push_back(out.frame);
		CHECK(got.size() == want.size(), "frame %llu, port %u: %zu frames out, not %zu",
		      static_cast<unsigned long long>(frame_number), p, got.size(), want.size());
		const auto is_input = [&input](const Bytes &frame) { return frame == input; };
		std::stable_partition(want.begin(), want.end(), is_input);
		std::stable_partition(got.begin(), got.end(), is_input);
		if (input.empty()) { // several jobs may expire at the same time
			std::stable_sort(want.begin(), want.end(), is_flow_before);
			std::stable_sort(got.begin(), got.end(), is_flow_before);
		}
		for (size_t i = 0; i < want.size(); i++)
			compare_frame(p, i, want[i], got[i]);
	}

	/// By QPN: each job has a different one.
	static bool is_flow_before(const Bytes &a, const Bytes &b)
	{
		return bench::get_be32(a, bench::form_of(a).bth() + 4) <
		       bench::get_be32(b, bench::form_of(b).bth() + 4);
	}

	void compare_frame(unsigned p, size_t index, const Bytes &want, const Bytes &got) const
	{
		CHECK(got.size() == want.size(), "frame %llu, port %u, out %zu: %zu bytes, not %zu",
		      static_cast<unsigned long long>(frame_number), p, index, got.size(),
		      want.size());
		for (size_t at = 0; at < want.size(); at++)
			CHECK(got[at] == want[at],
			      "frame %llu, port %u, out %zu: byte %zu of %zu is %02x, not %02x",
			      static_cast<unsigned long long>(frame_number), p, index, at,
			      want.size(), got[at], want[at]);
	}

	void compare_counters() const
	{
		const ina_counters *counters = aggregator_counters(model);
		uint64_t want[INA_COUNTER_COUNT];

		std::memcpy(want, counters, sizeof(want));
		for (unsigned i = 0; i < INA_COUNTER_COUNT; i++)
			CHECK(rtl.counter(i) == want[i], "after frame %llu: %s is %llu, not %llu",
			      static_cast<unsigned long long>(frame_number), counters::names[i],
			      static_cast<unsigned long long>(rtl.counter(i)),
			      static_cast<unsigned long long>(want[i]));
	}

	/// Lets the receivers accept the frames that came out.
	void deliver()
	{
		for (auto &entry : running)
			for (size_t r = 0; r < entry->connections.size(); r++) {
				const traffic::Rank &rank = entry->job.ranks[r];

				for (const auto &out : rtl.out[rank.port])
					accept(*entry, r, out.frame);
			}
	}

	void accept(RunningJob &entry, size_t r, const Bytes &frame)
	{
		Connection &connection = entry.connections[r];

		if (connection.delivered == entry.job.packets())
			return;
		const traffic::Rank &rank = entry.job.ranks[r];
		const size_t size =
		        rank.form.payload() + rank.segments[connection.delivered].payload.size();

		if (frame.size() == size + bench::ICRC_BYTES && rank.owns(frame) &&
		    rank.psn_of(frame) == rank.psn(connection.delivered)) {
			connection.delivered++;
			from_above += is_uplink(rank.port);
		}
	}

	bool is_uplink(unsigned port) const
	{
		return place.uplinks >> port & 1;
	}

	void one_frame()
	{
		if (random.below(1000) < age_permille)
			return age();
		if (random.below(1000) < tick_permille)
			return random.chance(50) ? tick() : patience();
		if (random.chance(3))
			return stranger();
		if (running.size() < at_once && random.chance(30))
			start_job();
		if (running.empty())
			return stranger();
		const size_t index = random.below(running.size());
		RunningJob &entry = *running[index];

		if (entry.done() || random.below(4000) == 0) { // some hosts crash
			running.erase(running.begin() + static_cast<long>(index));
			return;
		}
		send(entry, random.below(entry.connections.size()));
	}

	/// One port asks for all contexts. If there are several, its last JOIN is held. Then its
	/// jobs expire.
	void crowd()
	{
		const unsigned port = static_cast<unsigned>(random.below(PORTS));

		if (tick_permille > 0) { // the quiet time ends
			tick();
			tick();
		}
		for (unsigned i = 0; i < INA_JOB_COUNT; i++) {
			ina_wire_header header =
			        bench::wire_header(INA_WIRE_JOIN, 2, random.next());

			header.exponent = -1;
			put(port, join_frame(header, 0x700000 + i));
		}
		age();
		age();
	}

	/// A JOIN with any form and PSN.
	Bytes join_frame(const ina_wire_header &header, uint32_t qpn)
	{
		bench::Packet packet;

		packet.form = bench::FORMS[random.below(4)];
		packet.qpn = qpn;
		packet.psn = static_cast<uint32_t>(random.next()) & traffic::PSN_MASK;
		packet.payload = traffic::make_message(header, {}, 0);
		return bench::make_frame(packet);
	}

	void start_job()
	{
		std::vector<unsigned> ports;
		const size_t child_ports =
		        PORTS - static_cast<unsigned>(__builtin_popcount(place.uplinks));
		const size_t children =
		        random.chance(70) ? child_ports : 1 + random.below(child_ports);

		while (ports.size() < children) {
			const unsigned port = static_cast<unsigned>(random.below(PORTS));

			if (!is_uplink(port) &&
			    std::find(ports.begin(), ports.end(), port) == ports.end())
				ports.push_back(port);
		}
		traffic::Shape own = shape;
		if (place.level > 0)
			put_in_place(ports, own);
		own.messages = 1 + static_cast<unsigned>(random.below(shape.messages));
		own.mtu = 48 + 16 * static_cast<unsigned>(random.below(shape.mtu / 16 - 2));
		if (INA_MTU < 4096 && random.chance(5))
			own.mtu = 2 * INA_MTU; // larger than the aggregator supports
		if (random.chance(60))
			own.window = 1 + static_cast<unsigned>(random.below(2 * INA_SLOT_COUNT));
		if (random.chance(8))
			own.window = random.chance(50) ? 0 : 1u << 31 | 1;
		running.push_back(std::unique_ptr<RunningJob>(
		        new RunningJob{traffic::Job(random, ports, serial++, own),
		                       std::vector<Connection>(ports.size())}));
	}

	/// All ranks are below, or the first child's flow is the border and the last rank here has
	/// the down flow.
	void put_in_place(std::vector<unsigned> &ports, traffic::Shape &own)
	{
		const uint32_t level = place.level;
		const uint32_t sizes = static_cast<uint32_t>(ports.size()) << (8 * (level - 1));
		const bool is_top = !place.uplinks || random.chance(15);

		own.rank_count = static_cast<unsigned>(ports.size() + random.below(60));
		own.places.assign(ports.size(), level << 24 | sizes);
		if (is_top)
			return;
		own.places[0] = (level + 1) << 24 | sizes;
		for (unsigned port = 0; port < PORTS; port++)
			if (is_uplink(port)) {
				ports.push_back(port);
				own.places.push_back(static_cast<uint32_t>(random.next()));
				break;
			}
		if (random.chance(4)) // and one of them is wrong
			own.places[random.below(own.places.size())] ^= 1u << random.below(32);
	}

	void send(RunningJob &entry, size_t r)
	{
		Connection &connection = entry.connections[r];
		const traffic::Rank &rank = entry.job.ranks[r];
		const size_t count = entry.job.packets();
		size_t index = connection.cursor;
		const uint64_t dice = random.below(1000);

		if (random.below(200) == 0)
			return impersonate(rank);
		/* The switch above waits for the parts of this one, with a few exceptions. */
		if (is_uplink(rank.port) && index >= entry.connections[0].delivered &&
		    random.chance(90))
			return;
		if (random.chance(2))
			return other_probe(rank);

		if (dice < 40 || index >= connection.delivered + INA_SLOT_COUNT + 3u)
			connection.cursor = index = connection.delivered; // the timer, or a NAK
		else if (dice < 120 && index > 0)
			index -= 1 + random.below(std::min<size_t>(index, 2 * INA_SLOT_COUNT));
		else if (dice < 160)
			index += 1 + random.below(INA_SLOT_COUNT - 1);
		if (index >= count)
			index = connection.delivered;
		if (index >= count)
			return;
		/* DATA waits for the JOIN's ACK, with a few exceptions. */
		if (connection.delivered == 0 && random.chance(95))
			connection.cursor = index = 0;
		Bytes frame = rank.frame(index);
		if (index < connection.delivered && random.chance(10))
			change_length(frame);
		else if (dice >= 960)
			damage(frame, dice);
		else if (index == connection.cursor)
			connection.cursor++;
		if (random.chance(3)) // bytes after the iCRC do not belong to the packet
			frame.resize(frame.size() + 1 + random.below(200), 0x5A);
		/* A path changes: the packet comes at another port, where its flow is not known. */
		const bool moved = connection.delivered > 0 && random.chance(1);

		put(moved ? static_cast<unsigned>(random.below(PORTS)) : rank.port, frame);
	}

	/// The probe that another switch sends in place of a packet, or a packet close to it.
	void other_probe(const traffic::Rank &rank)
	{
		const uint32_t edges[] = {0, 1, 1u << 13, (1u << 14) - 1, 1u << 14, 1u << 16};
		const uint32_t edge = edges[random.below(6)];
		Bytes frame = rank.frame(random.below(rank.segments.size()));
		const bench::Form form = bench::form_of(frame);

		bench::put_be32(frame, form.bth() + 8,
		                (rank.psn(0) + INA_WIRE_PROBE_PSN_OFFSET +
		                 (random.chance(50) ? edge : -edge) + random.below(3)) &
		                        traffic::PSN_MASK);
		if (random.chance(50))
			std::fill(frame.begin() + static_cast<long>(form.payload()),
			          frame.end() - 4, uint8_t{0});
		bench::seal(frame);
		put(rank.port, frame);
	}

	/// Another connection with the same addresses: it belongs to another job or has PSNs far
	/// away, and comes at the same port or at another one.
	void impersonate(const traffic::Rank &rank)
	{
		const unsigned port =
		        random.chance(50) ? rank.port : static_cast<unsigned>(random.below(PORTS));

		for (uint64_t left = 1 + random.below(port == rank.port ? 6 : 12); left > 0;
		     left--) {
			Bytes frame = rank.frame(0);
			const bench::Form form = bench::form_of(frame);

			bench::put_be32(frame, form.bth() + 8,
			                static_cast<uint32_t>(random.next()) & traffic::PSN_MASK);
			if (random.chance(50))
				frame[form.payload() + 8 + random.below(8)] ^=
				        0x10; // another job id
			bench::seal(frame);
			put(port, frame);
			if (tick_permille > 0 && random.chance(10))
				patience();
		}
	}

	/// Changes only the length; all other fields are correct.
	void change_length(Bytes &frame)
	{
		const bench::Form form = bench::form_of(frame);

		frame.resize(form.payload() + 16 * (1 + random.below(20)) + 4);
		bench::put_lengths(frame, frame.size() - form.udp());
		bench::seal(frame);
	}

	void damage(Bytes &frame, uint64_t dice)
	{
		const bench::Form form = bench::form_of(frame);

		if (dice < 975) { // one wrong byte
			frame[random.below(frame.size())] ^=
			        static_cast<uint8_t>(1 + random.below(255));
		} else if (dice < 982) { // shorter or longer than its length fields say
			frame.resize(frame.size() -
			             std::min<size_t>(frame.size() - 1, 1 + random.below(80)));
		} else if (dice < 988) {
			frame.resize(frame.size() + 1 + random.below(80), 0x5A);
		} else if (dice < 989) { // another pad count, P_Key, DSCP or port, iCRC right
			const size_t ats[] = {form.bth() + 1, form.bth() + 2, form.bth() + 3,
			                      form.ip() + 1, form.udp() + 1};

			frame[ats[random.below(std::size(ats))]] ^= 0x10;
			bench::seal(frame);
			bench::put_ip_checksum(frame);
		} else if (dice < 992) { // another opcode, iCRC right
			frame[form.bth()] = static_cast<uint8_t>(random.below(0x20));
			bench::seal(frame);
		} else if (dice < 994) { // a length that cannot be summed
			frame.resize(form.payload() + random.below(60) + 4);
			bench::put_lengths(frame, frame.size() - form.udp());
			bench::seal(frame);
		} else if (dice < 995) { // too short for its opcode
			frame.resize(form.payload() + 16 + 4);
			bench::put_lengths(frame, frame.size() - form.udp());
			bench::seal(frame);
		} else if (dice < 997) { // a LEAVE at a wrong place
			const size_t at = form.payload();

			if (frame.size() > at + 4)
				frame[at + 3] = INA_WIRE_LEAVE;
			bench::seal(frame);
		} else { // a UDP checksum: the iCRC does not cover it
			bench::put_be16(frame, form.udp() + 6,
			                1 + static_cast<unsigned>(random.below(65535)));
		}
	}

	/// A TRACE, or a frame close to one: with another length, opcode or type, or with a wrong
	/// iCRC. Each slot is empty or random.
	void trace()
	{
		bench::Packet packet;
		ina_wire_header header = bench::wire_header(INA_WIRE_TRACE, 0, random.next());

		packet.form = bench::FORMS[random.below(4)];
		packet.qpn = 0x900000 + static_cast<uint32_t>(random.below(1000));
		packet.psn = static_cast<uint32_t>(random.next()) & traffic::PSN_MASK;
		packet.payload = random.bytes(random.chance(90) ? 96 : 64 + 16 * random.below(8));
		for (size_t slot = 32; slot + 16 <= packet.payload.size() && slot < 80; slot += 16)
			if (random.chance(70))
				std::fill_n(packet.payload.begin() + static_cast<ptrdiff_t>(slot),
				            random.chance(95) ? 16 : 15, 0);
		if (random.chance(10))
			packet.opcode = static_cast<uint8_t>(random.below(7));
		if (random.chance(10))
			header.type = static_cast<uint8_t>(random.below(8));
		std::memcpy(packet.payload.data(), &header, sizeof(header));
		Bytes frame = bench::make_frame(packet);

		if (random.chance(30)) // the iCRC does not cover it
			bench::put_be16(frame, packet.form.udp() + 6,
			                static_cast<unsigned>(random.below(65536)));
		if (random.chance(15))
			frame[random.below(frame.size())] ^= 1;
		if (random.chance(5))
			frame.resize(frame.size() + 1 + random.below(200), 0x5A);
		put(static_cast<unsigned>(random.below(PORTS)), frame);
	}

	/// Frames that do not concern the aggregator, and invalid JOINs.
	void stranger()
	{
		const unsigned port = static_cast<unsigned>(random.below(PORTS));
		bench::Packet packet;
		Bytes frame;

		packet.form = bench::FORMS[random.below(4)];
		packet.qpn = 0x800000 + static_cast<uint32_t>(random.below(1000));
		packet.psn = static_cast<uint32_t>(random.next()) & traffic::PSN_MASK;
		switch (random.below(5)) {
		case 0:
			frame = random.bytes(1 + random.below(random.chance(10) ? 9000 : 300));
			break;
		case 1: // an ACK, or a CNP
			packet.opcode = random.chance(50) ? 0x11 : 0x81;
			packet.payload = random.bytes(packet.opcode == 0x11 ? 4 : 16);
			frame = bench::make_frame(packet);
			break;
		case 2: // plain RDMA
			packet.opcode = static_cast<uint8_t>(random.next());
			packet.payload = random.bytes(16 * random.below(40));
			frame = bench::make_frame(packet);
			break;
		case 3: // RoCE that ends within its headers
			packet.payload = random.bytes(64);
			frame = bench::make_frame(packet);
			frame.resize(1 + random.below(70));
			break;
		default: { // a JOIN with some field out of range
			const size_t ranks = random.below(2) ? 0 : PORTS + 1;
			ina_wire_header header = bench::wire_header(
			        INA_WIRE_JOIN, ranks,
			        running.empty() || random.chance(80) ? 1 : running[0]->job.id);

			if (random.chance(50))
				header.remaining_bytes = static_cast<uint32_t>(random.next());
			header.exponent = static_cast<int32_t>(random.below(uint64_t{1} << 31));
			frame = join_frame(header, packet.qpn);
			if (random.chance(30))
				frame.back() ^= 1; // and a wrong iCRC too
		}
		}
		put(port, frame);
	}
};

/// The number types of this build.
std::vector<uint8_t> types()
{
	std::vector<uint8_t> built;

	if (HAS_INT32)
		built.push_back(INA_WIRE_INT32);
	built.push_back(INA_WIRE_FLOAT32);
	if (HAS_HALF_FORMATS) {
		built.push_back(INA_WIRE_BFLOAT16);
		built.push_back(INA_WIRE_FLOAT16);
	}
	return built;
}

/// The only switch, one below another switch, or the highest of several.
aggregator_place any_place(Random &random)
{
	aggregator_place place = {};

	if (random.chance(40))
		return place;
	place.level = 1 + static_cast<unsigned>(random.below(INA_WIRE_LEVELS));
	if (random.chance(80))
		place.uplinks = 1u << random.below(PORTS);
	if (PORTS > 3 && place.uplinks && random.chance(20))
		place.uplinks |= 1u << random.below(PORTS);
	return place;
}

/// TRACEs at each level, from below and from above; at a single switch; and without an id.
void traces(uint64_t seed)
{
	Random random(seed);

	for (unsigned level = 0; level <= INA_WIRE_LEVELS; level++) {
		const unsigned uplinks = level ? 1u << random.below(PORTS) : 0;
		const uint64_t id = random.chance(80) ? random.next() : 0;
		Comparison comparison(random.next(), false, {level, uplinks, id});

		comparison.run_traces(30 * PORTS);
	}
}

/// A job's life at a single switch, at the top of several, and below another switch.
void lives(uint64_t seed)
{
	Random random(seed);
	traffic::Shape shape;

	shape.window = 1; // so that no switch grants less
	shape.messages = 3;
	shape.max_elements = 60;
	shape.types = types();
	shape.has_max_min = HAS_MAX_MIN;
	for (unsigned level = 0; level <= INA_WIRE_LEVELS; level++)
		for (unsigned uplinks = 0; uplinks <= (level > 0); uplinks++)
			for (const bool lacks : {false, true}) {
				const unsigned ports = uplinks << random.below(PORTS);
				Comparison comparison(random.next(), true, {level, ports, 0});

				comparison.run_life(shape, lacks);
			}
}

/// The life of one aggregator, sometimes with large packets, otherwise with small ones.
unsigned episode(uint64_t seed, uint64_t *totals, uint64_t *from_above)
{
	Random random(seed);
	const bool large = random.below(6) == 0;
	const unsigned longer = PORTS > 8 ? 4 : 1; // how many times as many packets a sum takes
	const unsigned frames = (large ? 300 : 900) * longer;
	const unsigned ageing[] = {0, 5, 30, 100}; // in thousandths of the frames
	traffic::Shape shape;

	shape.window = INA_SLOT_COUNT;
	shape.messages = 12;
	shape.marked_percent = 5;
	shape.mismatch_percent = static_cast<unsigned>(random.below(3));
	shape.mtu = large ? INA_MTU : 256;
	shape.max_elements = large ? INA_MTU * 3 / 4 : 300;
	if (!HAS_INT32 || !HAS_HALF_FORMATS || !HAS_MAX_MIN)
		shape.any_percent = 5;
	shape.types = types();
	shape.has_max_min = HAS_MAX_MIN;
	Comparison comparison(random.next(), random.chance(50), any_place(random));
	comparison.run(frames, shape, ageing[random.below(4)] / longer);
	comparison.add_counters(totals);
	*from_above += comparison.from_above;
	return frames;
}

/// The first counter that no frame has increased, or nullptr. Counters that need not move are left
/// out.
const char *never_moved(const uint64_t *totals)
{
	for (unsigned i = 0; i < INA_COUNTER_COUNT; i++) {
		if (totals[i] > 0 || i == counters::answers_dropped)
			continue; // the frames come one by one, so no answer waits for its turn
		if (i == counters::no_room_dropped && INA_SLOT_COUNT > 8)
			continue; // a rank is hardly ever a large window ahead of others
		if (i == counters::joins_held && INA_JOB_COUNT == 1)
			continue; // a single context is never shared
		if (i == counters::contexts_lacked && INA_JOB_COUNT >= 16)
			continue; // there are about as many contexts as jobs
		return counters::names[i];
	}
	return nullptr;
}

/// A whole number from the environment.
unsigned long long number(const char *name, unsigned long long otherwise)
{
	const char *text = std::getenv(name);

	return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

} // namespace

// Runs INA_PACKETS frames in episodes, each with a new aggregator, because crashed hosts fill its
// contexts in the end. Each episode has its own seed. To repeat the one that failed, use the last
// seed printed: INA_SEED=<seed> INA_PACKETS=1.
int main()
{
	const unsigned long long wanted = number("INA_PACKETS", 25000);
	uint64_t seed = bench::seed();
	uint64_t totals[INA_COUNTER_COUNT] = {}, from_above = 0;
	unsigned long long frames = 0;

	// Some configurations make an event rare. So frames are generated until every counter has
	// moved, but at most four times as many as requested.
	while (frames < wanted ||
	       (wanted >= 10000 && frames < 4 * wanted && never_moved(totals) != nullptr)) {
		std::printf("INA_SEED=%llu INA_PACKETS=1 replays what follows packet %llu\n",
		            static_cast<unsigned long long>(seed), frames);
		std::fflush(stdout);
		frames += episode(seed, totals, &from_above);
		seed = Random(seed).next();
	}
	traces(seed);
	lives(seed);
	std::printf("%llu packets, all alike, %llu from above\n", frames,
	            static_cast<unsigned long long>(from_above));
	CHECK(wanted < 10000 || from_above > 0, "no sum came down");
	for (unsigned i = 0; i < INA_COUNTER_COUNT; i++)
		std::printf("%s %llu%s", counters::names[i],
		            static_cast<unsigned long long>(totals[i]),
		            i + 1 < INA_COUNTER_COUNT ? ", " : "\n");
	CHECK(wanted < 10000 || never_moved(totals) == nullptr, "the traffic never moved %s",
	      never_moved(totals));
	return 0;
}
