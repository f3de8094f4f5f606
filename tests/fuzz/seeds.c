/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seeds DIRECTORY: writes the inputs from which fuzzing starts, in a folder of DIRECTORY for each
 * fuzzer: a job's whole life, each deviation of docs/protocol.md once, command lines, frames as
 * they are on the wire, and the messages and rings of a guest's driver.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "hostlib/control/control.h"
#include "traffic.h"

struct seed {
	size_t length;
	uint8_t bytes[TRAFFIC_INPUT_MAX];
	unsigned entries;
	size_t starts[TRAFFIC_ENTRIES_MAX + 1]; /* of the entries, and the end of the last one */
};

static void die(const char *what, const char *path)
{
	fprintf(stderr, "seeds: cannot %s %s: %s\n", what, path, strerror(errno));
	exit(1);
}

static void add(struct seed *seed, unsigned byte)
{
	if (seed->length < sizeof(seed->bytes))
		seed->bytes[seed->length++] = (uint8_t)byte;
}

/* One entry of traffic.h, followed by `count` bytes. */
static void entry(struct seed *seed, enum traffic_what what, unsigned port, unsigned job,
                  unsigned amount, unsigned count, ...)
{
	va_list list;

	seed->starts[seed->entries] = seed->length;
	add(seed, traffic_control(what, port, job, amount));
	va_start(list, count);
	for (unsigned i = 0; i < count; i++)
		add(seed, va_arg(list, unsigned));
	va_end(list);
	if (seed->entries < TRAFFIC_ENTRIES_MAX)
		seed->entries++;
	seed->starts[seed->entries] = seed->length;
}

/* The end of a time-to-live. */
static void age(struct seed *seed)
{
	entry(seed, TRAFFIC_TAGGED, 0, 0, 3, 0);
}

/* A packet of both ranks; if it starts a message, the first rank's entry has the message's
 * shape. */
static void both(struct seed *seed, unsigned job, bool starts, unsigned shape_0, unsigned shape_1)
{
	entry(seed, TRAFFIC_NEXT, 0, job, 0, starts ? 2 : 0, shape_0, shape_1);
	entry(seed, TRAFFIC_NEXT, 1, job, 0, 0);
}

static void join(struct seed *seed, unsigned job)
{
	both(seed, job, true, 0, 0);
}

/* A message of `packets` packets of the size number `size`. */
static void message(struct seed *seed, unsigned job, unsigned packets, unsigned size,
                    unsigned shape_1)
{
	for (unsigned i = 0; i < packets; i++)
		both(seed, job, i == 0, (packets - 1) | size << 2, shape_1);
}

static void leave(struct seed *seed, unsigned job)
{
	both(seed, job, true, 0xE0, 0);
}

static void whole_life(struct seed *seed, unsigned job)
{
	join(seed, job);
	for (unsigned size = 0; size < 7; size++) {
		message(seed, job, 1 + size % 4, size, 0x10 * size);            /* int32 */
		message(seed, job, 1 + (size + 2) % 4, size, 0x01 | size << 4); /* float32 */
	}
	leave(seed, job);
}

/* Each number type with each operation. */
static void all_types(struct seed *seed)
{
	join(seed, 0);
	for (unsigned shape = 0; shape < 12; shape++)
		message(seed, 0, 2, 3, shape);
	leave(seed, 0);
}

static void interleaved(struct seed *seed)
{
	join(seed, 0);
	join(seed, 1);
	join(seed, 2); /* refused */
	for (unsigned i = 0; i < 5; i++)
		for (unsigned job = 0; job < 3; job++)
			message(seed, job, 1, i, 0x01);
	for (unsigned job = 0; job < 3; job++)
		leave(seed, job);
	join(seed, 3);
}

/* One rank is late and the other one retransmits; gaps; retransmissions of every age. */
static void unordered(struct seed *seed)
{
	join(seed, 0);
	for (unsigned i = 0; i < 10; i++)
		entry(seed, TRAFFIC_NEXT, 0, 0, 0, 2, i % 3 << 2, 0x01);
	for (unsigned i = 0; i < 10; i++)
		entry(seed, TRAFFIC_DUPLICATE, 0, 0, 0, 1, i);
	for (unsigned i = 0; i < 8; i++) {
		entry(seed, TRAFFIC_AHEAD, 1, 0, 0, 1, i);
		entry(seed, TRAFFIC_NEXT, 1, 0, 0, 0);
		entry(seed, TRAFFIC_DUPLICATE, i & 1, 0, 0, 1, i);
	}
}

/* Jobs whose hosts die: alone, with a packet that waits, in the middle of a message; then a new
 * job. */
static void silent(struct seed *seed)
{
	entry(seed, TRAFFIC_NEXT, 0, 1, 0, 2, 0, 0);
	join(seed, 0);
	message(seed, 0, 1, 1, 0x01);
	age(seed);
	entry(seed, TRAFFIC_NEXT, 0, 0, 0, 2, 1, 0x01);
	age(seed);
	age(seed);
	message(seed, 0, 1, 1, 0x01);
	join(seed, 2);
	message(seed, 2, 2, 2, 0x01);
	leave(seed, 2);
	age(seed);
}

/* The end of a quiet time. */
static void tick(struct seed *seed)
{
	entry(seed, TRAFFIC_TAGGED, 1, 0, 3, 0);
}

/* Quiet time after the reset; then other connections with a flow's addresses, before and after it
 * is silent. */
static void quiet(struct seed *seed)
{
	tick(seed);
	join(seed, 1);
	tick(seed);
	join(seed, 0);
	for (unsigned turn = 0; turn < 3; turn++) {
		message(seed, 0, 1, 1, 0x01);
		for (unsigned i = 0; i < 5; i++) {
			entry(seed, TRAFFIC_AHEAD, 0, 0, 0, 1, TRAFFIC_WINDOW);
			entry(seed, TRAFFIC_DUPLICATE, 0, 0, 3, 1, 4 * TRAFFIC_WINDOW - 1);
		}
		tick(seed);
		if (turn == 1)
			tick(seed);
	}
	leave(seed, 0);
}

/* Retransmissions that are longer or shorter than their sums. */
static void other_lengths(struct seed *seed)
{
	join(seed, 0);
	for (unsigned i = 0; i < 12; i++) {
		message(seed, 0, 1, 2, 0x01);
		entry(seed, TRAFFIC_DUPLICATE, i & 1, 0, i % 3, 1, i);
	}
	leave(seed, 0);
}

/* Every byte of the headers is wrong once, with a right iCRC and with the old one. */
static void spoiled(struct seed *seed, enum traffic_what what, unsigned first, unsigned last)
{
	join(seed, 0);
	message(seed, 0, 1, 1, 0x01);
	for (unsigned place = first; place < last; place++)
		entry(seed, what, place & 1, 0, 0, place == first ? 4 : 2,
		      place == first ? 0 : place, place == first ? 0 : 1 << place % 8, place,
		      1 << place % 8);
	message(seed, 0, 1, 1, 0x01);
	leave(seed, 0);
}

static void resized(struct seed *seed)
{
	join(seed, 0);
	entry(seed, TRAFFIC_RESIZED, 0, 0, 0, 3, 0x09, 0x01, 0); /* in a message of two packets */
	for (unsigned i = 1; i < 48; i++)
		entry(seed, TRAFFIC_RESIZED, i & 1, 0, i & 1, 1, i * 5);
	both(seed, 0, false, 0, 0);
	both(seed, 0, false, 0, 0);
	entry(seed, TRAFFIC_TAGGED, 0, 0, 0, 3, 0, 0x01, 7);
	entry(seed, TRAFFIC_TAGGED, 1, 0, 0, 1, 7);
}

/* A packet cut after each of its bytes, except the first ten. */
static void every_length(struct seed *seed)
{
	join(seed, 0);
	entry(seed, TRAFFIC_RESIZED, 0, 0, 0, 3, 2 << 2, 0x01, 0); /* with 80 bytes of payload */
	for (unsigned cut = 1; cut < 128; cut++)
		entry(seed, TRAFFIC_RESIZED, cut & 1, 0, 0, 1, cut);
}

/* The largest payload, one quad more, with lengths and iCRC to match, and many more. */
static void too_large(struct seed *seed)
{
	join(seed, 0);
	both(seed, 0, true, 7 << 2, 0x01);
	entry(seed, TRAFFIC_RESIZED, 0, 0, 1, 3, 7 << 2, 0x01, 127 + 16);
	for (unsigned quads = 1; quads <= 8; quads++)
		entry(seed, TRAFFIC_RESIZED, quads & 1, 0, 1, 1, 127 + 16 * quads);
	both(seed, 0, false, 0, 0);
	leave(seed, 0);
}

/* A whole frame on port 1, byte by byte, that no other entry can make. */
static void raw(struct seed *seed, unsigned rank, uint8_t opcode, uint8_t tos)
{
	static const uint8_t payload[64] = {0x49, 0x4E, 1, 1};
	struct roce_frame frame;

	frame_make(&frame, &(struct frame_spec){
	                           .source = rank,
	                           .destination = 1 - rank,
	                           .destination_qpn = 0x11,
	                           .psn = 0xFFFFF8,
	                           .opcode = opcode,
	                           .tos = tos,
	                           .payload = payload,
	                           .payload_bytes = sizeof(payload),
	                   });
	/* Its length is 1 + 4 * byte + amount. */
	entry(seed, TRAFFIC_RAW, 1, 0, (unsigned)(frame.length - 1) % 4, 1,
	      (unsigned)(frame.length - 1) / 4);
	for (size_t i = 0; i < frame.length; i++)
		add(seed, frame.bytes[i]);
	seed->starts[seed->entries] = seed->length;
}

/* A port that asks for all contexts, and again when another port has joined one of them. */
static void crowd(struct seed *seed)
{
	entry(seed, TRAFFIC_NEXT, 0, 0, 0, 2, 0, 0);
	entry(seed, TRAFFIC_NEXT, 0, 1, 0, 2, 0, 0);
	entry(seed, TRAFFIC_NEXT, 1, 0, 0, 0);
	entry(seed, TRAFFIC_DUPLICATE, 0, 1, 0, 1, 0);
	entry(seed, TRAFFIC_NEXT, 1, 1, 0, 0);
	message(seed, 0, 1, 1, 0x01);
}

/* Rank 0's next packet comes at the other port. */
static void elsewhere(struct seed *seed)
{
	join(seed, 0);
	raw(seed, 0, 0x04, 0xAE);
	message(seed, 0, 1, 1, 0x01);
}

static void write_file(const char *directory, const char *name, const void *bytes, size_t length)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, length, file) != length || fclose(file) != 0)
		die("write", path);
}

/* The same traffic for the switch: with faults before it, and sometimes some time between
 * frames. */
static void write_bridge(const char *directory, const char *name, const struct seed *model)
{
	static const uint8_t faults[3][8] = {{0}, {0, 0, 0, 0, 140}, {140, 140, 140, 132, 0, 1, 7}};
	char numbered[64];

	for (unsigned i = 0; i < 3; i++) {
		struct seed seed = {0};

		for (unsigned k = 0; k < 8; k++)
			add(&seed, faults[i][k]);
		for (unsigned k = 0; k < model->entries; k++) {
			if (k % 7 == 6)
				add(&seed, SWITCH_WAITS | (k % 16) << 2);
			add(&seed, SWITCH_FRAME | 1 << 2);
			for (size_t at = model->starts[k]; at < model->starts[k + 1]; at++)
				add(&seed, model->bytes[at]);
		}
		snprintf(numbered, sizeof(numbered), "%s.%u", name, i);
		write_file(directory, numbered, seed.bytes, seed.length);
	}
}

static void write_traffic(const char *model, const char *bridge)
{
	static const uint8_t opcodes[] = {0x00, 0x04, 0x05, 0x0A, 0x11, 0x12, 0x64};
	static struct seed seeds[17];
	unsigned count = 0;
	char name[32];

	whole_life(&seeds[count++], 0);
	whole_life(&seeds[count++], 3);
	all_types(&seeds[count++]);
	interleaved(&seeds[count++]);
	unordered(&seeds[count++]);
	silent(&seeds[count++]);
	quiet(&seeds[count++]);
	other_lengths(&seeds[count++]);
	spoiled(&seeds[count++], TRAFFIC_SPOILED, 0, 60);
	spoiled(&seeds[count++], TRAFFIC_SPOILED, 54, 118);
	spoiled(&seeds[count++], TRAFFIC_DAMAGED, 0, 60);
	resized(&seeds[count++]);
	every_length(&seeds[count++]);
	too_large(&seeds[count++]);
	crowd(&seeds[count++]);
	elsewhere(&seeds[count++]);
	join(&seeds[count], 0);
	for (unsigned i = 0; i < sizeof(opcodes); i++)
		raw(&seeds[count], 1, opcodes[i], i & 1 ? 0xAE : 0);
	count++;
	for (unsigned i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "seed.%u", i);
		write_file(model, name, seeds[i].bytes, seeds[i].length);
		write_bridge(bridge, name, &seeds[i]);
	}
}

static void write_options(const char *directory)
{
	static const char *const lines[] = {
	        "--port\nfd=40\n--port\nfd=41\n--aggregator\nmodel\n--steer\nall",
	        "--port=fd=40\n--port=fd=41\n--loss-up\n0.5\n--loss-down=1e-3\n--duplicate\n1\n"
	        "--reorder\n0\n--corrupt\n.25\n--delay\n100\n--seed\n0x7F",
	        "--port=fd=40\n--port=fd=41\n--pcap\nx.pcap\n--pcap-limit\n4\n--stats\nx.json",
	        "--port=fd=40\n--port=fd=41\n--topology=tree:2\n--at\nleaf0,aggregator=off\n"
	        "--at=1,loss-up=0.5,queue=1M\n--pcap-cable=host1",
	        "--port=fd=40\n--port=fd=41\n--topology\nleaf-spine:2x1\n--at=leaf0:up0,delay=1",
	        "--port=fd=40\n--port=fd=40",
	        "--port=fd=1\n--port\n40",
	        "--loss-up=nan",
	        "--port=fd=40\n--port=fd=41\n--loss-up=1.5",
	        "--delay=-1",
	        "--seed=18446744073709551616",
	        "--aggregator=rt",
	        "--unknown",
	        "word",
	};
	char name[32];
	char many[1024] = "";
	size_t length = 0;

	for (unsigned i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		snprintf(name, sizeof(name), "seed.%u", i);
		write_file(directory, name, lines[i], strlen(lines[i]));
	}
	/* As many ports as are allowed, and one too many. */
	for (int fd = 40; fd < 73; fd++) {
		length += (size_t)snprintf(many + length, sizeof(many) - length, "%s--port=fd=%d",
		                           length ? "\n" : "", fd);
		if (fd == 71)
			write_file(directory, "seed.ports32", many, length);
	}
	write_file(directory, "seed.ports33", many, length);
}

/* The first byte says whether it is a file. */
static void write_topologies(const char *directory)
{
	static const char *const texts[] = {
	        "0leaf-spine:2x2",
	        "0tree:2x2x2",
	        "0clos:2x3x1",
	        "0clos:2x3x0",
	        "0ring:3",
	        "1{\"switches\": [{\"name\": \"a\", \"hosts\": [0, 1], \"up\": [\"t\", \"t\"]}, "
	        "{\"name\": \"t\", \"hosts\": 1, \"aggregator\": \"off\"}], "
	        "\"cables\": {\"a:up1\": {\"loss-up\": 0.5}}}",
	        "1{\"switches\": [{\"name\": \"a\", \"hosts\": 2, \"up\": [\"b\"]}, "
	        "{\"name\": \"b\", \"hosts\": 2, \"up\": [\"a\"]}]}",
	        "1{\"switches\": [{\"name\": \"a\", \"hosts\": 17}]}",
	        "1[]",
	};
	char name[32];

	for (unsigned i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		snprintf(name, sizeof(name), "seed.%u", i);
		write_file(directory, name, texts[i], strlen(texts[i]));
	}
}

/* Each kind of frame, to rank 0 and to another rank; and the bytes of unknown peers where ranks
 * meet.
 */
static void write_control(const char *directory)
{
	const struct ina_call call = {.number = 4,
	                              .count = 1000,
	                              .kind = INA_CALL_ALLREDUCE,
	                              .type = INA_FLOAT32,
	                              .op = INA_SUM};
	static const char request[] = "\0GET / HTTP/1.1\r\n\r\n";
	uint8_t bytes[3 + sizeof(struct ina_control_frame)];
	char name[32];

	for (uint16_t type = INA_CONTROL_CHALLENGE; type <= INA_CONTROL_PLAN; type++) {
		struct ina_control_frame frame = {.magic = INA_CONTROL_MAGIC,
		                                  .type = type,
		                                  .bytes = sizeof(frame),
		                                  .rank = type < INA_CONTROL_DECISION};

		if (type == INA_CONTROL_HELLO)
			frame.hello = (struct ina_hello){.ranks = 2, .window = 8, .channels = 1};
		else if (type == INA_CONTROL_VOTES)
			frame.votes = (struct ina_votes){
			        .phase = 1,
			        .voted.bits[0] = 2,
			        .least = {1024, 1},
			        .most = {1024, 1},
			        .calls = {.count = 1, .called = {{.current = call, .rank = 1}}}};
		else if (type == INA_CONTROL_STALL)
			frame.stall = (struct ina_stall){.call = call, .is_all = 1};
		else if (type == INA_CONTROL_FAULTS)
			frame.faults = (struct ina_faults){
			        .status = INA_ERR_AGGREGATOR,
			        .rank = 1,
			        .reported.bits[0] = 2,
			        .least_sums = 7,
			        .most_sums = 7,
			        .owner = 1,
			        .calls = {.count = 1, .called = {{.current = call, .rank = 1}}}};
		else if (type == INA_CONTROL_GATHERED)
			frame.gathered.bits[0] = 2;
		else if (type == INA_CONTROL_NEWS)
			frame.news.gone.bits[0] = 4;
		else if (type == INA_CONTROL_DECISION || type == INA_CONTROL_DIAGNOSIS ||
		         type == INA_CONTROL_FAREWELL)
			frame.decision = (struct ina_decision){.phase = 1, .minimum = 1024};
		else if (type == INA_CONTROL_PLAN)
			frame.plan = (struct ina_plan){.from = 3, .until = 7, .owner = 2};
		memcpy(bytes + 3, &frame, sizeof(frame));
		for (int role = 1; role <= 2; role++) {
			bytes[0] = (uint8_t)role;
			bytes[1] = 0;
			bytes[2] = (sizeof(frame) + 7) / 8;
			snprintf(name, sizeof(name), "seed.%u.%d", type, role);
			write_file(directory, name, bytes, sizeof(bytes));
		}
		/* At the bootstrap, in the mesh, and as a peer that can prove that it belongs to
		 * the job. */
		for (int role = 0; role <= 4; role += role == 0 ? 3 : 1) {
			bytes[2] = (uint8_t)role;
			snprintf(name, sizeof(name), "seed.%u.%d", type, role);
			write_file(directory, name, bytes + 2, sizeof(bytes) - 2);
		}
	}
	write_file(directory, "seed.http", request, sizeof(request) - 1);
}

/*
 * A ring of 8 places whose driver sends 16 bytes, and one that receives (fuzz_virtqueue.c: place
 * the ring, write the descriptor, the available entry and the index, take or fill).
 */
static void write_virtqueue(const char *directory)
{
	static const uint8_t place[] = {0, 3, 0, 0, 0, 1, 0, 2, 0, 0};
	static const uint8_t available[] = {1, 2, 1, 4, 1, 0, 0, 0};

	for (uint8_t flags = 0; flags <= 2; flags += 2) { /* 2: to be written by the device */
		const uint8_t descriptor[] = {1, 0, 0,  16, 0, 0x18, 0,     0, 0, 0,
		                              0, 0, 64, 0,  0, 0,    flags, 0, 0, 0};
		const uint8_t use[] = {flags ? 3 : 2, 20, 0, 4, flags ? 3 : 2, 20, 0};
		uint8_t bytes[128];
		size_t length = 0;

		memcpy(bytes, place, sizeof(place));
		length += sizeof(place);
		memcpy(bytes + length, descriptor, sizeof(descriptor));
		length += sizeof(descriptor);
		memcpy(bytes + length, available, sizeof(available));
		length += sizeof(available);
		memcpy(bytes + length, use, sizeof(use));
		write_file(directory, flags ? "seed.fill" : "seed.take", bytes,
		           length + sizeof(use));
	}
}

/* The messages and actions of a driver, one byte for each operation (fuzz_vhost_user.c). */
static void write_vhost_user(const char *directory)
{
	static const uint8_t good[] = {8, 4, 1, 0, 72, 0, 6, 4, 0, 2, 0, 8, 7, 46, 0};
	static const uint8_t again[] = {8, 4, 1, 0, 72, 0, 1, 5, 0, 6,  2,
	                                0, 0, 0, 2, 1,  0, 0, 6, 7, 46, 0};
	static const uint8_t off[] = {8, 3, 2, 4, 1, 0, 72, 0, 6, 3, 3, 6};
	static const uint8_t wild[] = {8, 1, 6, 1, 1, 9, 2, 2, 0, 1, 0, 6};
	static const uint8_t questions[] = {0, 1, 0, 0, 0, 15, 0, 0, 0, 24, 20, 0, 0, 0, 0, 0, 8};

	write_file(directory, "seed.good", good, sizeof(good));
	write_file(directory, "seed.again", again, sizeof(again));
	write_file(directory, "seed.off", off, sizeof(off));
	write_file(directory, "seed.wild", wild, sizeof(wild));
	write_file(directory, "seed.questions", questions, sizeof(questions));
}

/* The callers of a leader of three ranks, and a leader's answers (fuzz_local_socket.c). */
static void write_local_socket(const char *directory)
{
	static const uint8_t alone[] = {0, 1};
	static const uint8_t others[] = {0, 1, 3,    2, 0, 2, 3, 9, 0,
	                                 2, 1, 0xF0, 0, 2, 3, 1, 0, 0xC0};
	static const uint8_t odd[] = {0, 1, 3, 1, 0xC8, 2, 3, 1, 0xC0, 2, 3, 1, 0, 3, 0, 0, 0, 0};
	static const uint8_t answered[] = {1, 2, 1, 0, 0, 3};
	static const uint8_t too_many[] = {1, 2, 1, 0, 0, 0xFE};

	write_file(directory, "seed.alone", alone, sizeof(alone));
	write_file(directory, "seed.others", others, sizeof(others));
	write_file(directory, "seed.odd", odd, sizeof(odd));
	write_file(directory, "seed.answered", answered, sizeof(answered));
	write_file(directory, "seed.too_many", too_many, sizeof(too_many));
}

static void add_word(struct seed *seed, uint32_t word)
{
	for (unsigned i = 0; i < 4; i++)
		add(seed, word >> 8 * i);
}

/* The start of a capture: pcap with nanoseconds, or pcapng. */
static void begin_recording(struct seed *seed, bool is_pcapng, unsigned link_type)
{
	static const uint32_t pcap[] = {0xA1B23C4D, 0x00040002, 0, 0, 65535};
	static const uint32_t section[] = {0x0A0D0D0A, 28, 0x1A2B3C4D, 1, ~0u, ~0u, 28};

	for (unsigned i = 0; i < (is_pcapng ? 7 : 5); i++)
		add_word(seed, is_pcapng ? section[i] : pcap[i]);
	if (is_pcapng) {
		add_word(seed, 1);
		add_word(seed, 20);
	}
	add_word(seed, link_type);
	if (is_pcapng) {
		add_word(seed, 0);
		add_word(seed, 20);
	}
}

static void add_record(struct seed *seed, bool is_pcapng, unsigned number, const uint8_t *bytes,
                       unsigned length)
{
	const unsigned block = 32 + (length + 3) / 4 * 4;

	if (is_pcapng) {
		add_word(seed, 6);
		add_word(seed, block);
		add_word(seed, 0);
	}
	add_word(seed, 0);
	add_word(seed, number);
	add_word(seed, length);
	add_word(seed, length);
	for (unsigned i = 0; i < (is_pcapng ? block - 32 : length); i++)
		add(seed, i < length ? bytes[i] : 0);
	if (is_pcapng)
		add_word(seed, block);
}

/* JOINs of two ranks, in the captures that ina-bridge replay takes (fuzz_replay.c). */
static void write_recordings(const char *directory)
{
	enum { SLL2 = 276, SLL2_BYTES = 20, ETHERNET_BYTES = 14 };
	struct ina_wire_header header = {.magic = INA_WIRE_MAGIC,
	                                 .version = INA_WIRE_VERSION,
	                                 .type = INA_WIRE_JOIN,
	                                 .rank_count = 2,
	                                 .exponent = -8};
	uint8_t payload[sizeof(header) + 64], record[512];
	char name[32];

	for (unsigned kind = 0; kind < 4; kind++) {
		const bool is_pcapng = kind & 1, is_cooked = kind & 2;
		struct seed seed = {0};

		begin_recording(&seed, is_pcapng, is_cooked ? SLL2 : 1);
		for (unsigned rank = 0; rank < 2; rank++) {
			const struct frame_spec spec = {
			        .source = rank,
			        .destination = !rank,
			        .destination_qpn = 0x11,
			        .opcode = 4,
			        .tos = INA_WIRE_TRAFFIC_CLASS,
			        .payload = payload,
			        .payload_bytes = message_make(payload, &header, NULL, rank)};
			unsigned length = (unsigned)frame_write(record + 6, &spec);

			if (is_cooked) {
				const uint8_t cooked[SLL2_BYTES] = {
				        8, 0, 0, 0, 0, 0, 0, (uint8_t)(rank + 1), 0, 1,
				        0, 6, 2, 0, 0, 0, 0, (uint8_t)(rank + 1)};
				memcpy(record, cooked, sizeof(cooked));
				length += SLL2_BYTES - ETHERNET_BYTES;
			}
			add_record(&seed, is_pcapng, rank, record + (is_cooked ? 0 : 6), length);
		}
		snprintf(name, sizeof(name), "seed.%u", kind);
		write_file(directory, name, seed.bytes, seed.length);
	}
}

int main(int argc, char **argv)
{
	enum {
		MODEL,
		BRIDGE,
		OPTIONS,
		CONTROL,
		VIRTQUEUE,
		VHOST_USER,
		LOCAL_SOCKET,
		TOPOLOGY,
		REPLAY,
		FUZZERS
	};
	static const char *const names[FUZZERS] = {"model",        "bridge",    "options",
	                                           "control",      "virtqueue", "vhost_user",
	                                           "local_socket", "topology",  "replay"};
	char paths[FUZZERS][4096];

	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIRECTORY\n");
		return 2;
	}
	if (mkdir(argv[1], 0777) != 0 && errno != EEXIST)
		die("make", argv[1]);
	for (unsigned i = 0; i < FUZZERS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", argv[1], names[i]);
		if (mkdir(paths[i], 0777) != 0 && errno != EEXIST)
			die("make", paths[i]);
	}
	write_traffic(paths[MODEL], paths[BRIDGE]);
	write_options(paths[OPTIONS]);
	write_control(paths[CONTROL]);
	write_virtqueue(paths[VIRTQUEUE]);
	write_vhost_user(paths[VHOST_USER]);
	write_local_socket(paths[LOCAL_SOCKET]);
	write_topologies(paths[TOPOLOGY]);
	write_recordings(paths[REPLAY]);
	return 0;
}
