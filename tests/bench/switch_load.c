/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts of a job, for benches of a switch: each host has one network interface, sends its
 * packets within its window, checks those that arrive, and acknowledges each message.
 *
 *     switch_load summed|forwarded PAYLOAD_BYTES SECONDS INTERFACE...
 *
 * Prints the packets of messages that the hosts received, the bytes of all frames that the hosts
 * sent, and the times, as JSON.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "common/clock.h"
#include "common/headers.h"
#include "job_frames.h"
#include "sim-bridge/realtime/packet_ring.h"
#include "tests/model/frames.h"

enum {
	RING_SLOTS = 1024,
	BATCH = 64,
	PSN_MASK = 0xFFFFFF,
	/* One packet in 64 is checked with its iCRC, which takes longer than to send it. */
	CHECKED = 64,
	SILENCE_MS = 5000,
};

/* What a message of sendmmsg() points to. */
struct outgoing {
	uint8_t headers[JOB_HEADER_BYTES];
	uint32_t icrc;
	struct iovec pieces[3];
};

struct host {
	int fd;
	struct packet_ring ring;
	uint32_t sent;     /* packets of messages; packet k has PSN k + 1, the JOIN has 0 */
	uint32_t acked;    /* those that the successor has acknowledged */
	uint32_t received; /* those of the predecessor */
	bool has_joined;
	unsigned count; /* of `outgoing` */
	struct outgoing outgoing[BATCH];
};

struct load {
	struct job_frames frames;
	unsigned payload_bytes;
	bool is_summed;
	struct host hosts[JOB_HOSTS];
	uint64_t sent_frames, sent_bytes, packets;
};

static _Noreturn void fail(const char *text, unsigned host)
{
	fprintf(stderr, "switch_load: host %u: %s\n", host, text);
	exit(1);
}

static void open_host(struct host *host, const char *interface, unsigned number)
{
	const int yes = 1;
	const struct sockaddr_ll address = {
	        .sll_family = AF_PACKET,
	        .sll_protocol = htons(ETH_P_IP),
	        .sll_ifindex = (int)if_nametoindex(interface),
	};

	host->fd = socket(AF_PACKET, SOCK_RAW, 0);
	if (host->fd < 0 ||
	    setsockopt(host->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof(yes)) ||
	    setsockopt(host->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) ||
	    !packet_ring_open(&host->ring, host->fd, RING_SLOTS, JOB_FRAME_MAX) ||
	    bind(host->fd, (const struct sockaddr *)&address, sizeof(address)))
		fail(strerror(errno), number);
}

static void flush(struct load *load, struct host *host)
{
	struct mmsghdr messages[BATCH] = {0};
	unsigned done = 0;

	for (unsigned i = 0; i < host->count; i++) {
		messages[i].msg_hdr.msg_iov = host->outgoing[i].pieces;
		messages[i].msg_hdr.msg_iovlen = 3;
	}
	while (done < host->count) {
		const int sent = sendmmsg(host->fd, messages + done, host->count - done, 0);

		if (sent < 0)
			fail(strerror(errno), (unsigned)(host - load->hosts));
		done += (unsigned)sent;
	}
	host->count = 0;
}

static void send_frame(struct load *load, struct host *host, struct job_frame *frame, uint32_t psn)
{
	struct outgoing *out = &host->outgoing[host->count];
	const size_t payload_bytes = frame->length - JOB_HEADER_BYTES - JOB_ICRC_BYTES;

	memcpy(out->headers, frame->bytes, JOB_HEADER_BYTES);
	job_frame_put_psn(out->headers, psn);
	out->icrc = job_frame_icrc(frame, psn);
	out->pieces[0] = (struct iovec){out->headers, JOB_HEADER_BYTES};
	out->pieces[1] = (struct iovec){frame->bytes + JOB_HEADER_BYTES, payload_bytes};
	out->pieces[2] = (struct iovec){&out->icrc, JOB_ICRC_BYTES};
	load->sent_frames++;
	load->sent_bytes += frame->length;
	if (++host->count == BATCH)
		flush(load, host);
}

/* Takes a packet of a message, which must be the next one and have the right elements. */
static void take_packet(struct load *load, unsigned number, uint32_t psn, const uint8_t *bytes,
                        unsigned length)
{
	struct host *host = &load->hosts[number];
	const unsigned place = host->received % JOB_MESSAGE_PACKETS;
	const unsigned sender = (number + JOB_HOSTS - 1) % JOB_HOSTS;
	const struct job_frame *sent = &load->frames.data[sender][place];
	const uint8_t *expected =
	        load->is_summed ? load->frames.sum[place] : sent->bytes + JOB_HEADER_BYTES;

	if (psn != ((host->received + 1) & PSN_MASK) || length != sent->length)
		fail("a packet was lost, or has another length", number);
	if (!job_elements_are(bytes + JOB_HEADER_BYTES, load->payload_bytes, place, expected) ||
	    (host->received % CHECKED == 0 && !frame_is_intact(bytes, length)))
		fail("a packet has wrong elements or a wrong iCRC", number);
	host->received++;
	load->packets++;
	if (place == JOB_MESSAGE_PACKETS - 1)
		send_frame(load, host, &load->frames.acknowledgement[number], psn);
}

static void take(struct load *load, unsigned number, const uint8_t *bytes, unsigned length)
{
	struct host *host = &load->hosts[number];

	if (length < JOB_HEADER_BYTES + JOB_ICRC_BYTES)
		return;
	const uint32_t psn = frame_number(bytes + JOB_PSN_AT, 3);
	const uint8_t opcode = bytes[frame_bth_at((struct frame_form){0})];

	if (opcode == PACKET_ACK)
		host->acked += (psn - host->acked) & PSN_MASK;
	else if (opcode == PACKET_SEND_ONLY)
		host->has_joined = true;
	else
		take_packet(load, number, psn, bytes, length);
}

/* Returns whether a frame has arrived at some host. */
static bool take_all(struct load *load)
{
	bool has_taken = false;

	for (unsigned number = 0; number < JOB_HOSTS; number++) {
		struct packet_ring *ring = &load->hosts[number].ring;
		struct tpacket2_hdr *slot;

		while ((slot = packet_ring_first(ring)) != NULL) {
			take(load, number, (const uint8_t *)slot + slot->tp_mac, slot->tp_snaplen);
			packet_ring_release(ring);
			has_taken = true;
		}
	}
	return has_taken;
}

static void wait_for_frames(struct load *load)
{
	struct pollfd fds[JOB_HOSTS];

	for (unsigned number = 0; number < JOB_HOSTS; number++)
		fds[number] = (struct pollfd){.fd = load->hosts[number].fd, .events = POLLIN};
	if (poll(fds, JOB_HOSTS, SILENCE_MS) <= 0)
		fail("nothing arrives: is the switch running, and does it sum?", 0);
}

/* The hosts' first frames also teach the switch their addresses. */
static void join(struct load *load)
{
	unsigned joined = 0;

	for (unsigned number = 0; number < JOB_HOSTS; number++) {
		send_frame(load, &load->hosts[number], &load->frames.join[number], 0);
		flush(load, &load->hosts[number]);
	}
	while (joined < JOB_HOSTS) {
		wait_for_frames(load);
		take_all(load);
		joined = 0;
		for (unsigned number = 0; number < JOB_HOSTS; number++)
			joined += load->hosts[number].has_joined;
	}
}

/* Sends packets, up to a total of `last`, as far as the window allows. */
static void send_messages(struct load *load, unsigned number, uint32_t last)
{
	struct host *host = &load->hosts[number];

	while (host->sent < last && host->sent - host->acked < JOB_WINDOW) {
		const unsigned place = host->sent % JOB_MESSAGE_PACKETS;

		host->sent++;
		send_frame(load, host, &load->frames.data[number][place], host->sent & PSN_MASK);
	}
	flush(load, host);
}

static bool is_done(const struct load *load, uint32_t last)
{
	for (unsigned number = 0; number < JOB_HOSTS; number++)
		if (load->hosts[number].received != last || load->hosts[number].acked != last)
			return false;
	return true;
}

/* All hosts stop after the same message, the last one that host 0 may send when the time ends. */
static void exchange(struct load *load, double seconds)
{
	const int64_t end_ns = ina_now_ns() + (int64_t)(seconds * 1e9);
	uint32_t last = 0;
	bool is_over;

	do {
		is_over = ina_now_ns() >= end_ns;
		if (!is_over)
			last = load->hosts[0].acked + JOB_WINDOW;
		for (unsigned number = 0; number < JOB_HOSTS; number++)
			send_messages(load, number, last);
		if (!take_all(load) && !is_done(load, last))
			wait_for_frames(load);
	} while (!is_over || !is_done(load, last));
}

int main(int argc, char **argv)
{
	static struct load load;
	enum { SUMMED = 1, PAYLOAD, SECONDS, INTERFACES };

	if (argc != INTERFACES + JOB_HOSTS ||
	    (strcmp(argv[SUMMED], "summed") && strcmp(argv[SUMMED], "forwarded")) ||
	    (strcmp(argv[PAYLOAD], "1024") && strcmp(argv[PAYLOAD], "4096"))) {
		fprintf(stderr, "usage: switch_load summed|forwarded 1024|4096 SECONDS "
		                "INTERFACE0 ... INTERFACE3\n");
		return 2;
	}
	load.is_summed = !strcmp(argv[SUMMED], "summed");
	load.payload_bytes = (unsigned)atoi(argv[PAYLOAD]);
	job_frames_make(&load.frames, load.payload_bytes);
	for (unsigned number = 0; number < JOB_HOSTS; number++)
		open_host(&load.hosts[number], argv[INTERFACES + number], number);
	join(&load);
	const int64_t begin_ns = ina_now_ns(), cpu_ns = ina_clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	exchange(&load, atof(argv[SECONDS]));
	printf("{\"packets\": %llu, \"frames\": %llu, \"bytes\": %llu, \"wall_s\": %.6f, "
	       "\"cpu_s\": %.6f}\n",
	       (unsigned long long)load.packets, (unsigned long long)load.sent_frames,
	       (unsigned long long)load.sent_bytes, (double)(ina_now_ns() - begin_ns) / 1e9,
	       (double)(ina_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns) / 1e9);
	return 0;
}
