/* SPDX-License-Identifier: Apache-2.0 */
/* In a cooked capture another header replaces the Ethernet header. */
#include "capture.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/headers.h"

enum {
	SLL2_BYTES = 20,
	PCAP_FILE_HEADER_BYTES = 24,
	PCAP_RECORD_HEADER_BYTES = 16,
	ARPHRD_ETHERNET = 1,
	ETHERTYPE_LEAST = 0x0600, /* a lower value is the length of an 802.2 frame */
	SLL_PROTOCOL_802_2 = 0x0004,
	SNAP_BYTES = SLL2_BYTES + FRAME_BYTES_MAX - PACKET_ETHERNET_BYTES,
	ETHERNET_SNAP_BYTES = 65535, /* tcpreplay warns of less */
};

struct capture {
	char *path;
	enum capture_form form;
	pcap_t *pcap;
	pcap_dumper_t *dumper;
	uint64_t limit_bytes;
	uint64_t epoch_ns;
	uint64_t bytes;
	uint64_t frames;
	bool full;
	int error; /* errno of the first write that failed; or 0 */
	uint8_t record[SNAP_BYTES];
};

struct capture *capture_open(const char *path, enum capture_form form, uint64_t limit_bytes,
                             uint64_t epoch_ns, char *error, size_t error_bytes)
{
	struct capture *capture = calloc(1, sizeof(*capture));

	if (!capture)
		goto out_memory;
	capture->form = form;
	capture->limit_bytes = limit_bytes;
	capture->epoch_ns = epoch_ns;
	capture->bytes = PCAP_FILE_HEADER_BYTES;
	capture->path = strdup(path);
	if (!capture->path)
		goto out_free;
	capture->pcap = pcap_open_dead_with_tstamp_precision(
	        form == CAPTURE_ETHERNET ? DLT_EN10MB : DLT_LINUX_SLL2,
	        form == CAPTURE_ETHERNET ? ETHERNET_SNAP_BYTES : SNAP_BYTES,
	        PCAP_TSTAMP_PRECISION_NANO);
	if (!capture->pcap)
		goto out_free;
	capture->dumper = pcap_dump_open(capture->pcap, path);
	if (!capture->dumper) {
		snprintf(error, error_bytes, "capture file: %s", pcap_geterr(capture->pcap));
		goto out_pcap;
	}
	return capture;

out_pcap:
	pcap_close(capture->pcap);
	free(capture->path);
	free(capture);
	return NULL;
out_free:
	free(capture->path);
	free(capture);
out_memory:
	snprintf(error, error_bytes, "capture file '%s': out of memory", path);
	return NULL;
}

void capture_flush(struct capture *capture)
{
	if (!capture->error && pcap_dump_flush(capture->dumper) != 0)
		capture->error = errno;
}

bool capture_close(struct capture *capture, char *error, size_t error_bytes)
{
	capture_flush(capture);
	bool written = !capture->error;

	if (!written)
		snprintf(error, error_bytes, "capture file '%s': could not write all of it: %s",
		         capture->path, strerror(capture->error));
	if (capture->full)
		fprintf(stderr,
		        "ina-bridge: capture file '%s' was full after %llu frames: the rest is not "
		        "captured; --pcap-limit sets its size\n",
		        capture->path, (unsigned long long)capture->frames);
	pcap_dump_close(capture->dumper);
	pcap_close(capture->pcap);
	free(capture->path);
	free(capture);
	return written;
}

/*
 * Writes the record of https://www.tcpdump.org/linktypes/LINKTYPE_LINUX_SLL2.html. Returns its
 * length in bytes.
 */
static unsigned make_record(uint8_t *record, unsigned port, enum capture_direction direction,
                            const struct frame *frame)
{
	unsigned type = packet_be16(frame->bytes + PACKET_ETHERTYPE_AT);
	unsigned payload_bytes = frame->length - PACKET_ETHERNET_BYTES;

	memset(record, 0, SLL2_BYTES);
	packet_put_be16(record, type < ETHERTYPE_LEAST ? SLL_PROTOCOL_802_2 : type);
	packet_put_be16(record + 6, port + 1);
	packet_put_be16(record + 8, ARPHRD_ETHERNET);
	record[10] = (uint8_t)direction;
	record[11] = PACKET_MAC_BYTES;
	memcpy(record + 12, frame->bytes + PACKET_SOURCE_MAC_AT, PACKET_MAC_BYTES);
	memcpy(record + SLL2_BYTES, frame->bytes + PACKET_ETHERNET_BYTES, payload_bytes);
	return SLL2_BYTES + payload_bytes;
}

void capture_frame(struct capture *capture, uint64_t time_ns, unsigned port,
                   enum capture_direction direction, const struct frame *frame)
{
	if (capture->full || capture->error)
		return;
	time_ns += capture->epoch_ns;
	const bool is_whole = capture->form == CAPTURE_ETHERNET;
	const uint8_t *record = is_whole ? frame->bytes : capture->record;
	const unsigned bytes =
	        is_whole ? frame->length : make_record(capture->record, port, direction, frame);

	if (capture->bytes + PCAP_RECORD_HEADER_BYTES + bytes > capture->limit_bytes) {
		capture->full = true;
		return;
	}
	struct pcap_pkthdr header = {
	        /* In a file with nanosecond precision, tv_usec counts nanoseconds. */
	        .ts = {.tv_sec = (time_t)(time_ns / 1000000000u),
	               .tv_usec = (suseconds_t)(time_ns % 1000000000u)},
	        .caplen = bytes,
	        .len = bytes,
	};
	pcap_dump((u_char *)capture->dumper, &header, record);
	if (ferror(pcap_dump_file(capture->dumper)))
		capture->error = errno;
	capture->bytes += PCAP_RECORD_HEADER_BYTES + bytes;
	capture->frames++;
}

struct capture_totals capture_totals(const struct capture *capture)
{
	return (struct capture_totals){
	        .path = capture->path,
	        .frames = capture->frames,
	        .bytes = capture->bytes,
	        .complete = !capture->full && !capture->error,
	};
}
