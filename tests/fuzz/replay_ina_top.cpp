// SPDX-License-Identifier: Apache-2.0
//
// replay_ina_top FILE-OR-DIRECTORY...: runs the inputs of fuzz_model through ina_top, together with
// the model. The same frames leave on the same ports, the counters are equal, and the RTL comes to
// rest after each frame.
//
// A broken job ends when each of its flows has sent its LEAVE, and packets that a flow has sent
// after its LEAVE are forgotten with the job. How many of these have left by then depends on the
// RTL's turns, while the model goes port by port. No host sends anything after its LEAVE; an input
// in which one does ends there.

#include "aggregator_rtl.hpp"
#include "counters.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

extern "C" {
#include "model/aggregator.h"
#include "traffic.h"
}

using bench::AggregatorRtl;
using bench::Bytes;
using bench::Random;

namespace
{

constexpr unsigned PORTS = INA_PORT_COUNT;
constexpr uint64_t CLOCKS_MOST = 20000; // after this time a pipeline is stuck

/// One input, from the reset on.
class Replay
{
      public:
	Replay(const std::string &file, const Bytes &bytes)
	    : name(file), random(bytes.size()),
	      config(traffic_aggregator_config(bytes.data(), bytes.size())),
	      rtl(random, config.has_quiet_time)
	{
		CHECK(config.ports == PORTS && config.jobs == INA_JOB_COUNT &&
		              config.window_packets == INA_SLOT_COUNT &&
		              config.memory_packets == INA_MEMORY &&
		              config.grain_packets == INA_GRAIN,
		      "traffic.h and this program have another size in mind");
		model = aggregator_open(&config, on_model_frame, this);
		CHECK(model, "no memory for the model");
		/* Idle clocks and backpressure differ from input to input. */
		rtl.gap_percent = bytes.empty() ? 0 : bytes.back() % 40;
		rtl.stall_percent = bytes.empty() ? 0 : bytes.front() % 40;
		traffic_start(&input, bytes.data(), bytes.size());
	}
	~Replay()
	{
		aggregator_close(model);
	}
	Replay(const Replay &) = delete;
	Replay &operator=(const Replay &) = delete;

	/// Returns the number of frames; adds to the counters.
	uint64_t run(uint64_t *totals)
	{
		roce_frame next;
		unsigned port;

		while (!is_over && traffic_next(&input, &next, &port)) {
			if (next.length > 0)
				put(port, Bytes(next.bytes, next.bytes + next.length));
			else
				end_of_time(port);
			frames++;
		}
		for (unsigned i = 0; i < INA_COUNTER_COUNT; i++)
			totals[i] += rtl.counter(i);
		return frames;
	}

      private:
	std::string name;
	Random random;
	const aggregator_config config;
	AggregatorRtl rtl;
	traffic input;
	aggregator *model = nullptr;
	std::vector<Bytes> expected[PORTS];
	uint64_t frames = 0;
	bool is_over = false;

	static void on_model_frame(void *context, unsigned port, const uint8_t *bytes,
	                           size_t length)
	{
		static_cast<Replay *>(context)->expected[port].emplace_back(bytes, bytes + length);
	}

	void put(unsigned port, const Bytes &bytes)
	{
		for (auto &out : expected)
			out.clear();
		aggregator_put(model, port, bytes.data(), bytes.size());
		rtl.in[port].push_back(bytes);
		come_to_rest(bytes);
	}

	void end_of_time(bool of_quiet)
	{
		for (auto &out : expected)
			out.clear();
		(of_quiet ? aggregator_tick : aggregator_age)(model);
		of_quiet ? rtl.tick() : rtl.age();
		if (of_quiet) {
			aggregator_patience(model);
			rtl.patience();
		}
		come_to_rest({});
	}

	void come_to_rest(const Bytes &own)
	{
		const uint64_t end = rtl.clock() + CLOCKS_MOST;
		do {
			rtl.step();
			CHECK(rtl.clock() < end, "%s, frame %llu: still busy after %llu clocks",
			      name.c_str(), static_cast<unsigned long long>(frames),
			      static_cast<unsigned long long>(CLOCKS_MOST));
		} while (!rtl.is_idle());
		for (unsigned p = 0; p < PORTS; p++)
			is_over |=
			        rtl.out[p].size() < expected[p].size() && goes_on_behind_leave(p);
		for (unsigned p = 0; p < PORTS && !is_over; p++)
			compare_port(p, own);
		if (!is_over)
			compare_counters();
		for (auto &out : rtl.out)
			out.clear();
	}

	/// Does the model send a packet of a flow after its LEAVE?
	bool goes_on_behind_leave(unsigned p) const
	{
		for (size_t i = 0; i + 1 < expected[p].size(); i++) {
			const bench::Form form = bench::form_of(expected[p][i]);
			const Bytes &frame = expected[p][i], &next = expected[p][i + 1];
			const size_t qpn = form.bth() + 5;

			if (frame.size() == form.payload() + 48 + 4 &&
			    frame[form.payload() + 3] == INA_WIRE_LEAVE && next.size() > qpn + 3 &&
			    std::equal(&frame[qpn], &frame[qpn + 3], &next[qpn]))
				return true;
		}
		return false;
	}

	/// A frame that passes unchanged takes another way than packets that a breaking job
	/// releases, and may overtake them.
	void compare_port(unsigned p, const Bytes &own)
	{
		std::vector<Bytes> want = expected[p], got;
		const auto is_own = [&own](const Bytes &bytes) { return bytes == own; };

		for (const auto &out : rtl.out[p])
			got.push_back(out.frame);
		std::stable_partition(want.begin(), want.end(), is_own);
		std::stable_partition(got.begin(), got.end(), is_own);
		if (own.empty()) { // several jobs may have expired at the same time: in any order
			std::sort(want.begin(), want.end());
			std::sort(got.begin(), got.end());
		}
		CHECK(got.size() == want.size(), "%s, frame %llu, port %u: %zu frames out, not %zu",
		      name.c_str(), static_cast<unsigned long long>(frames), p, got.size(),
		      want.size());
		for (size_t i = 0; i < want.size(); i++)
			CHECK(got[i] == want[i],
			      "%s, frame %llu, port %u, out %zu: %zu bytes, not the same %zu from "
			      "byte "
			      "%td on",
			      name.c_str(), static_cast<unsigned long long>(frames), p, i,
			      got[i].size(), want[i].size(),
			      std::mismatch(want[i].begin(), want[i].end(), got[i].begin(),
			                    got[i].end())
			                      .first -
			              want[i].begin());
	}

	void compare_counters() const
	{
		uint64_t want[INA_COUNTER_COUNT];

		std::memcpy(want, aggregator_counters(model), sizeof(want));
		for (unsigned i = 0; i < INA_COUNTER_COUNT; i++)
			CHECK(rtl.counter(i) == want[i],
			      "%s, after frame %llu: %s is %llu, not %llu", name.c_str(),
			      static_cast<unsigned long long>(frames), counters::names[i],
			      static_cast<unsigned long long>(rtl.counter(i)),
			      static_cast<unsigned long long>(want[i]));
	}
};

/// The files in a folder, in an order that is the same each time.
std::vector<std::string> files_of(const std::string &path)
{
	namespace fs = std::filesystem;
	std::vector<std::string> files;

	if (!fs::is_directory(path))
		return {path};
	for (const auto &entry : fs::directory_iterator(path))
		files.push_back(entry.path().string());
	std::sort(files.begin(), files.end());
	return files;
}

Bytes read_file(const std::string &path)
{
	std::ifstream stream(path, std::ios::binary);

	CHECK(stream, "cannot read %s", path.c_str());
	return Bytes(std::istreambuf_iterator<char>(stream), {});
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t inputs = 0, frames = 0;
	uint64_t totals[INA_COUNTER_COUNT] = {};

	for (int i = 1; i < argc; i++)
		for (const std::string &file : files_of(argv[i])) {
			frames += std::make_unique<Replay>(file, read_file(file))->run(totals);
			inputs++;
		}
	CHECK(inputs > 0, "usage: replay_ina_top FILE-OR-DIRECTORY...");
	/* A corpus makes each counter move, */
	for (unsigned i = 0; i < INA_COUNTER_COUNT && inputs > 1; i++) {
		/* except this one: the frames come one by one, so no answer waits for its turn. */
		if (i == counters::answers_dropped)
			continue;
		CHECK(totals[i] > 0, "no input moves %s", counters::names[i]);
	}
	std::printf("rtl      %10llu frames of %llu inputs: the RTL as the model\n",
	            static_cast<unsigned long long>(frames),
	            static_cast<unsigned long long>(inputs));
	return 0;
}
