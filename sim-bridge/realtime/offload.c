/* SPDX-License-Identifier: Apache-2.0 */
/* The segments are those of the kernel's skb_gso_segment(). */
#include "offload.h"

#include <arpa/inet.h>
#include <string.h>

#include "common/headers.h"

enum {
	GSO_UDP_L4 = 5, /* VIRTIO_NET_HDR_GSO_UDP_L4, which Linux 6.1's header does not have */
	ETHERTYPE_QINQ = 0x88A8,
	TAGS_MAX = 2,
	PROTOCOL_TCP = 6,
	IPV4_ID_AT = 4,
	TCP_SEQUENCE_AT = 4,
	TCP_LENGTH_AT = 12, /* in units of 4 bytes, in the upper half of this byte */
	TCP_FLAGS_AT = 13,
	TCP_CHECKSUM_AT = 16,
	TCP_BYTES = 20,
	TCP_FIN = 0x01,
	TCP_PSH = 0x08,
	TCP_CWR = 0x80,
	SCTP_CHECKSUM_AT = 8,
};

/*
 * The sum of the Internet checksum (RFC 1071), from which fold() makes the checksum. It has the
 * byte order of memory, so the checksum is copied to memory as it is.
 */
static uint64_t add(uint64_t sum, const uint8_t *bytes, unsigned count)
{
	uint32_t word;

	for (; count >= sizeof(word); bytes += sizeof(word), count -= (unsigned)sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		sum += word;
	}
	word = 0;
	memcpy(&word, bytes, count);
	return sum + word;
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put_checksum(uint8_t *at, uint64_t sum, bool is_udp)
{
	uint16_t checksum = fold(sum);

	if (is_udp && checksum == 0)
		checksum = 0xFFFF; /* the same number; 0 means in UDP that there is no checksum */
	memcpy(at, &checksum, sizeof(checksum));
}

bool offload_complete(const struct virtio_net_hdr *work, uint8_t *frame, unsigned length)
{
	const unsigned start = work->csum_start, at = start + work->csum_offset;

	if (!(work->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return true;
	if (at + sizeof(uint16_t) > length || work->csum_offset == SCTP_CHECKSUM_AT)
		return false;
	/* The field has the sum of the pseudo-header. */
	put_checksum(frame + at, add(0, frame + start, length - start),
	             work->csum_offset == PACKET_UDP_CHECKSUM_AT);
	return true;
}

/* Sets ip_at and is_ipv6. Returns false if the frame is not IP. */
static bool find_ip(struct offload_cut *cut, unsigned length)
{
	unsigned at = PACKET_ETHERTYPE_AT;

	for (unsigned tags = 0;; tags++, at += PACKET_VLAN_BYTES) {
		if (length < at + 2 + PACKET_IPV4_BYTES)
			return false;
		const unsigned type = packet_be16(cut->frame + at);

		if ((type == PACKET_ETHERTYPE_VLAN || type == ETHERTYPE_QINQ) && tags < TAGS_MAX)
			continue;
		cut->ip_at = at + 2;
		cut->is_ipv6 = type == PACKET_ETHERTYPE_IPV6;
		return type == PACKET_ETHERTYPE_IPV4 || type == PACKET_ETHERTYPE_IPV6;
	}
}

/* Sets transport_at. Returns the protocol there. */
static unsigned find_transport(struct offload_cut *cut)
{
	const uint8_t *ip = cut->frame + cut->ip_at;

	if (cut->is_ipv6) {
		cut->transport_at = cut->ip_at + PACKET_IPV6_BYTES;
		return ip[PACKET_IPV6_NEXT_AT];
	}
	cut->transport_at = cut->ip_at + (ip[0] & 0x0F) * 4u;
	return ip[PACKET_IPV4_PROTOCOL_AT];
}

bool offload_cut_open(struct offload_cut *cut, const struct virtio_net_hdr *work,
                      const uint8_t *frame, unsigned length, unsigned room_bytes)
{
	const unsigned type = work->gso_type & (unsigned)~VIRTIO_NET_HDR_GSO_ECN;

	*cut = (struct offload_cut){.frame = frame, .segment_bytes = work->gso_size};
	if (!find_ip(cut, length))
		return false;
	const unsigned protocol = find_transport(cut);
	const uint8_t *transport = frame + cut->transport_at;

	cut->is_udp = type == GSO_UDP_L4;
	if (protocol != (cut->is_udp ? PACKET_PROTOCOL_UDP : PROTOCOL_TCP) ||
	    (!cut->is_udp &&
	     type != (cut->is_ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6 : VIRTIO_NET_HDR_GSO_TCPV4)))
		return false;
	/* In a tunnel the checksum's start is that of the inner packet. */
	if (work->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM && work->csum_start != cut->transport_at)
		return false;
	const unsigned least_bytes = cut->is_udp ? PACKET_UDP_BYTES : TCP_BYTES;

	if (length < cut->transport_at + least_bytes)
		return false;
	const unsigned bytes = cut->is_udp ? least_bytes : (transport[TCP_LENGTH_AT] >> 4) * 4u;

	cut->header_bytes = cut->transport_at + bytes;
	if (cut->transport_at < cut->ip_at + PACKET_IPV4_BYTES || bytes < least_bytes ||
	    length <= cut->header_bytes || cut->segment_bytes == 0 ||
	    cut->header_bytes + cut->segment_bytes > room_bytes)
		return false;
	cut->payload_bytes = length - cut->header_bytes;
	return true;
}

/* `bytes`: the length of the IP packet. */
static void fit_ip(const struct offload_cut *cut, uint8_t *ip, unsigned bytes)
{
	if (cut->is_ipv6) {
		packet_put_be16(ip + PACKET_IPV6_LENGTH_AT, bytes - PACKET_IPV6_BYTES);
		return;
	}
	packet_put_be16(ip + PACKET_IPV4_LENGTH_AT, bytes);
	packet_put_be16(ip + IPV4_ID_AT, packet_be16(ip + IPV4_ID_AT) + cut->count);
	packet_put_be16(ip + PACKET_IPV4_CHECKSUM_AT, 0);
	put_checksum(ip + PACKET_IPV4_CHECKSUM_AT, add(0, ip, cut->transport_at - cut->ip_at),
	             false);
}

static void fit_tcp(const struct offload_cut *cut, uint8_t *tcp, bool is_last)
{
	uint32_t sequence;

	memcpy(&sequence, tcp + TCP_SEQUENCE_AT, sizeof(sequence));
	sequence = htonl(ntohl(sequence) + cut->sent_bytes);
	memcpy(tcp + TCP_SEQUENCE_AT, &sequence, sizeof(sequence));
	if (!is_last)
		tcp[TCP_FLAGS_AT] &= (uint8_t) ~(TCP_FIN | TCP_PSH);
	if (cut->count > 0)
		tcp[TCP_FLAGS_AT] &= (uint8_t)~TCP_CWR;
}

/* `bytes`: the length of the transport header and its payload. */
static void fit_checksum(const struct offload_cut *cut, uint8_t *segment, unsigned bytes)
{
	uint8_t *transport = segment + cut->transport_at;
	uint8_t *checksum = transport + (cut->is_udp ? PACKET_UDP_CHECKSUM_AT : TCP_CHECKSUM_AT);
	const uint8_t *ip = segment + cut->ip_at;
	uint64_t sum = htons(cut->is_udp ? PACKET_PROTOCOL_UDP : PROTOCOL_TCP);

	sum += htons((uint16_t)bytes);
	/* The source's address and the destination's follow each other. */
	sum = cut->is_ipv6 ? add(sum, ip + PACKET_IPV6_SOURCE_AT, 32)
	                   : add(sum, ip + PACKET_IPV4_SOURCE_AT, 8);
	memset(checksum, 0, sizeof(uint16_t));
	put_checksum(checksum, add(sum, transport, bytes), cut->is_udp);
}

unsigned offload_cut_next(struct offload_cut *cut, uint8_t *segment)
{
	const unsigned left = cut->payload_bytes - cut->sent_bytes;
	const unsigned payload = left < cut->segment_bytes ? left : cut->segment_bytes;
	const unsigned length = cut->header_bytes + payload;

	if (left == 0)
		return 0;
	memcpy(segment, cut->frame, cut->header_bytes);
	memcpy(segment + cut->header_bytes, cut->frame + cut->header_bytes + cut->sent_bytes,
	       payload);
	fit_ip(cut, segment + cut->ip_at, length - cut->ip_at);
	if (cut->is_udp)
		packet_put_be16(segment + cut->transport_at + PACKET_UDP_LENGTH_AT,
		                length - cut->transport_at);
	else
		fit_tcp(cut, segment + cut->transport_at, payload == left);
	fit_checksum(cut, segment, length - cut->transport_at);
	cut->sent_bytes += payload;
	cut->count++;
	return length;
}
