// SPDX-License-Identifier: Apache-2.0
//
// Frames on their way into a pipeline and out of it, beat by beat.
#ifndef INA_BRIDGE_RTL_FRAMES_HPP
#define INA_BRIDGE_RTL_FRAMES_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

constexpr size_t BEAT_BYTES = 64;

// Frames that wait to go into a pipeline, and the place in the first of them.
class Input
{
      public:
	// Not before `edge` of the clock.
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
	// Of the first frame.
	uint64_t edge() const
	{
		return frames_in[next].edge;
	}
	// True: that was a frame's last beat.
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

	// So much is moved once rather than in each frame.
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

// The frame that is coming out.
struct Output {
	std::vector<uint8_t> frame = std::vector<uint8_t>(16384); // enough; else it grows
	size_t length = 0;

	// Copies a whole beat, whatever of it counts: that is a load and a store.
	void append(const uint8_t *beat, size_t bytes)
	{
		if (frame.size() < length + BEAT_BYTES)
			frame.resize(2 * frame.size());
		std::memcpy(&frame[length], beat, BEAT_BYTES);
		length += bytes;
	}
};

#endif
