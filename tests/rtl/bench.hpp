// SPDX-License-Identifier: Apache-2.0
//
// What every bench shares: a clock driven by hand, a seed that is printed, checks that say where
// and in which clock they failed, byte access to wide ports, and RoCEv2 frames made with zlib's
// CRC-32 as the independent reference.
//
// A bench sets inputs, calls settle() if it needs an output that depends on them in the same
// clock, and then tick().

#ifndef INA_BENCH_HPP
#define INA_BENCH_HPP

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>
#include <zlib.h>

namespace bench
{

constexpr size_t BEAT_BYTES = 64;
constexpr size_t HEADER_BYTES = 54;
constexpr size_t ICRC_BYTES = 4;

using Bytes = std::vector<uint8_t>;

/// The seed of this run: INA_SEED from the environment, else a random one; printed either way.
inline uint64_t seed()
{
	const char *text = std::getenv("INA_SEED");
	uint64_t value = text ? std::strtoull(text, nullptr, 0) : std::random_device()();

	std::printf("INA_SEED=%llu\n", static_cast<unsigned long long>(value));
	std::fflush(stdout);
	return value;
}

/// A small generator (SplitMix64), the same on every machine.
class Random
{
      public:
	explicit Random(uint64_t seed) : state(seed)
	{
	}
	uint64_t next()
	{
		uint64_t z = (state += 0x9E3779B97F4A7C15u);

		z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
		z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
		return z ^ (z >> 31);
	}
	/// Uniform enough in [0, bound).
	uint64_t below(uint64_t bound)
	{
		return next() % bound;
	}
	/// True in `percent` of 100 cases.
	bool chance(unsigned percent)
	{
		return below(100) < percent;
	}
	Bytes bytes(size_t count)
	{
		Bytes out(count);

		for (uint8_t &byte : out)
			byte = static_cast<uint8_t>(next());
		return out;
	}

      private:
	uint64_t state;
};

[[noreturn, gnu::format(printf, 3, 4)]] inline void fail(const char *file, int line,
                                                         const char *format, ...)
{
	va_list list;

	std::fprintf(stderr, "%s:%d: ", file, line);
	va_start(list, format);
	std::vfprintf(stderr, format, list);
	va_end(list);
	std::fprintf(stderr, "\n");
	std::exit(1);
}

/// CHECK(condition, "format", ...): ends the bench with the message where the condition is false.
#define CHECK(condition, ...)                                                                      \
	do {                                                                                       \
		if (!(condition))                                                                  \
			bench::fail(__FILE__, __LINE__, __VA_ARGS__);                              \
	} while (0)

/// A Verilated module and its clock. `clocks` counts them from the end of the reset.
template <class Module> struct Dut {
	Module top;
	uint64_t clocks = 0;

	Module *operator->()
	{
		return &top;
	}
	/// Lets combinational outputs follow the inputs.
	void settle()
	{
		top.clk = 0;
		top.eval();
	}
	/// One clock: the rising edge takes the inputs as they are now; outputs are those after it.
	void tick()
	{
		settle();
		top.clk = 1;
		top.eval();
		clocks++;
	}
	/// Four clocks of reset. All inputs must have been given their idle values.
	void reset()
	{
		top.rst = 1;
		for (int i = 0; i < 4; i++)
			tick();
		top.rst = 0;
		clocks = 0;
	}
};

/// Sets `count` bytes of a wide port from byte `at` on (byte 0 is bits [7:0]). The rest stays.
template <class Wide> void put(Wide &port, size_t at, const void *source, size_t count)
{
	std::memcpy(reinterpret_cast<uint8_t *>(&port[0]) + at, source, count);
}

/// Reads `count` bytes of a wide port from byte `at` on.
template <class Wide> Bytes get(const Wide &port, size_t at, size_t count)
{
	const uint8_t *bytes = reinterpret_cast<const uint8_t *>(&port[0]) + at;

	return Bytes(bytes, bytes + count);
}

/// Sets an ina_pkg::header_t port: 54 bytes of frame and the payload's quads.
template <class Wide> void put_header(Wide &port, const Bytes &frame, unsigned quads)
{
	const uint16_t field = static_cast<uint16_t>(quads);

	put(port, 0, frame.data(), HEADER_BYTES);
	put(port, HEADER_BYTES, &field, sizeof(field));
}

/// tkeep of a beat with `count` valid bytes, 1 to 64.
inline uint64_t keep_mask(size_t count)
{
	return count >= BEAT_BYTES ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

inline uint16_t get_be16(const Bytes &frame, size_t at)
{
	return static_cast<uint16_t>(frame[at] << 8 | frame[at + 1]);
}

inline void put_be16(Bytes &frame, size_t at, unsigned value)
{
	frame[at] = static_cast<uint8_t>(value >> 8);
	frame[at + 1] = static_cast<uint8_t>(value);
}

/// The IPv4 header checksum of a frame, as it must stand in bytes 24 and 25 (RFC 791).
inline uint16_t ip_checksum(const Bytes &frame)
{
	uint32_t sum = 0;

	for (size_t at = 14; at < 34; at += 2)
		sum += at == 24 ? 0 : get_be16(frame, at);
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

/// The iCRC of a frame whose last four bytes are (or will be) it: IBTA vol. 1, 7.8.1 and annex
/// A17.3.3: CRC-32 over 8 bytes of ones, then the packet from the IP header on with the fields
/// that may change on the way read as ones.
inline uint32_t icrc(const Bytes &frame)
{
	Bytes masked(8, 0xFF);

	masked.insert(masked.end(), frame.begin() + 14, frame.end() - ICRC_BYTES);
	for (size_t at : {15, 22, 24, 25, 40, 41, 46})
		masked[8 + at - 14] = 0xFF;
	return static_cast<uint32_t>(crc32(0, masked.data(), static_cast<uInt>(masked.size())));
}

/// The CRC register after the payload alone, from 0: what ina_payload_crc gives. zlib starts from
/// ones and complements at the end: both drop out of the difference of two CRCs.
inline uint32_t register_after(const Bytes &payload)
{
	const Bytes zeros(payload.size(), 0);
	const uInt size = static_cast<uInt>(payload.size());

	return static_cast<uint32_t>(crc32(0, payload.data(), size) ^ crc32(0, zeros.data(), size));
}

/// Writes the right iCRC into a frame's last four bytes.
inline void seal(Bytes &frame)
{
	const uint32_t value = icrc(frame);

	std::memcpy(&frame[frame.size() - ICRC_BYTES], &value, ICRC_BYTES);
}

/// What tells one flow from another, and one packet from the next.
struct Packet {
	uint8_t opcode = 0x04; // SEND Only
	uint32_t source_ip = 0xC0000201;
	uint32_t destination_ip = 0xC0000202;
	uint32_t qpn = 0x000011;
	uint32_t psn = 0;
	uint8_t tos = 0xAE;
	Bytes payload;
};

/// A RoCEv2 frame with the packet's payload, right lengths, IP checksum and iCRC.
inline Bytes make_frame(const Packet &packet)
{
	Bytes frame(HEADER_BYTES, 0);
	const unsigned udp_length = static_cast<unsigned>(8 + 12 + packet.payload.size() + 4);

	frame[0] = 0x02; // 02:00:00:00:00:02 from 02:00:00:00:00:01
	frame[5] = 0x02;
	frame[6] = 0x02;
	frame[11] = 0x01;
	put_be16(frame, 12, 0x0800);
	frame[14] = 0x45;
	frame[15] = packet.tos;
	put_be16(frame, 16, udp_length + 20);
	put_be16(frame, 20, 0x4000); // don't fragment
	frame[22] = 64;
	frame[23] = 17;
	put_be16(frame, 26, packet.source_ip >> 16);
	put_be16(frame, 28, packet.source_ip & 0xFFFF);
	put_be16(frame, 30, packet.destination_ip >> 16);
	put_be16(frame, 32, packet.destination_ip & 0xFFFF);
	put_be16(frame, 34, 0xC000);
	put_be16(frame, 36, 4791);
	put_be16(frame, 38, udp_length);
	frame[42] = packet.opcode;
	put_be16(frame, 44, 0xFFFF); // the default partition
	frame[47] = static_cast<uint8_t>(packet.qpn >> 16);
	put_be16(frame, 48, packet.qpn & 0xFFFF);
	frame[51] = static_cast<uint8_t>(packet.psn >> 16);
	put_be16(frame, 52, packet.psn & 0xFFFF);
	put_be16(frame, 24, ip_checksum(frame));
	frame.insert(frame.end(), packet.payload.begin(), packet.payload.end());
	frame.resize(frame.size() + ICRC_BYTES);
	seal(frame);
	return frame;
}

/// Beat `index` of a frame on a wide tdata port (bytes past the end zero); returns its tkeep.
template <class Wide> uint64_t put_beat(Wide &tdata, const Bytes &frame, size_t index)
{
	const size_t at = index * BEAT_BYTES;
	const size_t count = frame.size() - at < BEAT_BYTES ? frame.size() - at : BEAT_BYTES;
	uint8_t beat[BEAT_BYTES] = {};

	std::memcpy(beat, &frame[at], count);
	put(tdata, 0, beat, BEAT_BYTES);
	return keep_mask(count);
}

inline size_t beats_of(const Bytes &frame)
{
	return (frame.size() + BEAT_BYTES - 1) / BEAT_BYTES;
}

} // namespace bench

#endif
