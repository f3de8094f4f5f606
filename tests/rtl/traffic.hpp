// SPDX-License-Identifier: Apache-2.0
//
// Jobs as hosts would send them: for each rank the packets of its connection, from JOIN to LEAVE,
// and the sums that must come back, computed with this machine's arithmetic.

#ifndef INA_TRAFFIC_HPP
#define INA_TRAFFIC_HPP

#include "bench.hpp"
#include "half.hpp"

#include <algorithm>

namespace traffic
{

using bench::Bytes;

constexpr uint8_t SEND_FIRST = 0x00, SEND_MIDDLE = 0x01, SEND_LAST = 0x02, SEND_ONLY = 0x04;
constexpr uint32_t PSN_MASK = 0xFFFFFF;

struct Shape {
	unsigned window = 16;
	unsigned mtu = 256;
	unsigned messages = 10;        // DATA messages
	unsigned max_elements = 300;   // of one of them
	unsigned mismatch_percent = 0; // probability that one rank's message differs
	bool other_ids = true; // such a message may have another job id: its packets are dropped
	unsigned marked_percent = 0; // probability that a packet comes with ECN = 3
	// Number types and operations of messages, except those that may have any type.
	std::vector<uint8_t> types; // empty: any
	bool has_max_min = true;
	unsigned any_percent = 0;
	// For a job that also has ranks elsewhere: its number of ranks, and the places in the JOINs
	// of the ranks here.
	unsigned rank_count = 0; // 0: all ranks are here
	std::vector<uint32_t> places;
};

struct Segment {
	uint8_t opcode;
	Bytes payload;
};

/// A message of each rank, and their sum.
struct Message {
	std::vector<Bytes> of_rank;
	Bytes sum;
};

struct Rank {
	unsigned port;
	bench::Form form; // of all its frames
	uint16_t vlan;    // id
	uint32_t source_ip, destination_ip, qpn, first_psn;
	std::vector<Segment> segments; // packet i has PSN first_psn + i
	std::vector<uint8_t> tos;

	uint32_t psn(size_t index) const
	{
		return (first_psn + static_cast<uint32_t>(index)) & PSN_MASK;
	}
	Bytes frame(size_t index) const
	{
		bench::Packet packet;

		packet.opcode = segments[index].opcode;
		packet.source_ip = source_ip;
		packet.destination_ip = destination_ip;
		packet.qpn = qpn;
		packet.psn = psn(index);
		packet.ack = packet.opcode == 0x02 || packet.opcode == 0x04; // a message's end
		packet.tos = tos[index];
		packet.form = form;
		packet.vlan = static_cast<uint16_t>((packet.psn & 7) << 13 | vlan); // any priority
		packet.flow_label = packet.psn & 0xFFFFF;                           // any label
		packet.payload = segments[index].payload;
		return bench::make_frame(packet);
	}

	/// Does a frame belong to this connection, according to the receiver's addresses?
	bool owns(const Bytes &frame) const
	{
		if (frame.size() < form.payload() + bench::ICRC_BYTES ||
		    !(bench::form_of(frame) == form) ||
		    bench::get_be16(frame, form.ip() - 2) != (form.ipv6 ? 0x86DD : 0x0800) ||
		    (form.vlan && (bench::get_be16(frame, 14) & 0xFFF) != vlan))
			return false;
		const size_t source_end = form.source() + form.addresses_bytes() / 2;
		const size_t destination_end = form.source() + form.addresses_bytes();

		return bench::get_be32(frame, source_end - 4) == source_ip &&
		       bench::get_be32(frame, destination_end - 4) == destination_ip &&
		       (bench::get_be32(frame, form.bth() + 4) & PSN_MASK) == qpn;
	}

	/// For a frame that it owns.
	uint32_t psn_of(const Bytes &frame) const
	{
		return bench::get_be32(frame, form.bth() + 8) & PSN_MASK;
	}
};

inline Bytes make_message(const ina_wire_header &header, const std::vector<uint32_t> &elements,
                          uint32_t rank)
{
	const size_t padded = header.length_bytes + ina_wire_padding(header.length_bytes);
	Bytes message(sizeof(header) + padded + sizeof(ina_wire_trailer), 0);
	ina_wire_trailer trailer = {1, 0, header.message_number, rank};

	std::memcpy(&message[0], &header, sizeof(header));
	if (header.length_bytes > 0)
		std::memcpy(&message[sizeof(header)], elements.data(), header.length_bytes);
	std::memcpy(&message[sizeof(header) + padded], &trailer, sizeof(trailer));
	return message;
}

inline float to_float(uint32_t bits)
{
	float value;

	std::memcpy(&value, &bits, sizeof(value));
	return value;
}

inline uint32_t to_bits(float value)
{
	uint32_t bits;

	std::memcpy(&bits, &value, sizeof(bits));
	return value != value ? 0x7FC00000u : bits;
}

/// IEEE 754-2019, 9.6, maximum: any NaN makes the result a NaN, and -0 is less than +0.
inline float maximum(float a, float b)
{
	if (a != a || b != b)
		return a + b;
	if (a == b)
		return std::signbit(a) ? b : a;
	return a > b ? a : b;
}

/// Combines elements in a balanced tree by port number; ports without a rank are not operands. Two
/// 16-bit numbers share a word; each is widened to float32, and rounded after the root.
class TreeSum
{
      public:
	explicit TreeSum(const ina_wire_header &header)
	    : type(header.number_type), operation(header.operation)
	{
	}
	bool overflow = false;

	uint32_t of(const std::vector<uint32_t> &value, const std::vector<bool> &valid)
	{
		if (std::count(valid.begin(), valid.end(), true) == 1 ||
		    (type != INA_WIRE_BFLOAT16 && type != INA_WIRE_FLOAT16))
			return of_words(value, valid);
		const half::Format &format =
		        type == INA_WIRE_BFLOAT16 ? half::BFLOAT16 : half::FLOAT16;
		uint32_t word = 0;

		for (unsigned at = 0; at < 32; at += 16) {
			std::vector<uint32_t> wide;

			for (uint32_t bits : value) {
				const uint16_t number = static_cast<uint16_t>(bits >> at);

				wide.push_back(to_bits(
				        half::is_nan(number, format)
				                ? NAN
				                : static_cast<float>(half::value(number, format))));
			}
			const float sum = to_float(of_words(wide, valid));

			word |= uint32_t{half::round(static_cast<double>(sum), format)} << at;
		}
		return word;
	}

      private:
	uint8_t type, operation;

	uint32_t of_words(std::vector<uint32_t> value, std::vector<bool> valid)
	{
		size_t width = 1;

		while (width < value.size())
			width *= 2;
		value.resize(width, 0);
		valid.resize(width, false);
		for (; width > 1; width /= 2)
			for (size_t i = 0; i < width / 2; i++) {
				value[i] = add(value[2 * i], valid[2 * i], value[2 * i + 1],
				               valid[2 * i + 1]);
				valid[i] = valid[2 * i] || valid[2 * i + 1];
			}
		return value[0];
	}

	uint32_t add(uint32_t a, bool a_valid, uint32_t b, bool b_valid)
	{
		if (!a_valid || !b_valid)
			return a_valid ? a : b;
		return type == INA_WIRE_INT32
		               ? of_int32(static_cast<int32_t>(a), static_cast<int32_t>(b))
		               : to_bits(of_floats(to_float(a), to_float(b)));
	}

	uint32_t of_int32(int32_t a, int32_t b)
	{
		int32_t sum;

		if (operation == INA_WIRE_MAX)
			return static_cast<uint32_t>(std::max(a, b));
		if (operation == INA_WIRE_MIN)
			return static_cast<uint32_t>(std::min(a, b));
		overflow |= __builtin_add_overflow(a, b, &sum);
		return static_cast<uint32_t>(sum);
	}

	float of_floats(float a, float b) const
	{
		if (operation == INA_WIRE_MAX)
			return maximum(a, b);
		if (operation == INA_WIRE_MIN)
			return -maximum(-a, -b);
		return a + b;
	}
};

class Job
{
      public:
	uint64_t id;
	std::vector<Rank> ranks;
	std::vector<Message> messages;
	std::vector<size_t> message_of; // of a packet
	std::vector<size_t> offset_of;  // of a packet within its message, in bytes
	bool mismatched = false;

	size_t packets() const
	{
		return message_of.size();
	}

	/// A job of one rank on each of `ports`, in a ring. `serial` distinguishes its connections.
	Job(bench::Random &random, const std::vector<unsigned> &ports, unsigned serial,
	    const Shape &wanted)
	    : id(random.next()), shape(wanted)
	{
		for (size_t i = 0; i < ports.size(); i++) {
			Rank rank = {};

			rank.port = ports[i];
			rank.form = bench::FORMS[random.below(4)];
			rank.vlan = static_cast<uint16_t>(random.below(0x1000));
			if (rank.vlan & 1) // many in few VLANs
				rank.vlan %= 3;
			rank.source_ip = 0xC0000201 + ports[i];
			rank.destination_ip = 0xC0000201 + ports[(i + 1) % ports.size()];
			rank.qpn = 0x11 + serial;
			rank.first_psn = random.chance(30)
			                         ? PSN_MASK - static_cast<uint32_t>(random.below(8))
			                         : static_cast<uint32_t>(random.next()) & PSN_MASK;
			ranks.push_back(rank);
		}
		remaining_bytes = shape.messages * shape.max_elements * 4;
		add(random, INA_WIRE_JOIN);
		for (unsigned i = 0; i < shape.messages; i++)
			add(random, INA_WIRE_DATA);
		add(random, INA_WIRE_LEAVE);
		for (Rank &rank : ranks)
			for (size_t i = 0; i < rank.segments.size(); i++)
				rank.tos.push_back(tos(random));
	}

      private:
	Shape shape;
	uint32_t number = 0;
	uint32_t remaining_bytes;

	/// DSCP 43, with any ECN: a few packets are congested already, and a few are not
	/// ECN-capable.
	uint8_t tos(bench::Random &random) const
	{
		if (random.chance(shape.marked_percent))
			return 0xAF;
		return random.chance(10) ? static_cast<uint8_t>(0xAC + random.below(2)) : 0xAE;
	}

	/// A lane of elements of a message of this type.
	uint32_t element(bench::Random &random, uint8_t type)
	{
		if (type == INA_WIRE_INT32)
			return static_cast<uint32_t>(random.next()) >> (random.chance(90) ? 4 : 0);
		if (type == INA_WIRE_BFLOAT16)
			return uint32_t{half_element(random, half::BFLOAT16)} << 16 |
			       half_element(random, half::BFLOAT16);
		if (type == INA_WIRE_FLOAT16)
			return uint32_t{half_element(random, half::FLOAT16)} << 16 |
			       half_element(random, half::FLOAT16);
		switch (random.below(12)) {
		case 0:
			return static_cast<uint32_t>(random.next()); // any bits
		case 1:
			return 0x80000000u; // -0
		case 2:
			return static_cast<uint32_t>(random.below(1 << 23)); // subnormal
		default:
			return to_bits((static_cast<float>(random.below(1 << 24)) - (1 << 23)) /
			               static_cast<float>(1 + random.below(1000)));
		}
	}

	uint16_t half_element(bench::Random &random, const half::Format &format)
	{
		switch (random.below(12)) {
		case 0:
			return static_cast<uint16_t>(random.next()); // any bits
		case 1:
			return 0x8000u; // -0
		case 2:
			return static_cast<uint16_t>(random.below(1 << format.fraction_bits));
		default:
			return half::round(
			        (static_cast<double>(random.below(1 << 20)) - (1 << 19)) /
			                static_cast<double>(1 + random.below(1000)),
			        format);
		}
	}

	void add(bench::Random &random, uint8_t type)
	{
		const bool data = type == INA_WIRE_DATA;
		ina_wire_header header = bench::wire_header(
		        type, shape.rank_count ? shape.rank_count : ranks.size(), id);

		header.message_number = number++;
		if (type == INA_WIRE_JOIN)
			header.exponent = static_cast<int32_t>(0u - shape.window);
		if (data) {
			const bool any = shape.any_percent > 0 && random.chance(shape.any_percent);

			header.number_type =
			        any || shape.types.empty()
			                ? static_cast<uint8_t>(INA_WIRE_INT32 +
			                                       random.below(INA_WIRE_FLOAT16))
			                : shape.types[random.below(shape.types.size())];
			header.operation = INA_WIRE_SUM;
			if ((any || shape.has_max_min) && random.chance(40))
				header.operation =
				        static_cast<uint8_t>(INA_WIRE_MAX + random.below(2));
			header.length_bytes =
			        4 * static_cast<uint32_t>(random.below(shape.max_elements + 1));
			header.remaining_bytes = remaining_bytes;
			remaining_bytes -= header.length_bytes;
		}
		const size_t odd_rank = data && random.chance(shape.mismatch_percent)
		                                ? random.below(ranks.size())
		                                : ranks.size();
		std::vector<std::vector<uint32_t>> elements(ranks.size());
		Message message;

		for (size_t r = 0; r < ranks.size(); r++) {
			ina_wire_header own = header;

			for (size_t i = 0; i < header.length_bytes / 4; i++)
				elements[r].push_back(element(random, header.number_type));
			if (data)
				own.exponent = static_cast<int32_t>(random.below(400)) - 200;
			if (type == INA_WIRE_JOIN && !shape.places.empty())
				own.remaining_bytes = shape.places[r];
			if (r == odd_rank)
				spoil(random, shape, own);
			message.of_rank.push_back(
			        make_message(own, elements[r], static_cast<uint32_t>(r)));
		}
		message.sum = sum_of(message, elements, header);
		cut(message);
		messages.push_back(message);
	}

	void spoil(bench::Random &random, const Shape &shape, ina_wire_header &header)
	{
		mismatched = true;
		switch (random.below(6)) {
		case 0:
			header.number_type = static_cast<uint8_t>(random.below(6));
			break;
		case 1:
			header.operation = static_cast<uint8_t>(random.below(5));
			break;
		case 2:
			header.remaining_bytes ^= 4;
			break;
		case 3:
			header.message_number++;
			break;
		case 4:
			if (shape.other_ids)
				header.job_id ^= uint64_t{1} << random.below(64);
			else
				header.message_number += 2;
			break;
		default:
			header.type = static_cast<uint8_t>(random.below(6));
		}
	}

	Bytes sum_of(const Message &message, const std::vector<std::vector<uint32_t>> &elements,
	             const ina_wire_header &header) const
	{
		TreeSum tree(header);
		Bytes sum = message.of_rank[0];
		ina_wire_header top = header;
		size_t ports = 0;

		for (const Rank &rank : ranks)
			ports = std::max<size_t>(ports, rank.port + 1);
		for (size_t i = 0; i < header.length_bytes / 4; i++) {
			std::vector<uint32_t> values(ports, 0);
			std::vector<bool> valid(ports, false);

			for (size_t r = 0; r < ranks.size(); r++) {
				values[ranks[r].port] = elements[r][i];
				valid[ranks[r].port] = true;
			}
			const uint32_t value = tree.of(values, valid);
			std::memcpy(&sum[sizeof(header) + 4 * i], &value, 4);
		}
		for (const Bytes &own : message.of_rank) {
			int32_t exponent;

			std::memcpy(&exponent, &own[28], 4);
			top.exponent = &own == &message.of_rank[0]
			                       ? exponent
			                       : std::max(top.exponent, exponent);
		}
		if (header.type == INA_WIRE_JOIN)
			top.exponent = std::max(top.exponent, -static_cast<int32_t>(granted()));
		std::memcpy(&sum[0], &top, sizeof(top));
		ina_wire_trailer trailer = {static_cast<uint32_t>(ranks.size()),
		                            tree.overflow ? uint32_t{INA_WIRE_OVERFLOW} : 0u,
		                            header.message_number,
		                            static_cast<uint32_t>(ranks.size() - 1)};
		std::memcpy(&sum[sum.size() - sizeof(trailer)], &trailer, sizeof(trailer));
		return sum;
	}

	/// The window that an aggregator with enough room grants.
	unsigned granted() const
	{
		unsigned window = 1;

		while (2 * window <= std::min<unsigned>(shape.window, INA_SLOT_COUNT))
			window *= 2;
		return window;
	}

	void cut(const Message &message)
	{
		const size_t size = message.sum.size();

		for (size_t at = 0; at < size; at += shape.mtu) {
			const size_t count = std::min<size_t>(shape.mtu, size - at);
			const bool first = at == 0, last = at + count == size;

			for (size_t r = 0; r < ranks.size(); r++) {
				Segment segment;

				segment.opcode = first ? (last ? SEND_ONLY : SEND_FIRST)
				                       : (last ? SEND_LAST : SEND_MIDDLE);
				segment.payload.assign(message.of_rank[r].begin() + at,
				                       message.of_rank[r].begin() + at + count);
				ranks[r].segments.push_back(segment);
			}
			message_of.push_back(messages.size());
			offset_of.push_back(at);
		}
	}
};

/// A job under way. A bench's Connection counts in `delivered` what its receiver has got.
template <class Connection> struct Running {
	Job job;
	std::vector<Connection> connections;

	bool done() const
	{
		for (const Connection &connection : connections)
			if (connection.delivered < job.packets())
				return false;
		return true;
	}
};

} // namespace traffic

#endif
