/* SPDX-License-Identifier: Apache-2.0 */
#include "muster.h"

#include <string.h>

/* Offsets in a frame with an IPv4 header of 20 bytes (RFC 791, RFC 768). */
enum {
	AT_TYPE = 12,
	AT_IP = 14,
	AT_IP_LENGTH = 16,
	AT_IP_PROTOCOL = 23,
	AT_IP_CHECKSUM = 24,
	AT_IP_SOURCE = 26,
	AT_UDP_SOURCE = 34,
	AT_UDP_TO = 36,
	AT_UDP_LENGTH = 38,
	AT_UDP_CHECKSUM = 40,
	AT_WORD = 42,
};

const uint8_t muster_mac[6] = {2, 0, 0, 0, 0, 0xfe};

void muster_open(struct muster *muster, unsigned count)
{
	*muster = (struct muster){.count = count};
}

bool muster_is_for_us(const struct frame *frame)
{
	return memcmp(frame->bytes, muster_mac, sizeof(muster_mac)) == 0;
}

static bool is_word(const struct frame *frame, const char *word)
{
	const uint8_t *bytes = frame->bytes;
	const size_t length = strlen(word);

	return frame->length >= AT_WORD + length && bytes[AT_TYPE] == 0x08 &&
	       bytes[AT_TYPE + 1] == 0 && bytes[AT_IP] == 0x45 && bytes[AT_IP_PROTOCOL] == 17 &&
	       (bytes[AT_UDP_TO] << 8 | bytes[AT_UDP_TO + 1]) == MUSTER_PORT &&
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

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* RFC 1071, of a header of 20 bytes. */
static void set_ip_checksum(uint8_t *frame)
{
	uint32_t sum = 0;

	put16(frame + AT_IP_CHECKSUM, 0);
	for (unsigned i = 0; i < 20; i += 2)
		sum += (uint32_t)frame[AT_IP + i] << 8 | frame[AT_IP + i + 1];
	sum = (sum >> 16) + (sum & 0xffff);
	put16(frame + AT_IP_CHECKSUM, ~(sum + (sum >> 16)) & 0xffff);
}

/* The way back, with both ends of each header changed over. */
void muster_write_go(const struct muster *muster, unsigned port, struct frame *frame)
{
	static const char word[] = "go\n";
	const uint8_t *asked = muster->hosts[port].headers;
	uint8_t *to = frame->bytes;

	memcpy(to, asked, AT_WORD);
	memcpy(to, asked + 6, 6);
	memcpy(to + 6, muster_mac, 6);
	memcpy(to + AT_IP_SOURCE, asked + AT_IP_SOURCE + 4, 4);
	memcpy(to + AT_IP_SOURCE + 4, asked + AT_IP_SOURCE, 4);
	memcpy(to + AT_UDP_SOURCE, asked + AT_UDP_TO, 2);
	memcpy(to + AT_UDP_TO, asked + AT_UDP_SOURCE, 2);
	memcpy(to + AT_WORD, word, strlen(word));
	put16(to + AT_IP_LENGTH, 20 + 8 + (unsigned)strlen(word));
	put16(to + AT_UDP_LENGTH, 8 + (unsigned)strlen(word));
	put16(to + AT_UDP_CHECKSUM, 0);
	set_ip_checksum(to);
	frame->length = AT_WORD + (unsigned)strlen(word);
}
