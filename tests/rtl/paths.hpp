// SPDX-License-Identifier: Apache-2.0
//
// The parts that the benches of both beat paths share: the headers and messages of the packets that
// these benches put in, and ports whose fields do not begin at a byte.

#ifndef INA_PATHS_HPP
#define INA_PATHS_HPP

#include "bench.hpp"

namespace paths
{

constexpr unsigned PORTS = 4, JOBS = 4;
constexpr unsigned HEADER_BITS = 672, QUADS_BITS = 9; // of an ina_pkg::header_t

/// Sets `width` bits of a port that need not start at a byte.
template <class Wide>
void put_bits(Wide &port, unsigned at, const bench::Bytes &bytes, unsigned width)
{
	for (unsigned i = 0; i < width; i++) {
		const unsigned bit = bytes[i / 8] >> (i % 8) & 1;
		const unsigned place = at + i;

		port[place / 32] = (port[place / 32] & ~(1u << place % 32)) | bit << place % 32;
	}
}

template <class Wide> unsigned get_bits(const Wide &port, unsigned at, unsigned width)
{
	unsigned value = 0;

	for (unsigned i = 0; i < width; i++)
		value |= (port[(at + i) / 32] >> ((at + i) % 32) & 1) << i;
	return value;
}

inline unsigned count(unsigned ports)
{
	return static_cast<unsigned>(__builtin_popcount(ports));
}

inline unsigned first(unsigned ports)
{
	return ports & -ports;
}

inline unsigned last(unsigned ports)
{
	return 31 - static_cast<unsigned>(__builtin_clz(ports));
}

/// The position of a packet in its message.
struct Message {
	bool starts, ends;
	uint8_t type; // enum ina_wire_type
	unsigned quads;

	/// A packet of any length, or a whole JOIN or LEAVE.
	static Message draw(bench::Random &random, bool starts)
	{
		const uint8_t type = !starts || random.chance(80) ? INA_WIRE_DATA
		                     : random.chance(60)          ? INA_WIRE_JOIN
		                                                  : INA_WIRE_LEAVE;
		const bool whole = type != INA_WIRE_DATA;
		const unsigned range = random.chance(50) ? 6 : 254;

		return {starts, whole || random.chance(50), type,
		        whole ? 3 : 3 + static_cast<unsigned>(random.below(range))};
	}

	bool is_leave() const
	{
		return type == INA_WIRE_LEAVE;
	}
	uint8_t opcode() const
	{
		return starts ? (ends ? 4 : 0) : (ends ? 2 : 1);
	}
	unsigned beats() const
	{
		return (quads + 3) / 4;
	}
	/// The number of header bytes that are equal in all packets that belong together: all bytes
	/// but the exponent and, in a JOIN, the place.
	size_t equal_bytes() const
	{
		return type == INA_WIRE_JOIN ? 24 : 28;
	}
	/// Writes a header whose other fields are random.
	void put_header(bench::Random &random, bench::Bytes &payload) const
	{
		ina_wire_header header = bench::wire_header(type);

		if (!starts)
			return;
		if (type == INA_WIRE_DATA)
			header.number_type = INA_WIRE_FLOAT32;
		if (type == INA_WIRE_JOIN)
			header.remaining_bytes = static_cast<uint32_t>(random.next());
		header.exponent = static_cast<int32_t>(random.next());
		std::memcpy(payload.data(), &header, sizeof(header));
	}
};

/// A packet's header record as a queue holds it.
struct Header {
	uint8_t mark, opcode, tos;
	unsigned quads;

	bench::Bytes bytes() const
	{
		bench::Bytes header(84, mark);

		header[66] = opcode;
		header[68] = header[69] = 0xFF; // the default partition
		header[78] = static_cast<uint8_t>(quads);
		header[79] = static_cast<uint8_t>(quads >> 8 | (tos == 3 ? 1u << 3 : 0));
		return header;
	}
	/// Checks the headers as they leave: without a UDP checksum.
	template <class Wide> void check(const Wide &headers, unsigned port) const
	{
		bench::Bytes want = bytes();

		want[64] = want[65] = 0;
		for (unsigned i = 0; i < HEADER_BITS; i++)
			CHECK(get_bits(headers, port * HEADER_BITS + i, 1) ==
			              (want[i / 8] >> (i % 8) & 1u),
			      "bit %u of the header of port %u", i, port);
	}
};

} // namespace paths

#endif
