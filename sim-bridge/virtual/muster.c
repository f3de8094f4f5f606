/* SPDX-License-Identifier: Apache-2.0 */
#include "muster.h"

#include <stdlib.h>
#include <string.h>

#include "common/headers.h"

/* Offsets in a frame without a VLAN tag, whose IPv4 header has no options. */
enum {
	AT_IP = PACKET_ETHERNET_BYTES,
	AT_UDP = AT_IP + PACKET_IPV4_BYTES,
	AT_WORD = AT_UDP + PACKET_UDP_BYTES,
};

const uint8_t muster_mac[6] = {2, 0, 0, 0, 0xff, 0xfe};

int muster_open(struct muster *muster, unsigned count)
{
	*muster = (struct muster){.count = count};
	muster->hosts = calloc(count, sizeof(*muster->hosts));
	return muster->hosts ? 0 : -1;
}

void muster_close(struct muster *muster)
{
	free(muster->hosts);
	*muster = (struct muster){0};
}

bool muster_is_for_us(const struct frame *frame)
{
	return memcmp(frame->bytes, muster_mac, sizeof(muster_mac)) == 0;
}

static bool is_word(const struct frame *frame, const char *word)
{
	const uint8_t *bytes = frame->bytes;
	const uint8_t *ip = bytes + AT_IP;
	const size_t length = strlen(word);

	return frame->length >= AT_WORD + length &&
	       packet_be16(bytes + PACKET_ETHERTYPE_AT) == PACKET_ETHERTYPE_IPV4 &&
	       ip[0] == PACKET_IPV4_WITHOUT_OPTIONS &&
	       ip[PACKET_IPV4_PROTOCOL_AT] == PACKET_PROTOCOL_UDP &&
	       packet_be16(bytes + AT_UDP + PACKET_UDP_DPORT_AT) == MUSTER_PORT &&
	       memcmp(bytes + AT_WORD, word, length) == 0;
}

static enum muster_news look(const struct muster *muster)
{
	unsigned up = 0, ended = 0;

	for (unsigned i = 0; i < muster->count; i++) {
		up += muster->hosts[i].is_up || muster->hosts[i].has_ended;
		ended += muster->hosts[i].has_ended;
	}
	if (ended == muster->count)
		return MUSTER_ALL_ENDED;
	return up == muster->count && ended == 0 ? MUSTER_ALL_UP : MUSTER_NOTHING;
}

enum muster_news muster_hear(struct muster *muster, unsigned port, const struct frame *frame)
{
	if (is_word(frame, "up") && !muster->hosts[port].is_up) {
		muster->hosts[port].is_up = true;
		memcpy(muster->hosts[port].headers, frame->bytes,
		       sizeof(muster->hosts[port].headers));
		return look(muster);
	}
	if (is_word(frame, "exit "))
		return muster_forget(muster, port);
	return MUSTER_NOTHING;
}

enum muster_news muster_forget(struct muster *muster, unsigned port)
{
	if (muster->hosts[port].has_ended)
		return MUSTER_NOTHING;
	muster->hosts[port].has_ended = true;
	return look(muster);
}

/* The checksum of RFC 1071 over a header of 20 bytes. */
static void set_ip_checksum(uint8_t *ip)
{
	uint32_t sum = 0;

	packet_put_be16(ip + PACKET_IPV4_CHECKSUM_AT, 0);
	for (unsigned i = 0; i < PACKET_IPV4_BYTES; i += 2)
		sum += packet_be16(ip + i);
	sum = (sum >> 16) + (sum & 0xffff);
	packet_put_be16(ip + PACKET_IPV4_CHECKSUM_AT, ~(sum + (sum >> 16)) & 0xffff);
}

/* Answers with the headers of the host's `up`, with source and destination swapped in each. */
void muster_write_go(const struct muster *muster, unsigned port, struct frame *frame)
{
	static const char word[] = "go\n";
	const uint8_t *asked = muster->hosts[port].headers;
	uint8_t *to = frame->bytes, *ip = to + AT_IP, *udp = to + AT_UDP;
	const unsigned udp_bytes = PACKET_UDP_BYTES + (unsigned)strlen(word);

	memcpy(to, asked, AT_WORD);
	memcpy(to, asked + PACKET_SOURCE_MAC_AT, PACKET_MAC_BYTES);
	memcpy(to + PACKET_SOURCE_MAC_AT, muster_mac, PACKET_MAC_BYTES);
	memcpy(ip + PACKET_IPV4_SOURCE_AT, asked + AT_IP + PACKET_IPV4_DESTINATION_AT, 4);
	memcpy(ip + PACKET_IPV4_DESTINATION_AT, asked + AT_IP + PACKET_IPV4_SOURCE_AT, 4);
	memcpy(udp + PACKET_UDP_SPORT_AT, asked + AT_UDP + PACKET_UDP_DPORT_AT, 2);
	memcpy(udp + PACKET_UDP_DPORT_AT, asked + AT_UDP + PACKET_UDP_SPORT_AT, 2);
	memcpy(to + AT_WORD, word, strlen(word));
	packet_put_be16(ip + PACKET_IPV4_LENGTH_AT, PACKET_IPV4_BYTES + udp_bytes);
	packet_put_be16(udp + PACKET_UDP_LENGTH_AT, udp_bytes);
	packet_put_be16(udp + PACKET_UDP_CHECKSUM_AT, 0);
	set_ip_checksum(ip);
	frame->length = AT_UDP + udp_bytes;
}
