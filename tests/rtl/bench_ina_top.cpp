// SPDX-License-Identifier: Apache-2.0
//
// Measures ina_top at one number of ports, and prints one JSON object a line on stdout.
// scripts/bench-rtl.py makes a table of them.

#include "measure.hpp"

using bench::Random;

namespace
{

constexpr uint64_t CLOCKS = 40000; // of each measurement
constexpr unsigned MTUS[] = {256, 1024, 4096};
constexpr unsigned JOBS_AT_ONCE[] = {1, INA_JOB_COUNT};
constexpr size_t FRAME_BEATS_MOST = 70;
constexpr size_t PASSING_BEATS = 2000; // for each length of frames that pass

void print_list(const char *name, const double *values, size_t count)
{
	std::printf("\"%s\": [", name);
	for (size_t i = 0; i < count; i++)
		std::printf("%s%.4f", i ? ", " : "", values[i]);
	std::printf("]");
}

void measure_one(Random &random, const measure::Format &format, unsigned mtu, unsigned jobs)
{
	const bench::Form form; // IPv4: all forms have the same speed (see test_ina_load)
	const measure::Throughput result =
	        measure::throughput(random, format, form, mtu, jobs, CLOCKS);

	std::printf("{\"ports\": %u, \"format\": \"%s\", \"mtu\": %u, \"jobs\": %u, "
	            "\"contexts\": %u, \"window_packets\": %u, \"clocks\": %llu, ",
	            measure::PORTS, format.name, mtu, jobs, INA_JOB_COUNT, INA_SLOT_COUNT,
	            static_cast<unsigned long long>(CLOCKS));
	print_list("beats_per_clock_in", result.in, measure::PORTS);
	std::printf(", ");
	print_list("beats_per_clock_out", result.out, measure::PORTS);
	std::printf(", ");
	print_list("job_shares", result.shares.data(), result.shares.size());
	if (jobs == 1)
		std::printf(", \"latency_clocks\": %llu",
		            static_cast<unsigned long long>(
		                    measure::latency(random, format, form, mtu)));
	std::printf("}\n");
	std::fflush(stdout);
}

/// A leaf with children on all ports but the last, which is the uplink.
void measure_leaf(Random &random, unsigned mtu)
{
	const measure::Format &format = measure::FORMATS[1];
	const bench::Form form;
	const measure::Throughput result =
	        measure::throughput(random, format, form, mtu, 1, CLOCKS, 0, measure::Role::LEAF);
	const measure::LeafLatency clocks = measure::leaf_latency(random, format, form, mtu);

	std::printf("{\"ports\": %u, \"leaf\": true, \"format\": \"%s\", \"mtu\": %u, ",
	            measure::PORTS, format.name, mtu);
	print_list("beats_per_clock_in", result.in, measure::PORTS);
	std::printf(", ");
	print_list("beats_per_clock_out", result.out, measure::PORTS);
	std::printf(", \"up_clocks\": %llu, \"down_clocks\": %llu}\n",
	            static_cast<unsigned long long>(clocks.up),
	            static_cast<unsigned long long>(clocks.down));
	std::fflush(stdout);
}

/// Frames of one length that pass unchanged, on all ports.
void measure_passing(Random &random, size_t beats)
{
	const measure::Throughput result =
	        measure::passing(random, beats, true, 2 + PASSING_BEATS / beats);

	std::printf("{\"ports\": %u, \"frame_beats\": %zu, ", measure::PORTS, beats);
	print_list("beats_per_clock_in", result.in, measure::PORTS);
	std::printf(", ");
	print_list("beats_per_clock_out", result.out, measure::PORTS);
	std::printf("}\n");
	std::fflush(stdout);
}

} // namespace

int main()
{
	Random random(1); // always the same traffic: the counts are those of the previous run

	for (const measure::Format &format : measure::FORMATS)
		for (unsigned mtu : MTUS)
			for (unsigned jobs : JOBS_AT_ONCE)
				measure_one(random, format, mtu, jobs);
	for (unsigned mtu : MTUS)
		measure_leaf(random, mtu);
	for (size_t beats = 1; beats <= FRAME_BEATS_MOST; beats++)
		measure_passing(random, beats);
	return 0;
}
