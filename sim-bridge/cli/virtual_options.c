/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with units: times in ns, us, ms or s; rates in k, M or G. */
#include "virtual_options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEY_VIRTUAL_TIME = 0x200,
	KEY_LINK_RATE,
	KEY_LINK_DELAY,
	KEY_SWITCH_DELAY,
	KEY_RTL_CLOCK,
	KEY_QUEUE,
	KEY_MARKING,
	KEY_HOST_PACKET_COST,
	KEY_HOST_BYTE_COST,
	KEY_START_DELAY,
	KEY_KILL,
	KEY_CUT,
	KEY_RESET_AT,
	KEY_PROGRESS,
};

static const struct argp_option table[] = {
        {NULL, 0, NULL, 0, "Virtual time:", 5},
        {"virtual-time", KEY_VIRTUAL_TIME, "fd=N", 0,
         "Hosts have their clock from here: N is a listening socket for it, and each --port one "
         "for a vhost-user network device",
         5},
        {"link-rate", KEY_LINK_RATE, "BITS", 0, "Bits a second on each cable (default 100G)", 5},
        {"link-delay", KEY_LINK_DELAY, "TIME", 0, "Of each cable (default 500ns)", 5},
        {"switch-delay", KEY_SWITCH_DELAY, "TIME", 0,
         "Of the switch, beside receiving the whole frame and queueing (default 300ns)", 5},
        {"rtl-clock", KEY_RTL_CLOCK, "HZ", 0, "Of the aggregator's RTL (default 250M)", 5},
        {"queue", KEY_QUEUE, "BYTES", 0,
         "Each port of the switch queues so much, and drops the rest (default 2M; 0: no limit)", 5},
        {"ecn-threshold", KEY_MARKING, "BYTES", 0,
         "A longer queue marks frames with congestion experienced (default 0: never)", 5},
        {"host-packet-cost", KEY_HOST_PACKET_COST, "NS", 0,
         "What a packet costs the processor of a host that sends or receives it (default 0)", 5},
        {"host-byte-cost", KEY_HOST_BYTE_COST, "NS", 0, "... and what each of its bytes does", 5},
        {"start-delay", KEY_START_DELAY, "HOST:TIME", 0, "A host starts so much later", 5},
        {"kill", KEY_KILL, "HOST:TIME", 0, "A host dies so long after the start of all", 5},
        {"cut", KEY_CUT, "HOST:TIME[:TIME]", 0,
         "A host's cable is out from then (until then; for ever)", 5},
        {"reset-at", KEY_RESET_AT, "TIME", 0,
         "The aggregator is reset so long after the start of all; may be repeated", 5},
        {"progress", KEY_PROGRESS, "FILE", OPTION_ARG_OPTIONAL,
         "Says now and then how far time has got, and the share of the work done that FILE tells", 5},
        {0},
};

static const char *name_of(int key)
{
	const struct argp_option *option = table;

	while (option->key != key)
		option++;
	return option->name;
}

struct unit {
	const char *name;
	double factor;
};

static const struct unit times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
static const struct unit powers[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0}};

/* A number with one of the units, up to `end`, which follows it. */
static double parse_quantity(struct argp_state *state, int key, const char *text, char end,
                             const struct unit *units, double least, double most)
{
	char *unit;
	double value = strtod(text, &unit);
	const size_t length = strcspn(unit, end ? (char[]){end, '\0'} : "");

	while (units->name && (strlen(units->name) != length || strncmp(units->name, unit, length)))
		units++;
	value *= units->factor;
	if (unit == text || !units->name || isnan(value) || value < least || value > most)
		argp_error(state, "--%s %s: not a number from %g to %g with one of the units %s",
		           name_of(key), text, least, most,
		           end || units == times ? "ns, us, ms, s" : "that --help shows");
	return value;
}

#define TIME_MOST_NS 1e15

static uint64_t parse_time(struct argp_state *state, int key, const char *text)
{
	return (uint64_t)llround(parse_quantity(state, key, text, '\0', times, 0, TIME_MOST_NS));
}

static uint64_t parse_power(struct argp_state *state, int key, const char *text, double least,
                            double most)
{
	return (uint64_t)llround(parse_quantity(state, key, text, '\0', powers, least, most));
}

/* HOST:TIME..., returns what is behind the first colon. */
static const char *parse_host(struct argp_state *state, int key, const char *text,
                              struct virtual_config *time, struct virtual_faults **faults)
{
	const char *colon = strchr(text, ':');
	char *end;
	long host = strtol(text, &end, 10);

	if (!colon || end == text || end != colon || host < 0 || host >= BRIDGE_PORTS_MAX)
		argp_error(state, "--%s %s: not HOST:TIME, as in 2:10ms", name_of(key), text);
	*faults = &time->faults[host];
	return colon + 1;
}

static void parse_cut(struct argp_state *state, const char *text, struct virtual_config *time)
{
	struct virtual_faults *faults;
	const char *from = parse_host(state, KEY_CUT, text, time, &faults);
	const char *until = strchr(from, ':');

	faults->cut_ns = (uint64_t)llround(
	        parse_quantity(state, KEY_CUT, from, ':', times, 0, TIME_MOST_NS));
	faults->mend_ns = until ? parse_time(state, KEY_CUT, until + 1) : GUEST_NEVER;
}

static void parse_reset(struct argp_state *state, const char *text, struct virtual_config *time)
{
	if (time->reset_count == VIRTUAL_RESETS_MAX)
		argp_error(state, "--reset-at %s: more than %d of them", text, VIRTUAL_RESETS_MAX);
	time->resets_ns[time->reset_count++] = parse_time(state, KEY_RESET_AT, text);
}

static error_t parse_host_option(int key, char *text, struct argp_state *state)
{
	struct virtual_options *options = state->input;
	struct virtual_faults *faults;

	switch (key) {
	case KEY_START_DELAY:
		text = (char *)parse_host(state, key, text, &options->time, &faults);
		faults->start_delay_ns = parse_time(state, key, text);
		return 0;
	case KEY_KILL:
		text = (char *)parse_host(state, key, text, &options->time, &faults);
		faults->kill_ns = parse_time(state, key, text);
		return 0;
	case KEY_CUT:
		parse_cut(state, text, &options->time);
		return 0;
	case KEY_HOST_PACKET_COST:
		options->time.host_packet_ns =
		        parse_quantity(state, key, text, '\0', powers, 0, 1e9);
		return 0;
	case KEY_HOST_BYTE_COST:
		options->time.host_byte_ns = parse_quantity(state, key, text, '\0', powers, 0, 1e6);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct virtual_options *options = state->input;
	char *end;

	switch (key) {
	case KEY_VIRTUAL_TIME:
		options->time.clock_fd =
		        strncmp(text, "fd=", 3) ? -1 : (int)strtol(text + 3, &end, 10);
		if (options->time.clock_fd < 0 || *end || end == text + 3)
			argp_error(state, "--virtual-time %s: must be fd=N, N a listening socket",
			           text);
		return 0;
	case KEY_LINK_RATE:
		options->time.link_bits_per_second = parse_power(state, key, text, 1e6, 1e12);
		return 0;
	case KEY_LINK_DELAY:
		options->time.link_delay_ns = parse_time(state, key, text);
		return 0;
	case KEY_SWITCH_DELAY:
		options->switch_delay_ns = parse_time(state, key, text);
		return 0;
	case KEY_RTL_CLOCK:
		options->time.rtl_clock_hz = parse_power(state, key, text, 1e6, 1e10);
		return 0;
	case KEY_QUEUE:
		options->time.queue_bytes = parse_power(state, key, text, 0, 1e12);
		return 0;
	case KEY_MARKING:
		options->time.marking_bytes = parse_power(state, key, text, 0, 1e12);
		return 0;
	case KEY_RESET_AT:
		parse_reset(state, text, &options->time);
		return 0;
	case KEY_PROGRESS:
		options->time.shows_progress = true;
		options->time.share_path = text;
		return 0;
	default:
		return parse_host_option(key, text, state);
	}
}

const struct argp virtual_argp = {.options = table, .parser = parse};

void virtual_options_init(struct virtual_options *options)
{
	*options = (struct virtual_options){
	        .time.clock_fd = -1,
	        .time.link_bits_per_second = 100000000000,
	        .time.link_delay_ns = 500,
	        .time.rtl_clock_hz = 250000000,
	        .time.queue_bytes = 2000000,
	        .switch_delay_ns = 300,
	};
	for (unsigned host = 0; host < BRIDGE_PORTS_MAX; host++)
		options->time.faults[host].kill_ns = options->time.faults[host].cut_ns =
		        GUEST_NEVER;
}
