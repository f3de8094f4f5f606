// SPDX-License-Identifier: Apache-2.0
//
// The parts that every bench shares: a clock that the bench turns, a seed that is printed, checks
// that report their place and clock when they fail, byte access to wide ports, and RoCEv2 frames
// made with zlib's CRC-32 as the independent reference.
//
// A bench sets inputs, calls settle() if it needs an output that depends on them in the same clock,
// and then calls tick().

#ifndef INA_BENCH_HPP
#define INA_BENCH_HPP

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>
#include <zlib.h>

#include "wire/ina_wire.h"

namespace bench
{

constexpr size_t BEAT_BYTES = 64;
constexpr size_t RECORD_BYTES = 78; // of an ina_pkg::header_t
constexpr size_t QUADS_BITS = 9;
constexpr size_t FLAGS_BITS = QUADS_BITS + 3; // bits of an ina_pkg::header_t between record and CRC
constexpr size_t HEADER_BYTES = 84;           // bytes of a whole header_t
constexpr size_t ICRC_BYTES = 4;

using Bytes = std::vector<uint8_t>;

/// The seed of this run: INA_SEED from the environment, or a random one. It is printed in both
/// cases.
inline uint64_t seed()
{
	const char *text = std::getenv("INA_SEED");
	uint64_t value = text ? std::strtoull(text, nullptr, 0) : std::random_device()();

	std::printf("INA_SEED=%llu\n", static_cast<unsigned long long>(value));
	std::fflush(stdout);
	return value;
}

/// A small generator (SplitMix64), which gives the same numbers on every machine.
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
	/// A number in [0, bound), close enough to uniform.
	uint64_t below(uint64_t bound)
	{
		return next() % bound;
	}
	/// True in `percent` of 100 cases, on average.
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

/// CHECK(condition, "format", ...) ends the bench with the message if the condition is false.
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
	/// Lets the combinational outputs follow the inputs.
	void settle()
	{
		top.clk = 0;
		top.eval();
	}
	/// Runs one clock: the rising edge takes the inputs as they are now, and the outputs are
	/// those after the edge.
	void tick()
	{
		settle();
		top.clk = 1;
		top.eval();
		clocks++;
	}
	/// Resets for four clocks. The caller has given all inputs their idle values before.
	void reset()
	{
		top.rst = 1;
		for (int i = 0; i < 4; i++)
			tick();
		top.rst = 0;
		clocks = 0;
	}
};

/// Sets a port of up to 64 bits, whatever its type is.
template <class Narrow> void set(Narrow &port, uint64_t value)
{
	port = static_cast<Narrow>(value);
}

/// Sets `width` bits of a port of any width, from bit `at` on. The other bits keep their values.
template <class Port> void set_bits(Port &port, size_t at, size_t width, uint64_t value)
{
	uint8_t *bytes = reinterpret_cast<uint8_t *>(&port);

	for (size_t i = at; i < at + width; i++, value >>= 1)
		bytes[i / 8] = static_cast<uint8_t>((bytes[i / 8] & ~(1u << i % 8)) |
		                                    (value & 1) << i % 8);
}

/// The number of bits of a number below `count`.
constexpr unsigned width_of(uint64_t count)
{
	unsigned width = 0;

	while (uint64_t{1} << width < count)
		width++;
	return width;
}

/// Sets `count` bytes of a wide port, from byte `at` on (byte 0 is bits [7:0]). The other bytes
/// keep their values.
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

/// tkeep of a beat with `count` valid bytes, 1 to 64.
inline uint64_t keep_mask(size_t count)
{
	return count >= BEAT_BYTES ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

inline uint16_t get_be16(const Bytes &frame, size_t at)
{
	return static_cast<uint16_t>(frame[at] << 8 | frame[at + 1]);
}

inline uint32_t get_be32(const Bytes &frame, size_t at)
{
	return uint32_t{get_be16(frame, at)} << 16 | get_be16(frame, at + 2);
}

/// A retransmission as ina_pkg::resend_t has it.
struct Resend {
	static constexpr unsigned WIDTH = 48;
	unsigned probe, job, slot, ordinal, quads;
	unsigned part = 0;

	uint64_t bits() const
	{
		return uint64_t{probe} << 47 | uint64_t{part} << 46 | uint64_t{job} << 40 |
		       uint64_t{slot} << 25 | uint64_t{ordinal} << 9 | quads;
	}
	static Resend of(uint64_t bits)
	{
		return {static_cast<unsigned>(bits >> 47 & 1),
		        static_cast<unsigned>(bits >> 40 & 63),
		        static_cast<unsigned>(bits >> 25 & 0x7FFF),
		        static_cast<unsigned>(bits >> 9 & 0xFFFF),
		        static_cast<unsigned>(bits & 511),
		        static_cast<unsigned>(bits >> 46 & 1)};
	}
};

inline void put_be16(Bytes &frame, size_t at, unsigned value)
{
	frame[at] = static_cast<uint8_t>(value >> 8);
	frame[at + 1] = static_cast<uint8_t>(value);
}

/// One of the four forms of a frame that the aggregator knows, and the offsets of its headers.
struct Form {
	bool ipv6 = false, vlan = false;

	size_t ip() const
	{
		return vlan ? 18 : 14;
	}
	size_t udp() const
	{
		return ip() + (ipv6 ? 40 : 20);
	}
	size_t bth() const
	{
		return udp() + 8;
	}
	size_t payload() const
	{
		return bth() + 12;
	}
	size_t source() const
	{
		return ip() + (ipv6 ? 8 : 12);
	}
	size_t addresses_bytes() const
	{
		return ipv6 ? 32 : 8;
	}
	const char *name() const
	{
		return ipv6 ? vlan ? "IPv6 with VLAN" : "IPv6" : vlan ? "IPv4 with VLAN" : "IPv4";
	}
	bool operator==(const Form &other) const
	{
		return ipv6 == other.ipv6 && vlan == other.vlan;
	}
};

constexpr Form FORMS[] = {{false, false}, {false, true}, {true, false}, {true, true}};

/// The form according to a frame's EtherTypes. A frame that is not IPv6 is treated as IPv4.
inline Form form_of(const Bytes &frame)
{
	Form form;

	form.vlan = frame.size() >= 18 && get_be16(frame, 12) == 0x8100;
	const size_t type = form.vlan ? 16 : 12;
	form.ipv6 = frame.size() >= type + 2 && get_be16(frame, type) == 0x86DD;
	return form;
}

/// Does a frame's IP header say "congestion experienced" (RFC 3168)?
inline bool is_congested(const Bytes &frame)
{
	const Form form = form_of(frame);
	const uint8_t tos = frame[form.ip() + 1];

	return ((form.ipv6 ? tos >> 4 : tos) & 3) == 3;
}

/// Does a frame say that its ends know ECN: ECT(0), ECT(1) or congestion experienced?
inline bool is_ecn_capable(const Bytes &frame)
{
	const Form form = form_of(frame);
	const uint8_t tos = frame[form.ip() + 1];

	return ((form.ipv6 ? tos >> 4 : tos) & 3) != 0;
}

/// The header record that ina_parse makes of a whole frame's headers, in the layout of ina_pkg.
inline Bytes record_of(const Bytes &frame)
{
	const Form form = form_of(frame);
	const auto at = [&frame](size_t index) { return frame.begin() + static_cast<long>(index); };
	Bytes record(RECORD_BYTES, 0);

	std::copy(at(0), at(12), record.begin());
	if (form.vlan)
		std::copy(at(12), at(16), record.begin() + 12);
	std::copy(at(form.ip() - 2), at(form.ip()), record.begin() + 16);
	std::copy(at(form.ip()), at(form.payload()),
	          record.end() - static_cast<long>(form.payload() - form.ip()));
	return record;
}

/// The fields of an ina_pkg::header_t above its bytes.
inline uint16_t header_flags(const Bytes &frame, size_t quads)
{
	const Form form = form_of(frame);

	return static_cast<uint16_t>(quads | size_t{form.vlan} << QUADS_BITS |
	                             size_t{form.ipv6} << (QUADS_BITS + 1) |
	                             size_t{is_congested(frame)} << (QUADS_BITS + 2));
}

/// Sets an ina_pkg::header_t port from a frame's headers, the number of quads of its payload and,
/// if it is used, the CRC register after the headers (header_crc).
template <class Wide>
void put_header(Wide &port, const Bytes &frame, size_t quads, uint32_t crc = 0)
{
	const Bytes record = record_of(frame);
	const uint64_t flags = header_flags(frame, quads) | uint64_t{crc} << FLAGS_BITS;

	put(port, 0, record.data(), RECORD_BYTES);
	put(port, RECORD_BYTES, &flags, HEADER_BYTES - RECORD_BYTES);
}

/// The CRC register of an ina_pkg::header_t port.
template <class Wide> uint32_t get_header_crc(const Wide &port)
{
	const Bytes bytes = get(port, RECORD_BYTES, HEADER_BYTES - RECORD_BYTES);
	uint64_t flags = 0;

	std::memcpy(&flags, bytes.data(), bytes.size());
	return static_cast<uint32_t>(flags >> FLAGS_BITS);
}

/// The correct IPv4 header checksum of a frame (RFC 791).
inline uint16_t ip_checksum(const Bytes &frame)
{
	const size_t ip = form_of(frame).ip();
	uint32_t sum = 0;

	for (size_t at = ip; at < ip + 20; at += 2)
		sum += at == ip + 10 ? 0 : get_be16(frame, at);
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return static_cast<uint16_t>(~sum);
}

/// Writes that checksum, if the frame is IPv4.
inline void put_ip_checksum(Bytes &frame)
{
	const Form form = form_of(frame);

	if (!form.ipv6)
		put_be16(frame, form.ip() + 10, ip_checksum(frame));
}

/// Sets a frame's UDP length, and the length of its IP header accordingly.
inline void put_lengths(Bytes &frame, size_t udp_length)
{
	const Form form = form_of(frame);

	put_be16(frame, form.udp() + 4, static_cast<unsigned>(udp_length));
	put_be16(frame, form.ip() + (form.ipv6 ? 4 : 2),
	         static_cast<unsigned>(udp_length + (form.ipv6 ? 0 : 20)));
}

/// Sets congestion experienced, and updates the IP header checksum.
inline void put_congested(Bytes &frame)
{
	const Form form = form_of(frame);

	frame[form.ip() + 1] |= form.ipv6 ? 0x30 : 0x03;
	put_ip_checksum(frame);
}

/// A frame from its IP header on, with ones in each bit that may change on the way (IBTA vol. 1,
/// annex A17.3.3): traffic class, flow label, hop limit; TOS, TTL, header checksum; UDP checksum,
/// BTH resv8a.
inline Bytes with_ones(const Bytes &frame)
{
	const Form form = form_of(frame);
	Bytes masked = frame;

	if (form.ipv6) {
		masked[form.ip()] |= 0x0F;
		for (size_t at : {1, 2, 3, 7})
			masked[form.ip() + at] = 0xFF;
	} else {
		for (size_t at : {1, 8, 10, 11})
			masked[form.ip() + at] = 0xFF;
	}
	masked[form.udp() + 6] = masked[form.udp() + 7] = 0xFF;
	masked[form.bth() + 4] = 0xFF;
	masked.erase(masked.begin(), masked.begin() + static_cast<long>(form.ip()));
	return masked;
}

/// The iCRC of a frame whose last four bytes hold it, or are reserved for it (IBTA vol. 1, 7.8.1
/// and annex A17.3.3). It is the CRC-32 over 8 bytes of ones and the packet from the IP header on,
/// in which the fields that may change on the way are read as ones.
inline uint32_t icrc(const Bytes &frame)
{
	const Bytes ones(8, 0xFF), masked = with_ones(frame);
	const uLong crc = crc32(0, ones.data(), 8);

	return static_cast<uint32_t>(
	        crc32(crc, masked.data(), static_cast<uInt>(masked.size() - ICRC_BYTES)));
}

/// The CRC register after the headers of a frame, where the payload begins. zlib applies neither
/// its start value nor its complement here.
inline uint32_t header_crc(const Bytes &frame)
{
	const Form form = form_of(frame);
	const Bytes ones(8, 0xFF), masked = with_ones(frame);
	const uLong crc = crc32(0, ones.data(), 8);

	return ~static_cast<uint32_t>(
	        crc32(crc, masked.data(), static_cast<uInt>(form.payload() - form.ip())));
}

/// The CRC register after the payload alone, from start value 0: the result that ina_payload_crc
/// gives. zlib starts from ones and complements at the end; both cancel out in the difference of
/// two CRCs.
inline uint32_t register_after(const Bytes &payload)
{
	const Bytes zeros(payload.size(), 0);
	const uInt size = static_cast<uInt>(payload.size());

	return static_cast<uint32_t>(crc32(0, payload.data(), size) ^ crc32(0, zeros.data(), size));
}

/// Writes the correct iCRC into a frame's last four bytes.
inline void seal(Bytes &frame)
{
	const uint32_t value = icrc(frame);

	std::memcpy(&frame[frame.size() - ICRC_BYTES], &value, ICRC_BYTES);
}

/// The fields that distinguish one flow from another, and one packet from the next.
struct Packet {
	uint8_t opcode = 0x04;           // SEND Only
	uint32_t source_ip = 0xC0000201; // with IPv6 the last four bytes, after 2001:db8::
	uint32_t destination_ip = 0xC0000202;
	uint32_t qpn = 0x000011;
	uint32_t psn = 0;
	bool ack = false;   // AckReq
	uint8_t tos = 0xAE; // with IPv6 the traffic class
	Form form;
	uint16_t vlan = 0x2007; // tag control information: priority 1, VLAN 7
	uint32_t flow_label = 0;
	Bytes payload;
};

/// The header of a message of the aggregation; DATA are int32 to be summed.
inline ina_wire_header wire_header(uint8_t type, size_t rank_count = 0, uint64_t job_id = 0)
{
	ina_wire_header header = {};

	header.magic = INA_WIRE_MAGIC;
	header.version = INA_WIRE_VERSION;
	header.type = type;
	header.rank_count = static_cast<uint16_t>(rank_count);
	header.job_id = job_id;
	if (type == INA_WIRE_DATA) {
		header.number_type = INA_WIRE_INT32;
		header.operation = INA_WIRE_SUM;
	}
	return header;
}

inline void put_be32(Bytes &frame, size_t at, uint32_t value)
{
	put_be16(frame, at, value >> 16);
	put_be16(frame, at + 2, value & 0xFFFF);
}

/// Writes the IP header of a packet (RFC 791; RFC 8200).
inline void put_ip(Bytes &frame, const Packet &packet)
{
	const size_t ip = packet.form.ip();

	if (packet.form.ipv6) {
		put_be32(frame, ip, 6u << 28 | uint32_t{packet.tos} << 20 | packet.flow_label);
		frame[ip + 6] = 17;
		frame[ip + 7] = 64;
		put_be32(frame, ip + 8, 0x20010DB8);
		put_be32(frame, ip + 20, packet.source_ip);
		put_be32(frame, ip + 24, 0x20010DB8);
		put_be32(frame, ip + 36, packet.destination_ip);
		return;
	}
	frame[ip] = 0x45;
	frame[ip + 1] = packet.tos;
	put_be16(frame, ip + 6, 0x4000); // don't fragment
	frame[ip + 8] = 64;
	frame[ip + 9] = 17;
	put_be32(frame, ip + 12, packet.source_ip);
	put_be32(frame, ip + 16, packet.destination_ip);
}

/// A RoCEv2 frame with the packet's payload, correct lengths, IP checksum and iCRC.
inline Bytes make_frame(const Packet &packet)
{
	const size_t udp = packet.form.udp(), bth = packet.form.bth();
	Bytes frame(packet.form.payload(), 0);

	frame[0] = 0x02; // 02:00:00:00:00:02 from 02:00:00:00:00:01
	frame[5] = 0x02;
	frame[6] = 0x02;
	frame[11] = 0x01;
	if (packet.form.vlan) {
		put_be16(frame, 12, 0x8100);
		put_be16(frame, 14, packet.vlan);
	}
	put_be16(frame, packet.form.ip() - 2, packet.form.ipv6 ? 0x86DD : 0x0800);
	put_ip(frame, packet);
	put_be16(frame, udp, 0xC000);
	put_be16(frame, udp + 2, 4791);
	put_lengths(frame, 8 + 12 + packet.payload.size() + ICRC_BYTES);
	frame[bth] = packet.opcode;
	put_be16(frame, bth + 2, 0xFFFF); // the default partition
	put_be32(frame, bth + 4, packet.qpn);
	put_be32(frame, bth + 8, uint32_t{packet.ack} << 31 | packet.psn);
	put_ip_checksum(frame);
	frame.insert(frame.end(), packet.payload.begin(), packet.payload.end());
	frame.resize(frame.size() + ICRC_BYTES);
	seal(frame);
	return frame;
}

/// Puts beat `index` of a frame on a wide tdata port, with zeros past the end, and returns its
/// tkeep.
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

/// The frames that must come out of a stream, in order, beat by beat.
class ExpectedFrames
{
      public:
	std::deque<Bytes> frames;

	/// A beat that is taken. Returns whether it ended a frame.
	template <class Wide> bool take(const Wide &tdata, uint64_t tkeep, bool tlast)
	{
		CHECK(!frames.empty(), "a frame too many");
		const Bytes &frame = frames.front();
		const size_t at = taken++ * BEAT_BYTES;
		const size_t count = std::min(frame.size() - at, BEAT_BYTES);
		const Bytes beat = get(tdata, 0, count);

		CHECK(tkeep == keep_mask(count), "tkeep differs");
		for (size_t i = 0; i < count; i++)
			CHECK(beat[i] == frame[at + i], "byte %zu of %zu is %02x, not %02x", at + i,
			      frame.size(), beat[i], frame[at + i]);
		CHECK(tlast == (taken == beats_of(frame)), "tlast at beat %zu", taken);
		if (!tlast)
			return false;
		taken = 0;
		frames.pop_front();
		return true;
	}

      private:
	size_t taken = 0; // beats of the first frame
};

} // namespace bench

#endif
