/* SPDX-License-Identifier: Apache-2.0 */
/* One function reads each kind of value. */
#include "bridge_options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "parse.h"

enum { KEY_FIRST = 0x400, GROUP_VIRTUAL = 7 };

enum kind { TEXT, CHOICE, WHOLE, REAL, SECONDS, TIME, QUANTITY, HOST_TIME, HOST_TIMES };

struct row {
	const char *dashed;
	const char *argument;
	enum bridge_option_scope scope;
	int group;
	enum kind kind;
	uint64_t least;
	uint64_t most;
};

static const struct row rows[] = {
#define X(here, scope, name, argument, group, kind, least, most, help)                             \
	{"--" name, argument, BRIDGE_OPTION_OF_##scope, group, kind, least, most},
        BRIDGE_OPTIONS(X)
#undef X
};

static const struct argp_option options[] = {
        {NULL, 0, NULL, 0, "With --virtual-time only:", GROUP_VIRTUAL},
#define X(here, scope, name, argument, group, kind, least, most, help)                             \
	{name, KEY_FIRST + BRIDGE_OPTION_##here, argument, 0, help, group},
        BRIDGE_OPTIONS(X)
#undef X
                {0},
};

struct unit {
	const char *name;
	double factor;
};

static const struct unit times[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
static const struct unit powers[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0}};

/*
 * Reads a number that one of the units follows, up to the character `end`. Returns a pointer to
 * `end`, or NULL if the text is not such a number.
 */
static const char *scan_units(const struct row *row, const char *text, char end,
                              const struct unit *unit, double *value)
{
	const char *name = ina_scan_real(text, 0, HUGE_VAL, value);

	if (!name)
		return NULL;
	const size_t length = strcspn(name, (const char[]){end, '\0'});
	while (unit->name && (strlen(unit->name) != length || strncmp(unit->name, name, length)))
		unit++;
	*value *= unit->factor;
	if (!unit->name || !(*value >= (double)row->least && *value <= (double)row->most))
		return NULL;
	return name + length;
}

static const char *scan_time(const struct row *row, const char *text, char end, uint64_t *time_ns)
{
	double value;
	const char *rest = scan_units(row, text, end, times, &value);

	if (rest)
		*time_ns = (uint64_t)llround(value);
	return rest;
}

static bool read_quantity(const struct row *row, struct bridge_option *option)
{
	if (!scan_units(row, option->text, '\0', powers, &option->real))
		return false;
	option->whole = (uint64_t)llround(option->real);
	return true;
}

static bool read_choice(const struct row *row, struct bridge_option *option)
{
	const size_t length = strlen(option->text);

	for (const char *word = row->argument; word; option->whole++) {
		const size_t word_length = strcspn(word, "|");

		if (word_length == length && !strncmp(word, option->text, length))
			return true;
		word = word[word_length] ? word + word_length + 1 : NULL;
	}
	return false;
}

static bool read_seconds(const struct row *row, struct bridge_option *option)
{
	double seconds;

	if (!ina_parse_real(option->text, 0, (double)row->most, &seconds) ||
	    (seconds > 0 && seconds < 1e-3))
		return false;
	option->whole = (uint64_t)(1e9 * seconds);
	return true;
}

static bool read_host_times(const struct row *row, struct bridge_option *option)
{
	uint64_t host;
	const char *rest = ina_scan_whole(option->text, 0, BRIDGE_OPTIONS_HOSTS_MAX - 1, &host);

	if (!rest || *rest != ':')
		return false;
	option->host = (unsigned)host;
	option->until = UINT64_MAX;
	rest = scan_time(row, rest + 1, ':', &option->whole);
	if (rest && *rest == ':' && row->kind == HOST_TIMES)
		rest = scan_time(row, rest + 1, '\0', &option->until);
	return rest && !*rest;
}

static bool read_value(const struct row *row, struct bridge_option *option)
{
	switch (row->kind) {
	case TEXT:
		return true;
	case CHOICE:
		return read_choice(row, option);
	case WHOLE:
		return ina_parse_whole(option->text, row->least, row->most, &option->whole);
	case REAL:
		return ina_parse_real(option->text, (double)row->least, (double)row->most,
		                      &option->real);
	case SECONDS:
		return read_seconds(row, option);
	case HOST_TIME:
	case HOST_TIMES:
		return read_host_times(row, option);
	case TIME:
		return scan_time(row, option->text, '\0', &option->whole);
	default:
		return read_quantity(row, option);
	}
}

static void describe(const struct row *row, const char *text, char *error, size_t error_bytes)
{
	const double least = (double)row->least, most = (double)row->most;
	char what[160];

	switch (row->kind) {
	case CHOICE:
		snprintf(what, sizeof(what), "one of %s", row->argument);
		for (char *bar; (bar = strchr(what, '|'));) {
			memmove(bar + 2, bar + 1, strlen(bar));
			memcpy(bar, ", ", 2);
		}
		break;
	case WHOLE:
		snprintf(what, sizeof(what), "a whole number from %" PRIu64 " to %" PRIu64,
		         row->least, row->most);
		break;
	case REAL:
		snprintf(what, sizeof(what), "a number from %g to %g", least, most);
		break;
	case SECONDS:
		snprintf(what, sizeof(what), "0 or a number of seconds from 0.001 to %g", most);
		break;
	case QUANTITY:
		snprintf(what, sizeof(what), "a number from %g to %g, such as 10G or 2.5M", least,
		         most);
		break;
	default:
		snprintf(what, sizeof(what), "%s: up to %g s, followed by ns, us, ms or s",
		         row->argument, most * 1e-9);
	}
	snprintf(error, error_bytes, "%s takes %s, not '%s'", row->dashed, what, text);
}

static void complain(const struct argp_state *state, const struct row *row, const char *text)
{
	char error[512];

	describe(row, text, error, sizeof(error));
	argp_failure(state, BRIDGE_OPTIONS_EXIT_USAGE, 0, "%s", error);
}

static void begin(struct bridge_option *option, unsigned name, char *text)
{
	*option = (struct bridge_option){
	        .name = (enum bridge_option_name)name,
	        .dashed = rows[name].dashed,
	        .text = text,
	        .is_virtual = rows[name].group == GROUP_VIRTUAL,
	        .scope = rows[name].scope,
	};
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	const struct bridge_options_input *input = state->input;
	const int index = key - KEY_FIRST;

	if (index < 0 || index >= BRIDGE_OPTION_COUNT)
		return ARGP_ERR_UNKNOWN;
	struct bridge_option option;

	begin(&option, (unsigned)index, text);
	if (!read_value(&rows[index], &option))
		complain(state, &rows[index], text);
	input->take(input->context, state, &option);
	return 0;
}

const struct argp bridge_options_argp = {.options = options, .parser = parse};

void bridge_options_read_host_time(const struct argp_state *state, const char *dashed, char *text,
                                   struct bridge_option *option)
{
	const struct row row = {.dashed = dashed,
	                        .argument = "HOST:TIME",
	                        .kind = HOST_TIME,
	                        .most = BRIDGE_OPTIONS_TIME_MOST_NS};

	*option = (struct bridge_option){.text = text};
	if (!read_value(&row, option))
		complain(state, &row, text);
}

bool bridge_options_read(const char *name, char *text, struct bridge_option *option, char *error,
                         size_t error_bytes)
{
	for (unsigned i = 0; i < BRIDGE_OPTION_COUNT; i++) {
		if (strcmp(rows[i].dashed + 2, name) != 0)
			continue;
		begin(option, i, text);
		if (read_value(&rows[i], option))
			return true;
		describe(&rows[i], text, error, error_bytes);
		return false;
	}
	snprintf(error, error_bytes, "no such option: --%s", name);
	return false;
}
