/* SPDX-License-Identifier: Apache-2.0 */
/* The file is read twice: first for its ports and addresses, then for its frames. */
#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/bridge_options.h"
#include "common/headers.h"
#include "neighbours.h"

enum {
	/* https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html */
	SLL2_BYTES = 20,
	SLL2_INTERFACE_AT = 4,
	SLL2_DEVICE_AT = 8,
	SLL2_PACKET_AT = 10,
	SLL2_ADDRESS_BYTES_AT = 11,
	SLL2_ADDRESS_AT = 12,
	ARPHRD_ETHERNET = 1,
	PACKET_OUTGOING = 4,
	ETHERTYPE_LEAST = 0x0600, /* a lower value is the length of an 802.2 frame */

	/* More source MAC addresses than a switch has ports need no numbers. */
	MACS_MAX = BRIDGE_OPTIONS_HOSTS_MAX + 1,
	NS_PER_S = 1000000000,
};

/* A longer capture has a damaged time: the ends of times-to-live in it would take minutes. */
#define SPAN_MOST_NS BRIDGE_OPTIONS_TIME_MOST_NS

/* Why frames are left out. */
#define LEFT_OUT(X)                                                                                \
	X(cut, "cut short by the capture")                                                         \
	X(runt, "shorter than an Ethernet header")                                                 \
	X(giant, "longer than 9216 bytes")                                                         \
	X(foreign, "not from an Ethernet interface")

struct recording {
	const char *path;
	pcap_t *pcap;
	bool is_cooked;
	unsigned ports;
	uint64_t start_ns;
	struct neighbours neighbours;
	uint8_t macs[MACS_MAX][PACKET_MAC_BYTES]; /* by port, of a capture of Ethernet frames */

	/* Of the present reading: */
	uint64_t frames;
	uint64_t last_ns;
	struct left_out {
#define X(name, reason) uint64_t name;
		LEFT_OUT(X)
#undef X
	} left_out;
	char damage[PCAP_ERRBUF_SIZE]; /* why it ended before the file's end; or empty */
	struct frame frame;            /* the one read last */
};

/* Opens the file, or opens it again at its start. */
static bool begin(struct recording *recording, char *error, size_t error_bytes)
{
	char reason[PCAP_ERRBUF_SIZE];
	struct stat of;

	if (recording->pcap)
		pcap_close(recording->pcap);
	recording->pcap = NULL;
	recording->frames = recording->last_ns = 0;
	recording->left_out = (struct left_out){0};
	recording->damage[0] = '\0';
	if (stat(recording->path, &of) != 0) {
		snprintf(error, error_bytes, "'%s': %s", recording->path, strerror(errno));
		return false;
	}
	if (!S_ISREG(of.st_mode)) {
		snprintf(error, error_bytes, "'%s': not a regular file; it is read twice",
		         recording->path);
		return false;
	}
	recording->pcap = pcap_open_offline_with_tstamp_precision(
	        recording->path, PCAP_TSTAMP_PRECISION_NANO, reason);
	if (!recording->pcap)
		snprintf(error, error_bytes, "'%s': not a capture that libpcap can read: %s",
		         recording->path, reason);
	return recording->pcap != NULL;
}

static bool check_link_type(struct recording *recording, char *error, size_t error_bytes)
{
	const int type = pcap_datalink(recording->pcap);
	const char *name = pcap_datalink_val_to_name(type);

	recording->is_cooked = type == DLT_LINUX_SLL2;
	if (recording->is_cooked || type == DLT_EN10MB)
		return true;
	snprintf(error, error_bytes, "'%s': its link type is %s (%d): must be EN10MB or LINUX_SLL2",
	         recording->path, name ? name : "unknown", type);
	return false;
}

/* The port of a source MAC address; a new one gets the next port as long as there are numbers. */
static unsigned port_of(struct recording *recording, const uint8_t *mac)
{
	unsigned port = 0;

	while (port < recording->ports && memcmp(recording->macs[port], mac, PACKET_MAC_BYTES) != 0)
		port++;
	if (port == MACS_MAX)
		return MACS_MAX - 1;
	if (port == recording->ports)
		memcpy(recording->macs[recording->ports++], mac, PACKET_MAC_BYTES);
	return port;
}

static bool take_ethernet(struct recording *recording, const uint8_t *bytes, unsigned length)
{
	struct frame *frame = &recording->frame;

	recording->left_out.runt += length < FRAME_BYTES_MIN;
	recording->left_out.giant += length > FRAME_BYTES_MAX;
	if (length < FRAME_BYTES_MIN || length > FRAME_BYTES_MAX)
		return false;
	memcpy(frame->bytes, bytes, length);
	frame->length = length;
	frame_read(frame);
	return true;
}

/* Makes the Ethernet header again that the cooked header has replaced. */
static bool uncook(struct recording *recording, const uint8_t *record, unsigned payload_bytes)
{
	struct frame *frame = &recording->frame;
	uint8_t *header = frame->bytes;
	unsigned type = packet_be16(record);

	if (payload_bytes > FRAME_BYTES_MAX - PACKET_ETHERNET_BYTES) {
		recording->left_out.giant++;
		return false;
	}
	if (type < ETHERTYPE_LEAST)
		type = payload_bytes;
	memset(header, 0xFF, PACKET_MAC_BYTES);
	memcpy(header + PACKET_SOURCE_MAC_AT, record + SLL2_ADDRESS_AT, PACKET_MAC_BYTES);
	packet_put_be16(header + PACKET_ETHERTYPE_AT, type);
	memcpy(header + PACKET_ETHERNET_BYTES, record + SLL2_BYTES, payload_bytes);
	frame->length = PACKET_ETHERNET_BYTES + payload_bytes;
	frame_read(frame);
	neighbours_address(&recording->neighbours, frame);
	return true;
}

/* Takes a record with a cooked header. Returns false if it is left out, or left the switch. */
static bool take_cooked(struct recording *recording, const uint8_t *record, unsigned bytes,
                        unsigned *port)
{
	const bool is_long_enough = bytes >= SLL2_BYTES;
	const uint32_t interface =
	        is_long_enough ? (uint32_t)packet_be16(record + SLL2_INTERFACE_AT) << 16 |
	                                 packet_be16(record + SLL2_INTERFACE_AT + 2)
	                       : 0;

	if (interface == 0 || packet_be16(record + SLL2_DEVICE_AT) != ARPHRD_ETHERNET ||
	    record[SLL2_ADDRESS_BYTES_AT] != PACKET_MAC_BYTES) {
		recording->left_out.foreign++;
		return false;
	}
	if (interface > recording->ports)
		recording->ports = interface;
	*port = interface - 1;
	return record[SLL2_PACKET_AT] != PACKET_OUTGOING &&
	       uncook(recording, record, bytes - SLL2_BYTES);
}

/* Reads a record as a frame. Returns false if it is left out, or left the switch. */
static bool take(struct recording *recording, const struct pcap_pkthdr *header,
                 const uint8_t *bytes, unsigned *port)
{
	if (header->caplen < header->len) {
		recording->left_out.cut++;
		return false;
	}
	if (recording->is_cooked)
		return take_cooked(recording, bytes, header->caplen, port);
	if (!take_ethernet(recording, bytes, header->caplen))
		return false;
	*port = port_of(recording, recording->frame.bytes + PACKET_SOURCE_MAC_AT);
	return true;
}

/* A damaged time counts as that of the frame before. */
static uint64_t time_of(const struct pcap_pkthdr *header)
{
	const uint64_t seconds = (uint64_t)header->ts.tv_sec;
	const uint64_t ns = (uint64_t)header->ts.tv_usec; /* as the precision says */

	if (seconds > UINT64_MAX / NS_PER_S - 1 || ns >= NS_PER_S)
		return 0;
	return seconds * NS_PER_S + ns;
}

/* Takes the time of a record. Returns false if it is too late to be true. */
static bool stamp(struct recording *recording, const struct pcap_pkthdr *header)
{
	uint64_t ns = time_of(header);

	if (recording->frames == 0)
		recording->start_ns = ns;
	if (ns < recording->last_ns)
		ns = recording->last_ns;
	if (ns - recording->start_ns > SPAN_MOST_NS) {
		snprintf(recording->damage, sizeof(recording->damage),
		         "the next frame is more than %g s later than the first",
		         SPAN_MOST_NS * 1e-9);
		return false;
	}
	recording->last_ns = ns;
	recording->frames++;
	return true;
}

const struct frame *recording_next(struct recording *recording, unsigned *port, uint64_t *time_ns)
{
	struct pcap_pkthdr *header;
	const u_char *bytes;

	while (!recording->damage[0]) {
		const int status = pcap_next_ex(recording->pcap, &header, &bytes);

		if (status == PCAP_ERROR_BREAK)
			return NULL;
		if (status != 1)
			snprintf(recording->damage, sizeof(recording->damage), "%s",
			         pcap_geterr(recording->pcap));
		else if (take(recording, header, bytes, port) && stamp(recording, header)) {
			*time_ns = recording->last_ns;
			return &recording->frame;
		}
	}
	return NULL;
}

/* The first reading. */
static bool scan(struct recording *recording, char *error, size_t error_bytes)
{
	unsigned port;
	uint64_t time_ns;
	char report[2 * PCAP_ERRBUF_SIZE];

	while (recording_next(recording, &port, &time_ns))
		if (recording->is_cooked)
			neighbours_learn(&recording->neighbours, &recording->frame);
	if (recording->frames > 0)
		return true;
	if (recording_is_whole(recording, report, sizeof(report)))
		snprintf(error, error_bytes, "'%s': no frame in it came in to a switch",
		         recording->path);
	else
		snprintf(error, error_bytes, "%s", report);
	return false;
}

struct recording *recording_open(const char *path, char *error, size_t error_bytes)
{
	struct recording *recording = calloc(1, sizeof(*recording));

	if (!recording) {
		snprintf(error, error_bytes, "'%s': out of memory", path);
		return NULL;
	}
	recording->path = path;
	if (begin(recording, error, error_bytes) &&
	    check_link_type(recording, error, error_bytes) && scan(recording, error, error_bytes) &&
	    begin(recording, error, error_bytes))
		return recording;
	recording_close(recording);
	return NULL;
}

void recording_close(struct recording *recording)
{
	if (recording && recording->pcap)
		pcap_close(recording->pcap);
	free(recording);
}

bool recording_is_cooked(const struct recording *recording)
{
	return recording->is_cooked;
}

unsigned recording_ports(const struct recording *recording)
{
	return recording->ports;
}

uint64_t recording_start_ns(const struct recording *recording)
{
	return recording->start_ns;
}

/* Appends to a line of `bytes` bytes, as far as there is room. */
__attribute__((format(printf, 3, 4))) static void append(char *line, size_t bytes,
                                                         const char *format, ...)
{
	const size_t length = strlen(line);
	va_list list;

	va_start(list, format);
	vsnprintf(line + length, bytes - length, format, list);
	va_end(list);
}

bool recording_is_whole(const struct recording *recording, char *report, size_t report_bytes)
{
	const struct left_out *left_out = &recording->left_out;
	bool is_whole = true;

	snprintf(report, report_bytes, "'%s': took %" PRIu64 " frames", recording->path,
	         recording->frames);
#define X(name, reason)                                                                            \
	if (left_out->name) {                                                                      \
		append(report, report_bytes, "; left out %" PRIu64 " " reason, left_out->name);    \
		is_whole = false;                                                                  \
	}
	LEFT_OUT(X)
#undef X
	if (recording->damage[0]) {
		append(report, report_bytes, "; the rest cannot be read: %s", recording->damage);
		is_whole = false;
	}
	return is_whole;
}
