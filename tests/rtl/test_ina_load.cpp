// SPDX-License-Identifier: Apache-2.0
//
// ina_top under load: all ports send at the same time, the hosts follow the protocol, and the
// network loses, doubles, delays, reorders and corrupts frames on both sides of the aggregator.
// Every receiver is an RC responder. Each message that it assembles must be exactly the sum, or say
// that it is not. Then the bench measures the throughput, the latency and the speed of passing
// frames without faults, and compares them with their targets.

#include "counters.hpp"
#include "measure.hpp"

#include <map>
#include <memory>

using bench::AggregatorRtl;
using bench::Bytes;
using bench::Random;

namespace
{

constexpr unsigned PORTS = INA_PORT_COUNT;
constexpr unsigned WINDOW = INA_SLOT_COUNT;
constexpr unsigned SLOTS_BUILT = 128; // ina_top's default
// The limit of rdma_rxe, and at most two windows: an older packet belongs to another connection
// (docs/protocol.md).
constexpr unsigned UNACKED_MAX = WINDOW < 64 ? 2 * WINDOW : 128;
constexpr uint64_t TIMER_CLOCKS = 6000;
// Longer than hosts are silent, so late packets never evict a living flow, however old they are.
// But a flow of a broken job whose host is ahead of it must end.
constexpr uint64_t PATIENCE_CLOCKS = 4 * TIMER_CLOCKS;

// These are counts of clocks, so they are the same on every machine. scripts/bench-rtl.py has the
// same targets.
constexpr double BEATS_PER_CLOCK_LEAST = 0.98;
constexpr uint64_t LATENCY_CLOCKS_MOST = 40;

struct Faults {
	unsigned lose = 0, duplicate = 0, delay = 0, corrupt = 0; // percent, on each side
};

struct Connection {
	size_t cursor = 0;     // next packet to send
	size_t delivered = 0;  // packets that the receiver has accepted
	bool nak_sent = false; // one NAK for each gap
	uint64_t last_progress = 0;
	bool went_raw = false;      // a packet was accepted with its own payload
	bool message_is_sum = true; // all packets of the message until now were sums
};

using Run = traffic::Running<Connection>;

class Network
{
      public:
	Network(Random &generator, AggregatorRtl &aggregator, const Faults &wanted)
	    : random(generator), rtl(aggregator), faults(wanted)
	{
	}

	/// Runs `jobs` jobs to their end, `at_once` of them at a time.
	void run(unsigned jobs, unsigned at_once, const traffic::Shape &shape, bool all_ports)
	{
		unsigned started = 0;
		uint64_t last_end = rtl.clock();

		while (started < jobs || !runs.empty()) {
			while (started < jobs && runs.size() < at_once) {
				start(shape, all_ports);
				started++;
				last_end = rtl.clock();
			}
			clock();
			if (std::any_of(runs.begin(), runs.end(),
			                [](const auto &run) { return run->done(); })) {
				runs.erase(
				        std::remove_if(runs.begin(), runs.end(),
				                       [](const auto &run) { return run->done(); }),
				        runs.end());
				last_end = rtl.clock();
			}
			CHECK(rtl.clock() - last_end < 3000000, "%s", stuck().c_str());
		}
	}

      private:
	Random &random;
	AggregatorRtl &rtl;
	Faults faults;
	std::vector<std::unique_ptr<Run>> runs;
	std::multimap<uint64_t, std::pair<unsigned, Bytes>> going_up, going_down;
	unsigned serial = 0;

	std::string stuck() const
	{
		std::string text = "no job ends;";

		for (const auto &run : runs)
			for (const Connection &connection : run->connections)
				text += " " + std::to_string(connection.cursor) + "/" +
				        std::to_string(connection.delivered) + "/" +
				        std::to_string(run->job.packets());
		return text;
	}

	void start(const traffic::Shape &shape, bool all_ports)
	{
		std::vector<unsigned> ports;
		const size_t count = all_ports ? PORTS : 2 + random.below(PORTS - 1);

		for (unsigned p = 0; p < PORTS; p++)
			ports.push_back(p);
		for (size_t i = PORTS - 1; i > 0; i--)
			std::swap(ports[i], ports[random.below(i + 1)]);
		ports.resize(count);
		runs.push_back(
		        std::unique_ptr<Run>(new Run{traffic::Job(random, ports, serial++, shape),
		                                     std::vector<Connection>(count)}));
		for (Connection &connection : runs.back()->connections)
			connection.last_progress = rtl.clock();
	}

	void clock()
	{
		for (unsigned p = 0; p < PORTS; p++)
			if (rtl.in[p].size() < 2)
				send_from(p);
		release(going_up, [this](unsigned port, const Bytes &frame) {
			rtl.in[port].push_back(frame);
		});
		if (rtl.clock() % PATIENCE_CLOCKS == 0)
			rtl.patience();
		else
			rtl.step();
		for (unsigned p = 0; p < PORTS; p++)
			while (!rtl.out[p].empty()) {
				travel(going_down, p, rtl.out[p].front().frame);
				rtl.out[p].pop_front();
			}
		release(going_down,
		        [this](unsigned port, const Bytes &frame) { arrive(port, frame); });
		if (rtl.clock() % 256 == 0)
			check_timers();
	}

	template <class Way, class Then> void release(Way &way, Then then)
	{
		while (!way.empty() && way.begin()->first <= rtl.clock()) {
			const auto entry = way.begin()->second;

			way.erase(way.begin());
			then(entry.first, entry.second);
		}
	}

	/// Sends a frame on its way. A JOIN is not delayed, because its copy might come after the
	/// LEAVE.
	template <class Way> void travel(Way &way, unsigned port, Bytes frame)
	{
		if (random.chance(faults.lose))
			return;
		/* Corrupts only bytes after the DSCP. The bytes before it are covered by Ethernet's
		 * own check sequence, not by the iCRC. A JOIN with a damaged VLAN id would open a
		 * flow of another VLAN, and a packet without its mark belongs to no flow and would
		 * pass unchanged. */
		if (random.chance(faults.corrupt)) {
			const size_t begin = bench::form_of(frame).ip() + 2;

			frame[begin + random.below(frame.size() - begin)] ^=
			        static_cast<uint8_t>(1 + random.below(255));
		}
		const size_t at = bench::form_of(frame).payload();
		const bool join = frame.size() == at + 48 + 4 && frame[at + 3] == INA_WIRE_JOIN;
		const unsigned copies = !join && random.chance(faults.duplicate) ? 2 : 1;

		for (unsigned i = 0; i < copies; i++) {
			const bool late = !join && random.chance(faults.delay);
			way.emplace(rtl.clock() + (late ? random.below(600) : 0),
			            std::make_pair(port, frame));
		}
	}

	/// Sends the next packet of one of the port's connections, if any may send.
	void send_from(unsigned port)
	{
		const size_t offset = runs.empty() ? 0 : random.below(runs.size());

		for (size_t i = 0; i < runs.size(); i++) {
			Run &run = *runs[(i + offset) % runs.size()];

			for (size_t r = 0; r < run.connections.size(); r++) {
				Connection &connection = run.connections[r];

				if (run.job.ranks[r].port != port || !may_send(run, r))
					continue;
				travel(going_up, port, run.job.ranks[r].frame(connection.cursor));
				connection.cursor++;
				return;
			}
		}
	}

	/// The host's window: packet p needs the sum of p - WINDOW. DATA needs the sum of the
	/// JOINs, and LEAVE needs all other sums.
	bool may_send(const Run &run, size_t r) const
	{
		const size_t ranks = run.connections.size();
		const size_t cursor = run.connections[r].cursor;
		const size_t got = run.connections[(r + ranks - 1) % ranks].delivered;

		if (cursor >= run.job.packets() ||
		    cursor >= run.connections[r].delivered + UNACKED_MAX)
			return false;
		if (cursor == 0)
			return true;
		if (cursor + 1 == run.job.packets())
			return got >= cursor;
		return got >= 1 && cursor < got + WINDOW;
	}

	void check_timers()
	{
		for (auto &run : runs)
			for (Connection &connection : run->connections)
				if (rtl.clock() - connection.last_progress > TIMER_CLOCKS) {
					connection.cursor = connection.delivered;
					connection.last_progress = rtl.clock();
				}
	}

	void arrive(unsigned port, const Bytes &frame)
	{
		for (auto &run : runs)
			for (size_t r = 0; r < run->connections.size(); r++)
				if (run->job.ranks[r].port == port && run->job.ranks[r].owns(frame))
					receive(*run, r, frame);
	}

	void receive(Run &run, size_t r, const Bytes &frame)
	{
		uint32_t received;

		std::memcpy(&received, &frame[frame.size() - 4], 4);
		if (received == bench::icrc(frame))
			return respond(run, r, frame);
		CHECK(faults.corrupt > 0, "port %u: a frame with a wrong iCRC",
		      run.job.ranks[r].port);
	}

	/// The responder of an RC connection.
	void respond(Run &run, size_t r, const Bytes &frame)
	{
		Connection &connection = run.connections[r];
		const traffic::Rank &rank = run.job.ranks[r];
		const uint32_t distance =
		        (rank.psn_of(frame) - rank.psn(connection.delivered)) & traffic::PSN_MASK;

		if (distance == 0 && connection.delivered < run.job.packets()) {
			accept(run, r, frame);
		} else if (distance != 0 && distance < 0x800000 && !connection.nak_sent) {
			connection.nak_sent = true;
			connection.cursor = connection.delivered;
		}
	}

	void accept(Run &run, size_t r, const Bytes &frame)
	{
		Connection &connection = run.connections[r];
		const size_t index = connection.delivered++;
		const traffic::Segment &own = run.job.ranks[r].segments[index];
		const traffic::Message &message = run.job.messages[run.job.message_of[index]];
		const size_t at = run.job.offset_of[index];
		const size_t size = own.payload.size();
		const bench::Form form = run.job.ranks[r].form;
		const auto payload = frame.begin() + static_cast<long>(form.payload());

		connection.nak_sent = false;
		connection.last_progress = rtl.clock();
		connection.cursor = std::max(connection.cursor, connection.delivered);
		CHECK(frame.size() == form.payload() + size + 4 && frame[form.bth()] == own.opcode,
		      "port %u, packet %zu: %zu bytes, opcode %u", run.job.ranks[r].port, index,
		      frame.size(), frame[form.bth()]);
		CHECK(form.ipv6 || faults.corrupt > 0 ||
		              bench::ip_checksum(frame) == bench::get_be16(frame, form.ip() + 10),
		      "port %u, packet %zu: wrong IP checksum", run.job.ranks[r].port, index);
		Bytes got(payload, frame.end() - 4);

		// Some flags depend on chance here: a retransmission has new random ECN marks, and
		// jobs compete for contexts. So whether a message met congestion, whether a context
		// is wanted, and how many jobs came before are compared with the model only
		// (test_ina_top).
		if (at + size == message.sum.size()) {
			uint8_t *flags = &got[size - sizeof(ina_wire_trailer) +
			                      offsetof(ina_wire_trailer, flags)];

			flags[0] &= static_cast<uint8_t>(~(INA_WIRE_CONGESTED | INA_WIRE_WANTED));
			flags[2] = flags[3] = 0;
		}
		const bool is_sum = std::equal(got.begin(), got.end(),
		                               message.sum.begin() + static_cast<long>(at));
		const bool is_raw = got == own.payload;

		CHECK(is_sum || is_raw, "port %u, packet %zu: neither sum nor own payload",
		      run.job.ranks[r].port, index);
		/* The last LEAVE ends the job. If its sum is lost on the way from the aggregator,
		 * the retransmission comes raw.
		 */
		CHECK(is_sum || run.job.mismatched || index + 1 == run.job.packets(),
		      "port %u, packet %zu of %zu: not summed", run.job.ranks[r].port, index,
		      run.job.packets());
		if (at == 0)
			connection.message_is_sum = true;
		connection.message_is_sum &= is_sum;
		connection.went_raw |= !is_sum;
		uint32_t contributors;
		std::memcpy(&contributors, &frame[frame.size() - 4 - 16], 4);
		if (at + size == message.sum.size() && contributors == run.connections.size())
			CHECK(connection.message_is_sum || run.connections.size() == 1,
			      "port %u, packet %zu: the trailer says sum, but a part is raw",
			      run.job.ranks[r].port, index);
	}
};

void test_faults(Random &random)
{
	static const Faults cases[] = {{}, {1, 1, 1, 1}, {0, 5, 20, 0}, {5, 5, 10, 5}};

	for (const Faults &faults : cases) {
		AggregatorRtl rtl(random, true);
		traffic::Shape shape;
		const unsigned jobs = 2 * INA_JOB_COUNT;

		for (unsigned i = 0; i < 3; i++) // so that the quiet time after the reset ends
			rtl.tick();

		rtl.gap_percent = static_cast<unsigned>(random.below(40));
		rtl.stall_percent = static_cast<unsigned>(random.below(40));
		shape.window = WINDOW;
		shape.marked_percent = 3;
		shape.messages = 30;
		shape.max_elements = 500;
		Network network(random, rtl, faults);
		network.run(jobs, INA_JOB_COUNT, shape, true);
		CHECK(rtl.counter(counters::jobs_broken) == 0, "%llu jobs broke without a cause",
		      static_cast<unsigned long long>(rtl.counter(counters::jobs_broken)));
		shape.messages = 12;
		network.run(jobs, INA_JOB_COUNT, shape, false);
		// A JOIN that comes while no free context is quiet yet is refused.
		const uint64_t opened = rtl.counter(counters::jobs_opened);

		CHECK(rtl.counter(counters::jobs_closed) == opened &&
		              opened + rtl.counter(counters::joins_refused) >= 2 * jobs &&
		              opened > jobs,
		      "%llu jobs opened, %llu closed", static_cast<unsigned long long>(opened),
		      static_cast<unsigned long long>(rtl.counter(counters::jobs_closed)));
		shape.mismatch_percent = 5;
		shape.other_ids = false; // else that rank would never end
		network.run(jobs, INA_JOB_COUNT, shape, true);
		std::printf(
		        "%u ports, lose %u%% duplicate %u%% delay %u%% corrupt %u%%: %llu clocks, "
		        "%llu joined, %llu raw, %llu answered, %llu gaps\n",
		        PORTS, faults.lose, faults.duplicate, faults.delay, faults.corrupt,
		        static_cast<unsigned long long>(rtl.clock()),
		        static_cast<unsigned long long>(rtl.counter(counters::packets_joined)),
		        static_cast<unsigned long long>(rtl.counter(counters::packets_raw)),
		        static_cast<unsigned long long>(rtl.counter(counters::duplicates_answered)),
		        static_cast<unsigned long long>(rtl.counter(counters::gaps)));
	}
}

/// All formats and forms, because each is separate hardware: formats are in the tree, forms are in
/// the ports. Only the size that is built runs each format with each form; the other sizes run each
/// of them once.
void test_speed(Random &random)
{
	const size_t form_count = std::size(bench::FORMS);
	size_t turn = 0;

	for (const measure::Format &format : measure::FORMATS) {
		for (unsigned mtu : {256u, 1024u, 4096u}) {
			if (mtu > INA_MTU)
				continue;
			for (size_t i = 0; i < form_count; i++) {
				const bench::Form &form = bench::FORMS[i];

				if (WINDOW != SLOTS_BUILT && i != turn % form_count)
					continue;
				const auto rate =
				        measure::throughput(random, format, form, mtu, 1, 10000);
				const uint64_t clocks = measure::latency(random, format, form, mtu);

				std::printf(
				        "%u ports, %s, %s, MTU %u: %.4f beats a clock in and "
				        "%.4f out on the slowest port, %llu clocks to the sum\n",
				        PORTS, format.name, form.name(), mtu, rate.least_in(),
				        rate.least_out(), static_cast<unsigned long long>(clocks));
				CHECK((rate.least_in() >= BEATS_PER_CLOCK_LEAST &&
				       rate.least_out() >= BEATS_PER_CLOCK_LEAST) ||
				              WINDOW * mtu < 128 * 256,
				      "less than %g beats a clock", BEATS_PER_CLOCK_LEAST);
				CHECK(clocks <= LATENCY_CLOCKS_MOST, "more than %llu clocks",
				      static_cast<unsigned long long>(LATENCY_CLOCKS_MOST));
			}
		}
		turn++;
	}
}

/// A leaf: parts go up and sums come down at a beat a clock each, at the same time.
void test_leaf_speed(Random &random)
{
	const measure::Format &format = measure::FORMATS[1];
	const bench::Form &form = bench::FORMS[0];

	for (unsigned mtu : {1024u, 4096u}) {
		if (mtu > INA_MTU || WINDOW * mtu < 128 * 256)
			continue;
		const auto rate = measure::throughput(random, format, form, mtu, 1, 10000, 0,
		                                      measure::Role::LEAF);
		const measure::LeafLatency clocks =
		        measure::leaf_latency(random, format, form, mtu);

		std::printf("leaf of %u ports, MTU %u: %.4f beats a clock in and %.4f out on the "
		            "slowest port, %llu clocks to the part and %llu from above\n",
		            PORTS, mtu, rate.least_in(), rate.least_out(),
		            static_cast<unsigned long long>(clocks.up),
		            static_cast<unsigned long long>(clocks.down));
		CHECK(rate.least_in() >= BEATS_PER_CLOCK_LEAST &&
		              rate.least_out() >= BEATS_PER_CLOCK_LEAST,
		      "less than %g beats a clock", BEATS_PER_CLOCK_LEAST);
		CHECK(clocks.up <= LATENCY_CLOCKS_MOST && clocks.down <= LATENCY_CLOCKS_MOST,
		      "more than %llu clocks",
		      static_cast<unsigned long long>(LATENCY_CLOCKS_MOST));
	}
}

/// Short packets of one job, and of all jobs. From 192 bytes of payload on, the rate is a beat a
/// clock. From 128 bytes on, it is the rate of a link (rtl/README.md, ina_top).
void test_short_packets(Random &random)
{
	constexpr unsigned FULL_RATE_BYTES = 192, LINK_RATE_BYTES = 128;
	constexpr double LINK_BYTES_PER_CLOCK = 50; // 100 Gb/s at 250 MHz
	constexpr size_t ROUND_A_FRAME_BYTES = 24;  // preamble, FCS and gap

	for (const bench::Form &form : bench::FORMS)
		for (unsigned jobs : {1u, unsigned{INA_JOB_COUNT}})
			for (unsigned payload = 48; payload <= 256; payload += 16) {
				const auto rate = measure::throughput(random, measure::FORMATS[1],
				                                      form, payload, jobs, 2000);
				const double slowest = std::min(rate.least_in(), rate.least_out());
				const size_t bytes = form.payload() + payload + bench::ICRC_BYTES;
				const size_t beats =
				        (bytes + bench::BEAT_BYTES - 1) / bench::BEAT_BYTES;
				const double link =
				        static_cast<double>(beats) * LINK_BYTES_PER_CLOCK /
				        static_cast<double>(bytes + ROUND_A_FRAME_BYTES);

				std::printf(
				        "%u ports, %s, %u jobs, payload %u: %.4f beats a clock, "
				        "a link brings %.4f\n",
				        PORTS, form.name(), jobs, payload, slowest, link);
				CHECK(payload < LINK_RATE_BYTES || slowest >= link,
				      "less than the link brings");
				CHECK(payload < FULL_RATE_BYTES || slowest >= BEATS_PER_CLOCK_LEAST,
				      "less than %g beats a clock", BEATS_PER_CLOCK_LEAST);
			}
}

/// Frames that pass do so at exactly a beat a clock on all ports, whatever their length.
void test_passing_speed(Random &random)
{
	for (size_t beats = 1; beats <= 70; beats++)
		for (bool roce : {false, true}) {
			const auto rate = measure::passing(random, beats, roce, 2 + 200 / beats);

			CHECK(rate.least_in() == 1 && rate.least_out() == 1,
			      "%s of %zu beats: %g beats a clock in, %g out",
			      roce ? "RoCE" : "frames", beats, rate.least_in(), rate.least_out());
		}
}

/// Packet `index` of a job's long message, with numbers that distinguish it from all others.
Bytes numbered_frame(const traffic::Job &job, const traffic::Rank &rank, size_t index)
{
	traffic::Rank one = rank;
	const uint32_t number = static_cast<uint32_t>(index);
	const ina_wire_header header = bench::wire_header(INA_WIRE_DATA, 0, job.id);
	Bytes payload(INA_MTU, 0);

	if (index == 1)
		std::memcpy(&payload[0], &header, sizeof(header));
	for (size_t at = sizeof(header); at < payload.size(); at += sizeof(number))
		std::memcpy(&payload[at], &number, sizeof(number));
	one.segments.assign(index + 1,
	                    {index == 1 ? traffic::SEND_FIRST : traffic::SEND_MIDDLE, payload});
	one.tos.assign(index + 1, 0xAE);
	return one.frame(index);
}

/// Nothing leaves. The oldest sum of the history is requested by the last of many retransmissions,
/// while a full queue waits to be joined. Sums wait for a receiver that is behind, so the oldest
/// one still exists when its turn comes. In no case may another sum be sent under the old PSN.
void late_answers(Random &random)
{
	constexpr uint64_t PACKET_CLOCKS = 4 * (INA_MTU / 64 + 4);
	constexpr unsigned RESENDS = 15;
	AggregatorRtl rtl(random);
	traffic::Shape shape;

	shape.window = WINDOW;
	shape.messages = 0;
	traffic::Job job(random, measure::every_port(), 0, shape);
	for (const traffic::Rank &rank : job.ranks) {
		rtl.in[rank.port].push_back(rank.frame(0));
		for (size_t i = 1; i < WINDOW; i++)
			rtl.in[rank.port].push_back(numbered_frame(job, rank, i));
	}
	rtl.settle();
	for (auto &out : rtl.out)
		out.clear();
	rtl.stall_percent = 100;
	for (const traffic::Rank &rank : job.ranks)
		for (size_t i = WINDOW; i < 2 * WINDOW; i++)
			rtl.in[rank.port].push_back(numbered_frame(job, rank, i));
	for (uint64_t i = 0; i < WINDOW * PACKET_CLOCKS; i++)
		rtl.step();
	const size_t joined =
	        rtl.counter(counters::packets_joined) / PORTS; // with the JOIN, packet 0
	const traffic::Rank &asker = job.ranks[0];
	CHECK(joined >= WINDOW && joined < 2 * WINDOW, "%zu joined: nothing waits", joined);
	for (unsigned i = 0; i < RESENDS; i++)
		rtl.in[asker.port].push_back(numbered_frame(job, asker, joined - 1));
	rtl.in[asker.port].push_back(numbered_frame(job, asker, joined - WINDOW));
	for (uint64_t i = 0; i < RESENDS * PACKET_CLOCKS; i++)
		rtl.step();
	rtl.stall_percent = 0;
	rtl.settle(1000000);
	CHECK(rtl.counter(counters::duplicates_answered) == RESENDS + 1, "%llu answered",
	      static_cast<unsigned long long>(rtl.counter(counters::duplicates_answered)));
	unsigned oldest = 0;
	for (const auto &out : rtl.out[asker.port]) {
		const bench::Form form = bench::form_of(out.frame);
		const uint32_t psn = bench::get_be32(out.frame, form.bth() + 8);
		const uint32_t index = (psn - asker.first_psn) & traffic::PSN_MASK;
		uint32_t number;

		std::memcpy(&number, &out.frame[form.payload() + 40], sizeof(number));
		CHECK(number == PORTS * index, "packet %u came with a sum of %u", index, number);
		oldest += index == joined - WINDOW;
	}
	CHECK(oldest == 1 && rtl.counter(counters::answers_dropped) == 0,
	      "the oldest sum came %u times, %llu answers dropped", oldest,
	      static_cast<unsigned long long>(rtl.counter(counters::answers_dropped)));
}

/// Port 1 takes nothing. A job has ended there whose probes still wait to leave; they leave in turn
/// with the rest of the job. Port 0 still works, also for a JOIN: it gets another context, or is
/// refused.
void stuck_output(Random &random)
{
	constexpr unsigned PROBES = 100;
	constexpr uint64_t FILL_CLOCKS = PROBES * (INA_MTU / 64 + 20);
	AggregatorRtl rtl(random);
	traffic::Shape shape;

	shape.window = WINDOW;
	shape.messages = 1;
	traffic::Job ending(random, {0, 1}, 0, shape), other(random, {0, 1}, 1, shape);
	traffic::Rank leaver = ending.ranks[1];

	leaver.segments[1] = leaver.segments.back(); // LEAVE
	ending.ranks[0].segments[1] = leaver.segments.back();
	for (const traffic::Rank &rank : ending.ranks)
		rtl.in[rank.port].push_back(rank.frame(0));
	rtl.settle();
	rtl.stuck = 1u << 1;
	for (unsigned i = 0; i < PROBES; i++)
		rtl.in[1].push_back(numbered_frame(ending, leaver, 2)); // past a gap
	rtl.in[1].push_back(leaver.frame(1));
	rtl.in[0].push_back(ending.ranks[0].frame(1));
	for (uint64_t i = 0; i < FILL_CLOCKS; i++)
		rtl.step();
	rtl.stuck = 0;
	for (uint64_t i = 0; i < FILL_CLOCKS && rtl.counter(counters::jobs_closed) == 0; i++)
		rtl.step();
	rtl.stuck = 1u << 1;
	for (uint64_t i = 0; i < FILL_CLOCKS; i++)
		rtl.step();
	CHECK(rtl.counter(counters::jobs_closed) == 1 && rtl.out[1].size() < PROBES / 2,
	      "%llu jobs closed, %zu frames out",
	      static_cast<unsigned long long>(rtl.counter(counters::jobs_closed)),
	      rtl.out[1].size());
	rtl.in[0].push_back(other.ranks[0].frame(0));
	for (unsigned i = 0; i < 1000; i++)
		rtl.step();
	CHECK(rtl.counter(counters::joins_granted) + rtl.counter(counters::joins_refused) == 3,
	      "port 1 is stuck, and so is port 0: a JOIN gets no answer");
}

/// Port 1 never takes anything again. Answers and raw packets of the jobs in all contexts wait for
/// it. When these jobs have expired, the contexts are free. All frames that port 1 takes later are
/// whole, except one that was on its way.
void dead_output(Random &random)
{
	constexpr unsigned PROBES = 100;
	constexpr uint64_t FILL_CLOCKS = INA_JOB_COUNT * PROBES * (INA_MTU / 64 + 20);
	AggregatorRtl rtl(random);
	traffic::Shape shape;
	std::vector<traffic::Job> jobs;

	shape.window = WINDOW;
	shape.messages = 1;
	for (unsigned j = 0; j < INA_JOB_COUNT; j++) {
		jobs.emplace_back(random, std::vector<unsigned>{0, 1}, j, shape);
		for (const traffic::Rank &rank : jobs[j].ranks)
			rtl.in[rank.port].push_back(rank.frame(0));
		rtl.settle();
	}
	rtl.stuck = 1u << 1;
	for (unsigned i = 0; i < PROBES; i++)
		for (const traffic::Job &job : jobs)
			rtl.in[1].push_back(numbered_frame(job, job.ranks[1], 2)); // past a gap
	for (const traffic::Job &job : jobs)
		rtl.in[0].push_back(job.ranks[0].frame(1));
	for (unsigned pulse = 0; pulse < 3; pulse++) {
		for (uint64_t i = 0; i < FILL_CLOCKS; i++)
			rtl.step();
		CHECK(rtl.counter(counters::jobs_closed) < INA_JOB_COUNT,
		      "nothing waits for port 1");
		rtl.age();
	}
	for (uint64_t i = 0; i < 20 * FILL_CLOCKS; i++)
		rtl.step();
	CHECK(rtl.counter(counters::jobs_closed) == INA_JOB_COUNT,
	      "%llu of %u jobs closed: port 1 keeps the others",
	      static_cast<unsigned long long>(rtl.counter(counters::jobs_closed)),
	      unsigned{INA_JOB_COUNT});

	const uint64_t granted = rtl.counter(counters::joins_granted);
	traffic::Job next(random, {0, 1}, INA_JOB_COUNT, shape);

	rtl.in[0].push_back(next.ranks[0].frame(0));
	for (unsigned i = 0; i < 1000; i++)
		rtl.step();
	CHECK(rtl.counter(counters::joins_granted) == granted + 1,
	      "there is no context for another job");
	rtl.stuck = 0;
	rtl.in[1].push_back(next.ranks[1].frame(0));
	rtl.settle();
	CHECK(next.ranks[1].owns(rtl.out[1].back().frame), "its sum does not leave by port 1");
}

/// A JOIN of a job with one rank, which is refused.
Bytes refused_join(unsigned port, unsigned number)
{
	bench::Packet packet;

	packet.qpn = 0x500000 + (port << 12) + number;
	packet.payload =
	        traffic::make_message(bench::wire_header(INA_WIRE_JOIN, 1, number + 1), {}, 0);
	return bench::make_frame(packet);
}

/// Two measurements while `flooded` other ports send only JOINs that are refused, as fast as they
/// are taken. One is the clocks until the sums of all packets that a job of ports 0 and 1 may send
/// have left. The other is the clocks that each of these JOINs takes.
struct Flooded {
	uint64_t job_clocks;
	double join_clocks;
};

Flooded flood(Random &random, const traffic::Job &job, size_t packets, unsigned flooded)
{
	constexpr unsigned JOINS = 600;
	constexpr size_t FROM = JOINS / 3, TO = 2 * FROM; // while all ports send them
	AggregatorRtl rtl(random);
	uint64_t began = 0, from = 0, to = 0, ended = 0;

	for (const traffic::Rank &rank : job.ranks)
		rtl.in[rank.port].push_back(rank.frame(0));
	rtl.settle();
	for (unsigned port = 2; port < 2 + flooded; port++)
		for (unsigned i = 0; i < JOINS; i++)
			rtl.in[port].push_back(refused_join(port, i));
	while (flooded && rtl.frames_in[2] < FROM / 2)
		rtl.step();
	began = rtl.clock();
	for (const traffic::Rank &rank : job.ranks)
		for (size_t i = 1; i < packets; i++)
			rtl.in[rank.port].push_back(rank.frame(i));
	while (!rtl.is_idle() || ended == 0) {
		rtl.step();
		if (!ended && rtl.out[0].size() == packets && rtl.out[1].size() == packets)
			ended = rtl.clock();
		if (!from && rtl.frames_in[2] >= FROM)
			from = rtl.clock();
		if (!to && rtl.frames_in[2] >= TO)
			to = rtl.clock();
		CHECK(rtl.clock() < began + 1000000, "the job's sums do not come");
	}
	CHECK(rtl.counter(counters::joins_refused) == uint64_t{flooded} * JOINS,
	      "%llu JOINs refused",
	      static_cast<unsigned long long>(rtl.counter(counters::joins_refused)));
	CHECK(rtl.counter(counters::packets_joined) == 2 * packets, "%llu packets joined",
	      static_cast<unsigned long long>(rtl.counter(counters::packets_joined)));
	return {ended - began, static_cast<double>(to - from) / (TO - FROM)};
}

/// A JOIN that is refused stops its port until it is answered. No other port's sums are a clock
/// later because of that, however many ports are flooded with JOINs (docs/protocol.md, Hostile
/// tenants).
void floods_of_joins(Random &random)
{
	constexpr double ALONE_CLOCKS_MOST = 20, A_PORT_CLOCKS_MOST = 5;
	traffic::Shape shape;

	shape.window = WINDOW;
	shape.messages = 40;
	const traffic::Job job(random, {0, 1}, 0, shape);
	const size_t packets = std::min<size_t>(job.packets() - 1, WINDOW);
	const Flooded none = flood(random, job, packets, 0);
	for (unsigned flooded = 1; flooded <= PORTS - 2; flooded++) {
		const Flooded some = flood(random, job, packets, flooded);

		std::printf(
		        "%u ports, %u of them full of refused JOINs: %.2f clocks each, %llu clocks "
		        "for %zu sums of two others\n",
		        PORTS, flooded, some.join_clocks,
		        static_cast<unsigned long long>(some.job_clocks), packets);
		CHECK(some.job_clocks == none.job_clocks, "%llu clocks without",
		      static_cast<unsigned long long>(none.job_clocks));
		CHECK(some.join_clocks <=
		              std::max(ALONE_CLOCKS_MOST, A_PORT_CLOCKS_MOST * flooded + 1),
		      "more clocks than the answers take");
	}
}

/// The clocks for each of many TRACEs at a port. A slot that is full is not filled again.
double trace_clocks(Random &random, bool slots_are_empty)
{
	constexpr unsigned TRACES = 300;
	constexpr size_t FROM = TRACES / 3, TO = 2 * FROM;
	const std::vector<uint32_t> slots(INA_WIRE_LEVELS * sizeof(ina_wire_trace_slot) / 4,
	                                  !slots_are_empty);
	AggregatorRtl rtl(random);
	ina_wire_header header = bench::wire_header(INA_WIRE_TRACE);
	bench::Packet packet;
	uint64_t from = 0;

	rtl.place(1, 0, 0x0123456789ABCDEF);
	header.length_bytes = INA_WIRE_LEVELS * sizeof(ina_wire_trace_slot);
	packet.payload = traffic::make_message(header, slots, 0);
	const Bytes trace = bench::make_frame(packet);
	for (unsigned i = 0; i < TRACES; i++)
		rtl.in[0].push_back(trace);
	while (rtl.frames_in[0] < TO) {
		rtl.step();
		if (!from && rtl.frames_in[0] >= FROM)
			from = rtl.clock();
		CHECK(rtl.clock() < 100 * TRACES, "%zu TRACEs have come in", rtl.frames_in[0]);
	}
	const uint64_t to = rtl.clock();

	rtl.settle();
	CHECK(rtl.out[0].size() == TRACES, "%zu TRACEs leave", rtl.out[0].size());
	for (const AggregatorRtl::Out &out : rtl.out[0])
		CHECK((out.frame != trace) == slots_are_empty,
		      "a slot was filled that is not empty");
	return static_cast<double>(to - from) / (TO - FROM);
}

/// A port that is flooded with TRACEs takes them as fast as it takes frames of the same length that
/// pass unchanged.
void flood_of_traces(Random &random)
{
	const double filled = trace_clocks(random, true), passed = trace_clocks(random, false);

	std::printf("a TRACE takes %.2f clocks\n", filled);
	CHECK(filled == passed, "%.2f clocks if its slot is not filled", passed);
}

/// Several jobs have all their packets waiting: they must take turns, packet by packet.
void fairness(Random &random)
{
	constexpr unsigned JOBS = INA_JOB_COUNT;
	constexpr size_t EARLY = 40; // the most packets that are chosen while others still come in
	constexpr uint64_t FILL_CLOCKS = 2 * JOBS * WINDOW * (INA_MTU / 64 + 2);
	AggregatorRtl rtl(random);
	traffic::Shape shape;
	std::vector<unsigned> order; // jobs, in the order in which their packets leave port 0

	shape.window = WINDOW;
	shape.mtu = INA_MTU;
	shape.messages = 0;
	std::vector<traffic::Job> jobs;
	for (unsigned j = 0; j < JOBS; j++) {
		jobs.emplace_back(random, measure::every_port(), j, shape);
		for (traffic::Rank &rank : jobs[j].ranks) {
			const ina_wire_header header =
			        bench::wire_header(INA_WIRE_DATA, 0, jobs[j].id);
			Bytes payload(INA_MTU, 0);

			std::memcpy(&payload[0], &header, sizeof(header));
			rtl.in[rank.port].push_back(rank.frame(0));
			rank.segments.resize(WINDOW + 1);
			rank.tos.resize(WINDOW + 1, 0xAE);
			for (size_t i = 1; i <= WINDOW; i++)
				rank.segments[i] = {i == 1 ? traffic::SEND_FIRST
				                           : traffic::SEND_MIDDLE,
				                    payload};
		}
	}
	rtl.settle();
	for (auto &out : rtl.out)
		out.clear();
	rtl.stall_percent = 100; // until all have come
	for (const traffic::Job &job : jobs)
		for (const traffic::Rank &rank : job.ranks)
			for (size_t i = 1; i <= WINDOW; i++)
				rtl.in[rank.port].push_back(rank.frame(i));
	for (uint64_t i = 0; i < FILL_CLOCKS; i++)
		rtl.step();
	rtl.stall_percent = 0;
	rtl.settle(10 * FILL_CLOCKS);
	for (const auto &out : rtl.out[0])
		order.push_back(bench::get_be32(out.frame, bench::form_of(out.frame).bth() + 4) -
		                0x11u); // the QPN that traffic::Job gives
	CHECK(order.size() == JOBS * WINDOW, "%zu packets, not %u", order.size(), JOBS * WINDOW);
	for (size_t at = EARLY; at < EARLY + order.size() / 4; at++)
		for (size_t i = at + 1; i < at + JOBS; i++)
			CHECK(order[i] != order[at], "job %u goes twice in %zu packets", order[at],
			      i - at);
}

} // namespace

int main()
{
	Random random(bench::seed());

	test_faults(random);
	test_speed(random);
	test_leaf_speed(random);
	if (WINDOW == SLOTS_BUILT)
		test_short_packets(random);
	test_passing_speed(random);
	stuck_output(random);
	dead_output(random);
	floods_of_joins(random);
	flood_of_traces(random);
	if (INA_MTU == 4096)
		late_answers(random);
	if (WINDOW >= 20 && INA_JOB_COUNT > 1)
		fairness(random);
	return 0;
}
