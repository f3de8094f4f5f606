// SPDX-License-Identifier: Apache-2.0
//
// Cuts the frames that enter a pipeline into beats, and joins the beats that leave it.
#ifndef INA_BRIDGE_RTL_FRAMES_HPP
#define INA_BRIDGE_RTL_FRAMES_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

constexpr size_t BEAT_BYTES = 64;

// Frames that wait to enter a pipeline, and the position in the first of them.
class Input
{
      public:
	// The frame does not enter before clock edge `edge`.
	void put(const uint8_t *frame, size_t length, uint64_t edge)
	{
		bytes.insert(bytes.end(), frame, frame + length);
		frames_in.push_back({bytes.size(), edge});
	}
	bool is_empty() const
	{
		return next == frames_in.size();
	}
	const uint8_t *beat() const
	{
		return bytes.data() + at;
	}
	size_t beat_bytes() const
	{
		return is_last() ? frames_in[next].end - at : BEAT_BYTES;
	}
	bool is_last() const
	{
		return frames_in[next].end - at <= BEAT_BYTES;
	}
	size_t frames() const
	{
		return frames_in.size() - next;
	}
	// The first clock edge at which the first frame may enter.
	uint64_t edge() const
	{
		return frames_in[next].edge;
	}
	// Moves on to the next beat. Returns true if the current beat was the last one of a frame.
	bool advance()
	{
		at += beat_bytes();
		if (at < frames_in[next].end)
			return false;
		next++;
		if (is_empty() || at >= DONE_BYTES_MAX)
			forget_done();
		return true;
	}

      private:
	struct Frame {
		size_t end; // in bytes
		uint64_t edge;
	};
	std::vector<uint8_t> bytes; // frame after frame
	std::vector<Frame> frames_in;
	size_t next = 0; // frame
	size_t at = 0;   // byte

	// Frames that have entered are removed in one move once they have this many bytes.
	static constexpr size_t DONE_BYTES_MAX = 1 << 20;

	void forget_done()
	{
		bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(at));
		frames_in.erase(frames_in.begin(),
		                frames_in.begin() + static_cast<ptrdiff_t>(next));
		for (Frame &frame : frames_in)
			frame.end -= at;
		at = next = 0;
	}
};

// The frame whose beats a pipeline is emitting.
struct Output {
	std::vector<uint8_t> frame = std::vector<uint8_t>(16384); // grows if necessary
	size_t length = 0;

	// Always copies a whole beat, which takes one load and one store; only `bytes` of it count.
	void append(const uint8_t *beat, size_t bytes)
	{
		if (frame.size() < length + BEAT_BYTES)
			frame.resize(2 * frame.size());
		std::memcpy(&frame[length], beat, BEAT_BYTES);
		length += bytes;
	}
};

#endif
