/* SPDX-License-Identifier: Apache-2.0 */
#include "inquiry.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
	HOPS_MAX = 8, /* bridges that a question reaches, also in a loop of others */
	/* Messages of a port in a second; more are dropped, since each one goes to all ports. */
	RATE_MAX = 256,
	WARNING_AFTER = 5,
	VERSION = 1,
};

#define INTERVAL_NS UINT64_C(1000000000)

enum kind { QUESTION = 1, ANSWER };

/* In network byte order. */
struct message {
	uint8_t destination[6];
	uint8_t source[6];
	uint8_t type[2];
	char magic[12];
	uint8_t version;
	uint8_t kind;
	uint8_t hops;      /* bridges that have passed it on */
	uint8_t is_uplink; /* of an answer: the question came by an uplink */
	uint8_t level;     /* of an answer: of the switch that the question came to */
	uint8_t zero;
	uint32_t first_number, switch_count; /* of the bridge that asks, or that answers */
	uint64_t id;                         /* of the bridge that has asked */
	uint8_t rest[16];
};

/* The local experimental EtherType 2 of IEEE 802. */
static const struct message blank = {
        .destination = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
        .source = {0x02},
        .type = {0x88, 0xB6},
        .magic = "ina-bridge",
        .version = VERSION,
};

static void send_message(const struct inquiry *inquiry, unsigned port,
                         const struct message *message)
{
	struct frame *frame = frame_new(inquiry->pool);

	_Static_assert(sizeof(*message) == 64, "a structure without padding");
	if (!frame)
		return;
	memcpy(frame->bytes, message, sizeof(*message));
	frame->length = sizeof(*message);
	port_send(&inquiry->ports[port], frame);
}

static const struct topology_switch *switch_at(const struct inquiry *inquiry, unsigned port)
{
	const struct topology *topology = inquiry->fabric->topology;

	return &topology->switches[topology->cables[port].upper];
}

static void set_numbers(const struct inquiry *inquiry, struct message *message)
{
	message->first_number = htobe32(inquiry->first_number);
	message->switch_count = htobe32(inquiry->fabric->topology->switch_count);
}

static bool has_same_numbers(const struct inquiry *inquiry, const struct message *message)
{
	const uint64_t own = inquiry->first_number, other = be32toh(message->first_number);

	return other < own + inquiry->fabric->topology->switch_count &&
	       own < other + be32toh(message->switch_count);
}

/* An event: asks, unless an answer has come since the last event. */
static void ask(void *context, uint64_t time_ns, struct frame *frame, uint64_t id)
{
	struct inquiry *inquiry = context;
	struct message message = blank;
	const struct event again = {
	        .time_ns = time_ns + INTERVAL_NS, .run = ask, .context = context};

	(void)frame;
	(void)id;
	inquiry->has_ended = inquiry->is_answered;
	if (inquiry->has_ended)
		return;
	if (inquiry->count++ == WARNING_AFTER)
		fprintf(stderr,
		        "ina-bridge: --uplink %u: no ina-bridge has answered at port %u: does it "
		        "run?\n",
		        inquiry->uplink, inquiry->uplink);
	message.kind = QUESTION;
	set_numbers(inquiry, &message);
	message.id = htobe64(inquiry->id);
	memcpy(message.source + 1, &message.id, sizeof(message.source) - 1);
	send_message(inquiry, inquiry->uplink, &message);
	(void)calendar_add(&inquiry->fabric->calendar, &again);
}

void inquiry_start(struct inquiry *inquiry, uint64_t time_ns)
{
	if (inquiry->uplink == TOPOLOGY_NONE)
		return;
	if (getrandom(&inquiry->id, sizeof(inquiry->id), GRND_NONBLOCK) != sizeof(inquiry->id))
		inquiry->id = time_ns;
	ask(inquiry, time_ns, NULL, 0);
}

/* To all other ports, since it may be for a bridge at any of them. */
static void pass_on(const struct inquiry *inquiry, unsigned port, struct message message)
{
	if (message.hops >= HOPS_MAX)
		return;
	message.hops++;
	for (unsigned other = 0; other < inquiry->fabric->topology->host_count; other++)
		if (other != port)
			send_message(inquiry, other, &message);
}

static void answer(const struct inquiry *inquiry, unsigned port, struct message message)
{
	message.kind = ANSWER;
	message.is_uplink = port == inquiry->uplink;
	message.level = (uint8_t)switch_at(inquiry, port)->level;
	set_numbers(inquiry, &message);
	send_message(inquiry, port, &message);
}

static void describe_numbers(const struct inquiry *inquiry, const struct message *message,
                             const char *whose, char error[INQUIRY_ERROR_BYTES])
{
	const uint32_t first = be32toh(message->first_number);

	snprintf(error, INQUIRY_ERROR_BYTES,
	         "--switch-number %u: %s has the numbers %" PRIu32 " to %" PRIu32
	         ": all switches need different ones",
	         inquiry->first_number, whose, first, first + be32toh(message->switch_count) - 1);
}

/* The bridge above has answered. */
static void judge(struct inquiry *inquiry, const struct message *message)
{
	const unsigned level = switch_at(inquiry, inquiry->uplink)->level;
	char *const error = inquiry->error;

	inquiry->is_answered = true;
	if (message->is_uplink)
		snprintf(error, INQUIRY_ERROR_BYTES,
		         "--uplink %u: it is the uplink of the ina-bridge at its other end too: "
		         "only the lower one of both gives --uplink",
		         inquiry->uplink);
	else if (message->level <= level)
		snprintf(error, INQUIRY_ERROR_BYTES,
		         "--uplink %u: the switch above has level %u, and this one level %u: "
		         "start the ina-bridge above with a higher --level",
		         inquiry->uplink, message->level, level);
	else if (has_same_numbers(inquiry, message))
		describe_numbers(inquiry, message, "the ina-bridge above", error);
}

static void take_question(struct inquiry *inquiry, unsigned port, struct message message)
{
	const bool is_own = inquiry->uplink != TOPOLOGY_NONE && message.id == htobe64(inquiry->id);

	if (is_own && port != inquiry->uplink && !inquiry->has_ended &&
	    !inquiry->ports[port].is_in_loop) {
		inquiry->ports[port].is_in_loop = true;
		fprintf(stderr,
		        "ina-bridge: --uplink %u: a loop: frames that leave by it come back at "
		        "port %u: port %u is closed\n",
		        inquiry->uplink, port, port);
	}
	if (is_own)
		return;
	if (message.hops == 0 || has_same_numbers(inquiry, &message))
		answer(inquiry, port, message);
	pass_on(inquiry, port, message);
}

/* Only an answer at the uplink that no bridge has passed on can end this bridge. */
static void take_answer(struct inquiry *inquiry, unsigned port, const struct message *message)
{
	char line[INQUIRY_ERROR_BYTES];

	if (message->id != htobe64(inquiry->id)) {
		pass_on(inquiry, port, *message);
	} else if (port == inquiry->uplink && message->hops == 0 && !inquiry->is_answered) {
		judge(inquiry, message);
	} else if (port == inquiry->uplink && message->hops > 0 && !inquiry->is_warned &&
	           has_same_numbers(inquiry, message)) {
		inquiry->is_warned = true;
		describe_numbers(inquiry, message, "another ina-bridge of the fabric", line);
		fprintf(stderr, "ina-bridge: %s\n", line);
	}
}

static bool is_too_many(struct inquiry_rate *rate, uint64_t time_ns)
{
	const uint64_t second = time_ns / INTERVAL_NS;

	if (rate->second != second)
		*rate = (struct inquiry_rate){.second = second};
	return rate->count++ >= RATE_MAX;
}

bool inquiry_take(struct inquiry *inquiry, unsigned port, uint64_t time_ns,
                  const struct frame *frame)
{
	struct message message;

	if (frame->length != sizeof(message))
		return false;
	memcpy(&message, frame->bytes, sizeof(message));
	if (memcmp(message.type, blank.type, sizeof(blank.type)) ||
	    memcmp(message.magic, blank.magic, sizeof(blank.magic)) || message.version != VERSION)
		return false;
	if (is_too_many(&inquiry->rates[port], time_ns))
		return true;
	if (message.kind == QUESTION)
		take_question(inquiry, port, message);
	else if (message.kind == ANSWER)
		take_answer(inquiry, port, &message);
	return true;
}
