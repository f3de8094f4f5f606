// SPDX-License-Identifier: Apache-2.0
//
// ina_pass against a list of frames. Frames with a passing token come out as they went in, in
// order. Other frames, and those longer than 256 beats, leave no trace, and never stop the input
// permanently. A token's TRACE data comes out with each beat of its frame. Tokens come late, early
// (before a frame's end), and in bursts. Then the clocks, exactly: frames of every length leave at
// a beat a clock.

#include "bench.hpp"
#include "Vina_pass.h"

namespace
{

constexpr unsigned FRAMES = 6000;
constexpr size_t BEATS_MAX = 256;
constexpr unsigned CLOCKS_MAX = 5000000;

struct Token {
	bool pass, trace;
};

class Test
{
      public:
	Test() : random(bench::seed())
	{
		dut->s_valid = 0;
		dut->token_valid = 0;
		dut->m_axis_tready = 0;
		dut.reset();
	}
	void frame(const bench::Bytes &bytes)
	{
		const size_t beats = bench::beats_of(bytes);
		const size_t early = random.chance(10) ? random.below(beats) : beats;

		for (size_t i = 0; i < beats; i++) {
			if (i == early)
				decide(bytes);
			dut->s_valid = 0;
			while (!ready() || random.chance(10))
				clock();
			dut->s_valid = 1;
			dut->s_keep = bench::put_beat(dut->s_data, bytes, i);
			dut->s_last = i + 1 == beats;
			clock();
			dut->s_valid = 0;
		}
		if (early == beats)
			decide(bytes);
	}
	/// Frames of `beats` beats that all pass, back to back, with a token at the end of each.
	/// From the first beat that leaves to the last, a beat leaves in every clock.
	void back_to_back(size_t beats)
	{
		const size_t frames = 2 + 300 / beats, total = frames * beats;
		size_t in = 0, out = 0;
		uint64_t first_out = 0;

		dut->m_axis_tready = 1;
		while (out < total) {
			dut.settle();
			dut->s_valid = in < total && dut->s_ready;
			dut->s_last = (in + 1) % beats == 0;
			dut->s_keep = ~uint64_t{0};
			dut->token_valid = dut->s_valid && dut->s_last;
			dut->token_pass = 1;
			dut.settle();
			if (dut->m_axis_tvalid) {
				if (out == 0)
					first_out = dut.clocks;
				CHECK(dut.clocks - first_out == out,
				      "frames of %zu beats: beat %zu left %llu clocks after the "
				      "first",
				      beats, out,
				      static_cast<unsigned long long>(dut.clocks - first_out));
				out++;
				CHECK(dut->m_axis_tlast == (out % beats == 0), "tlast at beat %zu",
				      out);
			}
			CHECK(in - out < 2 * beats + 16, "%zu beats went in, %zu came out", in,
			      out);
			in += dut->s_valid;
			dut.tick();
		}
		dut->s_valid = 0;
		dut->token_valid = 0;
	}
	void drain()
	{
		for (;;) {
			dut.settle();
			if (tokens.empty() && expected.frames.empty() && !dut->busy &&
			    !dut->m_axis_tvalid)
				break;
			clock();
		}
		CHECK(passed == passes, "%u frames passed, must be %u", passed, passes);
	}
	bench::Random random;
	unsigned ready_percent = 50, token_percent = 50;

      private:
	void decide(const bench::Bytes &bytes)
	{
		const Token token = {random.chance(60), random.chance(50)};

		tokens.push_back(token);
		if (token.pass && bench::beats_of(bytes) <= BEATS_MAX) {
			expected.frames.push_back(bytes);
			traces.push_back(token.trace);
			passes++;
		}
	}
	bool ready()
	{
		dut.settle();
		return dut->s_ready;
	}
	void clock()
	{
		CHECK(dut.clocks < CLOCKS_MAX, "stuck with %zu frames to come",
		      expected.frames.size());
		dut->m_axis_tready = random.chance(ready_percent);
		dut->token_valid = !tokens.empty() && random.chance(token_percent);
		if (dut->token_valid) {
			dut->token_pass = tokens.front().pass;
			dut->token_trace = tokens.front().trace;
			tokens.pop_front();
		}
		dut.settle();
		CHECK(!dut->m_axis_tvalid || dut->busy, "not busy with a beat on the way out");
		passed += dut->passed;
		if (dut->m_axis_tvalid && dut->m_axis_tready) {
			CHECK(traces.empty() || dut->m_trace == traces.front(),
			      "m_trace is another frame's");
			if (expected.take(dut->m_axis_tdata, dut->m_axis_tkeep, dut->m_axis_tlast))
				traces.pop_front();
		}
		dut.tick();
		dut->token_valid = 0;
	}
	bench::Dut<Vina_pass> dut;
	std::deque<Token> tokens;
	bench::ExpectedFrames expected;
	std::deque<bool> traces; // whether these frames are TRACEs
	unsigned passed = 0, passes = 0;
};

size_t random_size(bench::Random &random)
{
	const uint64_t kind = random.below(100);

	if (kind < 60)
		return 1 + random.below(300);
	if (kind < 90)
		return 1 + random.below(4200);
	if (kind < 97)
		return bench::BEAT_BYTES * (BEATS_MAX - 2) + 1 + random.below(300); // on both sides
	return 1 + random.below(40000);
}

} // namespace

int main()
{
	Test test;

	for (unsigned i = 0; i < FRAMES; i++) {
		if (i % 100 == 0) {
			test.ready_percent = static_cast<unsigned>(5 + test.random.below(96));
			test.token_percent = static_cast<unsigned>(5 + test.random.below(96));
		}
		test.frame(test.random.bytes(random_size(test.random)));
	}
	test.drain();
	for (size_t beats = 1; beats <= 70; beats++)
		test.back_to_back(beats);
	return 0;
}
