/* SPDX-License-Identifier: Apache-2.0 */
/* A table is a list of columns: a title, a member of each row's object, and a width. */
#include "tables.h"

#include <stdio.h>
#include <string.h>

enum { CELL_BYTES = 256 };

struct column {
	const char *title;
	const char *member;
	int width; /* negative: aligned to the left, as printf() has it */
};

static void append(char *cell, const char *text)
{
	const size_t used = strlen(cell);

	snprintf(cell + used, CELL_BYTES - used, "%s%s", used ? "," : "", text);
}

/* Writes a value as text; a list becomes its values with commas. */
static void write_cell(const json_t *value, char *cell)
{
	char number[32];
	const json_t *item;
	size_t at;

	if (json_is_string(value)) {
		append(cell, json_string_length(value) ? json_string_value(value) : "-");
	} else if (json_is_integer(value)) {
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
		         json_integer_value(value));
		append(cell, number);
	} else if (json_is_real(value)) {
		snprintf(number, sizeof(number), "%.1f", json_real_value(value));
		append(cell, number);
	} else if (json_is_boolean(value)) {
		append(cell, json_is_true(value) ? "yes" : "no");
	} else if (json_is_array(value) && json_array_size(value)) {
		json_array_foreach(value, at, item) write_cell(item, cell);
	} else {
		append(cell, "-");
	}
}

static void print_table(const struct column *columns, const json_t *rows)
{
	const json_t *row;
	size_t at;

	for (const struct column *column = columns; column->title; column++)
		printf("%*s%s", column->width, column->title, column[1].title ? "  " : "\n");
	json_array_foreach(rows, at, row)
	{
		for (const struct column *column = columns; column->title; column++) {
			char cell[CELL_BYTES] = "";

			write_cell(json_object_get(row, column->member), cell);
			if (column[1].title)
				printf("%*s  ", column->width, cell);
			else
				puts(cell);
		}
	}
}

static void print_ports(const json_t *answer)
{
	static const struct column columns[] = {
	        {"PORT", "port", 4},
	        {"INTERFACE", "name", -15},
	        {"LINK", "link", -6},
	        {"MTU", "mtu", 5},
	        {"ADDRESS", "address", -15},
	        {"IN", "rx_frames", 10},
	        {"OUT", "tx_frames", 10},
	        {"ROCE", "roce_frames", 10},
	        {"MARKED", "marked_sends", 10},
	        {"UNMARKED", "unmarked_sends", 10},
	        {"DROPPED", "dropped", 8},
	        {"MAC", "macs", -17},
	        {0},
	};

	print_table(columns, answer);
}

static void print_contexts(const json_t *answer)
{
	static const struct column columns[] = {
	        {"SWITCH", "switch", -12},
	        {"AGGREGATOR", "aggregator", -10},
	        {"CONTEXTS", "contexts", 8},
	        {"USED", "used", 4},
	        {"FREE", "free", 4},
	        {"PORT-QUOTA", "port_quota", 10},
	        {"VLAN-QUOTA", "vlan_quota", 10},
	        {"DRAINING", "draining", -8},
	        {"REFUSED", "joins_refused", 8},
	        {"HELD", "joins_held", 8},
	        {"LACKED", "contexts_lacked", 8},
	        {0},
	};

	print_table(columns, answer);
}

static void print_jobs(const json_t *answer)
{
	static const struct column columns[] = {
	        {"JOB", "job", -18},
	        {"SWITCH", "switch", -12},
	        {"STATE", "state", -8},
	        {"RANKS", "ranks", 5},
	        {"JOINED", "joined", 6},
	        {"WINDOW", "window", 6},
	        {"AGE/s", "age_s", 8},
	        {"PACKETS", "packets", 10},
	        {"WAITS FOR", "waits_for", -9},
	        {0},
	};
	static const struct column members[] = {
	        {"  RANK", "rank", 6},
	        {"ADDRESS", "address", -15},
	        {"PORT", "port", 4},
	        {"INTERFACE", "name", -15},
	        {"QUEUED", "waiting_packets", 6},
	        {"ABOVE", "from_above", -5},
	        {"LEFT", "left", -4},
	        {0},
	};
	const json_t *job;
	size_t at;

	print_table(columns, answer);
	json_array_foreach(answer, at, job)
	{
		printf("\n%s\n", json_string_value(json_object_get(job, "job")));
		print_table(members, json_object_get(job, "members"));
	}
}

/* Prints a line for each number in the object, with the names of all members that lead to it. */
static void print_counters(const json_t *value, const char *prefix)
{
	const char *name;
	const json_t *member;
	char path[CELL_BYTES], cell[CELL_BYTES] = "";
	size_t at;

	if (json_is_object(value)) {
		json_object_foreach((json_t *)value, name, member)
		{
			snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", name);
			print_counters(member, path);
		}
	} else if (json_is_array(value)) {
		json_array_foreach(value, at, member)
		{
			snprintf(path, sizeof(path), "%s.%zu", prefix, at);
			print_counters(member, path);
		}
	} else {
		write_cell(value, cell);
		printf("%-50s %s\n", prefix, cell);
	}
}

void tables_print(const char *ask, const json_t *answer)
{
	const json_t *line;
	size_t at;

	if (!strcmp(ask, "ports"))
		print_ports(answer);
	else if (!strcmp(ask, "contexts"))
		print_contexts(answer);
	else if (!strcmp(ask, "jobs"))
		print_jobs(answer);
	else if (!strcmp(ask, "counters"))
		print_counters(answer, "");
	else if (!strcmp(ask, "why"))
		json_array_foreach(answer, at, line)
		        puts(json_is_string(line) ? json_string_value(line) : "");
}
