// SPDX-License-Identifier: Apache-2.0
//
// ina_top under load: all ports at once, hosts that keep to the protocol, a network that loses,
// doubles, delays, reorders and corrupts frames on both sides of the aggregator. Every receiver is
// an RC responder, and whatever it puts together must be exactly the sum, or say that it is not.
// Then the throughput and the latency without faults, which must keep to their targets.

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
constexpr unsigned UNACKED_MAX = 128; // as rdma_rxe has it
constexpr uint64_t TIMER_CLOCKS = 6000;

// Clock counts, so the same on every machine. scripts/bench-rtl.py has the same targets.
constexpr double BEATS_PER_CLOCK_LEAST = 0.98;
constexpr uint64_t LATENCY_CLOCKS_MOST = 40;

// Counters by position (model/counters.h).
constexpr unsigned PACKETS_JOINED = 4, PACKETS_RAW = 6, DUPLICATES_ANSWERED = 7, GAPS = 10,
                   JOBS_CLOSED = 15, JOBS_BROKEN = 16;

struct Faults {
	unsigned lose = 0, repeat = 0, delay = 0, corrupt = 0; // percent, on each side
};

struct Connection {
	size_t cursor = 0;     // next packet to send
	size_t delivered = 0;  // packets that the receiver has accepted
	bool nak_sent = false; // one NAK a gap
	uint64_t last_progress = 0;
	bool went_raw = false;      // a packet was accepted with its own payload
	bool message_is_sum = true; // all packets of the message so far were
};

using Run = traffic::Running<Connection>;

class Network
{
      public:
	Network(Random &generator, AggregatorRtl &aggregator, const Faults &wanted)
	    : random(generator), rtl(aggregator), faults(wanted)
	{
	}

	/// Runs `jobs` jobs, `at_once` of them at a time, to their end.
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
		const size_t count = all_ports ? PORTS : 1 + random.below(PORTS);

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

	/// A frame on its way. A JOIN is not delayed: its copy might come after the LEAVE.
	template <class Way> void travel(Way &way, unsigned port, Bytes frame)
	{
		if (random.chance(faults.lose))
			return;
		if (random.chance(faults.corrupt))
			frame[random.below(frame.size())] ^=
			        static_cast<uint8_t>(1 + random.below(255));
		const bool join = frame.size() == 54 + 48 + 4 && frame[57] == INA_WIRE_JOIN;
		const unsigned copies = !join && random.chance(faults.repeat) ? 2 : 1;

		for (unsigned i = 0; i < copies; i++) {
			const bool late = !join && random.chance(faults.delay);
			way.emplace(rtl.clock() + (late ? random.below(600) : 0),
			            std::make_pair(port, frame));
		}
	}

	/// The next packet of one of the port's connections, if any may send.
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

	/// The host's window: packet p needs the sum of p - WINDOW; DATA needs the JOIN's, and
	/// LEAVE all others'.
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
		uint32_t received;

		if (frame.size() < 54 + 4 || bench::get_be16(frame, 12) != 0x0800)
			return; // damaged where the iCRC does not look
		std::memcpy(&received, &frame[frame.size() - 4], 4);
		if (received != bench::icrc(frame)) {
			CHECK(faults.corrupt > 0, "port %u: a frame with a wrong iCRC", port);
			return;
		}
		for (auto &run : runs)
			for (size_t r = 0; r < run->connections.size(); r++) {
				const traffic::Rank &rank = run->job.ranks[r];

				if (rank.port == port && rank.qpn == (uint32_t{frame[47]} << 16 |
				                                      bench::get_be16(frame, 48)))
					respond(*run, r, frame);
			}
	}

	/// The responder of an RC connection.
	void respond(Run &run, size_t r, const Bytes &frame)
	{
		Connection &connection = run.connections[r];
		const traffic::Rank &rank = run.job.ranks[r];
		const uint32_t psn = uint32_t{frame[51]} << 16 | bench::get_be16(frame, 52);
		const uint32_t distance =
		        (psn - rank.psn(connection.delivered)) & traffic::PSN_MASK;

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

		connection.nak_sent = false;
		connection.last_progress = rtl.clock();
		connection.cursor = std::max(connection.cursor, connection.delivered);
		CHECK(frame.size() == 54 + size + 4 && frame[42] == own.opcode,
		      "port %u, packet %zu: %zu bytes, opcode %u", run.job.ranks[r].port, index,
		      frame.size(), frame[42]);
		const bool is_sum = std::equal(frame.begin() + 54, frame.end() - 4,
		                               message.sum.begin() + static_cast<long>(at));
		const bool is_raw =
		        std::equal(own.payload.begin(), own.payload.end(), frame.begin() + 54);

		CHECK(is_sum || is_raw, "port %u, packet %zu: neither sum nor own payload",
		      run.job.ranks[r].port, index);
		/* The last LEAVE ends the job; what is lost of it behind the aggregator comes raw.
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
		AggregatorRtl rtl(random);
		traffic::Shape shape;
		const unsigned jobs = 2 * INA_JOB_COUNT;

		rtl.gap_percent = static_cast<unsigned>(random.below(40));
		rtl.stall_percent = static_cast<unsigned>(random.below(40));
		shape.window = WINDOW;
		shape.marked_percent = 3;
		shape.messages = 30;
		shape.max_elements = 500;
		Network network(random, rtl, faults);
		network.run(jobs, INA_JOB_COUNT, shape, true);
		CHECK(rtl.counter(JOBS_BROKEN) == 0, "%llu jobs broke without a cause",
		      static_cast<unsigned long long>(rtl.counter(JOBS_BROKEN)));
		shape.messages = 12;
		network.run(jobs, INA_JOB_COUNT, shape, false);
		CHECK(rtl.counter(JOBS_CLOSED) == 2 * jobs, "%llu of %u jobs closed",
		      static_cast<unsigned long long>(rtl.counter(JOBS_CLOSED)), 2 * jobs);
		shape.mismatch_percent = 5;
		network.run(jobs, INA_JOB_COUNT, shape, true);
		std::printf("%u ports, lose %u%% repeat %u%% delay %u%% corrupt %u%%: %llu clocks, "
		            "%llu joined, %llu raw, %llu answered, %llu gaps\n",
		            PORTS, faults.lose, faults.repeat, faults.delay, faults.corrupt,
		            static_cast<unsigned long long>(rtl.clock()),
		            static_cast<unsigned long long>(rtl.counter(PACKETS_JOINED)),
		            static_cast<unsigned long long>(rtl.counter(PACKETS_RAW)),
		            static_cast<unsigned long long>(rtl.counter(DUPLICATES_ANSWERED)),
		            static_cast<unsigned long long>(rtl.counter(GAPS)));
	}
}

void test_speed(Random &random)
{
	for (const measure::Format &format : measure::FORMATS)
		for (unsigned mtu : {1024u, 4096u}) {
			const auto rate = measure::throughput(random, format, mtu, 1, 10000);
			const uint64_t clocks = measure::latency(random, format, mtu);

			std::printf("%u ports, %s, MTU %u: %.4f beats a clock in and %.4f out on "
			            "the slowest port, %llu clocks to the sum\n",
			            PORTS, format.name, mtu, rate.least_in(), rate.least_out(),
			            static_cast<unsigned long long>(clocks));
			CHECK(rate.least_in() >= BEATS_PER_CLOCK_LEAST &&
			              rate.least_out() >= BEATS_PER_CLOCK_LEAST,
			      "less than %g beats a clock", BEATS_PER_CLOCK_LEAST);
			CHECK(clocks <= LATENCY_CLOCKS_MOST, "more than %llu clocks",
			      static_cast<unsigned long long>(LATENCY_CLOCKS_MOST));
		}
}

} // namespace

int main()
{
	Random random(bench::seed());

	test_faults(random);
	test_speed(random);
	return 0;
}
