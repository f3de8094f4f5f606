/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "config.h"

#include <argz.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 32, VALUE_BYTES = 64 };

json_t *config_read(const char *path, char *error, size_t error_bytes)
{
	FILE *file = fopen(path, "r");
	json_error_t wrong;
	json_t *object;

	if (!file) {
		snprintf(error, error_bytes, "%s", strerror(errno));
		return NULL;
	}
	object = json_loadf(file, JSON_REJECT_DUPLICATES, &wrong);
	fclose(file);
	if (json_is_object(object))
		return object;
	if (object)
		snprintf(error, error_bytes, "it must be a JSON object: {\"option\": value, ...}");
	else
		snprintf(error, error_bytes, "line %d, column %d: %s", wrong.line, wrong.column,
		         wrong.text);
	json_decref(object);
	return NULL;
}

bool config_is_of_line(const char *name)
{
	return !strcmp(name, "config") || !strcmp(name, "check") || !strcmp(name, "check-hosts");
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The count of letters to insert, delete or replace (Levenshtein's distance). */
static unsigned distance(const char *from, const char *to)
{
	unsigned row[NAME_BYTES];
	const size_t length = strlen(to);

	if (length >= NAME_BYTES || strlen(from) >= NAME_BYTES)
		return NAME_BYTES;
	for (unsigned i = 0; i <= length; i++)
		row[i] = i;
	for (unsigned at = 0; from[at]; at++) {
		unsigned diagonal = row[0];

		row[0] = at + 1;
		for (unsigned i = 1; i <= length; i++) {
			const unsigned replaced = diagonal + (from[at] != to[i - 1]);

			diagonal = row[i];
			row[i] = least(replaced, least(row[i], row[i - 1]) + 1);
		}
	}
	return row[length];
}

/* Returns the option, or NULL with the most similar name in `nearest`. */
static const struct argp_option *find(const char *name, const struct argp_option *const *tables,
                                      const char **nearest)
{
	unsigned fewest = NAME_BYTES + 1;

	for (; *tables; tables++)
		for (const struct argp_option *option = *tables; option->name || option->doc;
		     option++) {
			if (!option->name || config_is_of_line(option->name))
				continue;
			if (!strcmp(option->name, name))
				return option;
			const unsigned letters = distance(name, option->name);

			if (letters < fewest) {
				fewest = letters;
				*nearest = option->name;
			}
		}
	return NULL;
}

/* Returns the text of a string or a number, in `room` if necessary, or NULL. */
static const char *text_of(const json_t *value, char room[VALUE_BYTES])
{
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_integer(value))
		snprintf(room, VALUE_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(room, VALUE_BYTES, "%.15g", json_real_value(value));
	else
		return NULL;
	return room;
}

static bool add_word(struct config_words *words, const char *name, const char *text)
{
	char *word = NULL;
	const int length =
	        text ? asprintf(&word, "--%s=%s", name, text) : asprintf(&word, "--%s", name);
	const bool is_added = length >= 0 && argz_add(&words->text, &words->bytes, word) == 0;

	free(word);
	return is_added;
}

/* Adds a word for each member of {"leaf0": {"quota": 2, "jobs": 4}}: leaf0,quota=2,jobs=4. */
static bool add_places(struct config_words *words, const char *name, const json_t *places)
{
	const char *place, *option;
	json_t *settings, *value;

	json_object_foreach((json_t *)places, place, settings)
	{
		char *text = strdup(place);
		bool is_good = text && json_is_object(settings) && json_object_size(settings);

		json_object_foreach(settings, option, value)
		{
			char room[VALUE_BYTES], *longer = NULL;
			const char *of = is_good ? text_of(value, room) : NULL;

			is_good = of && asprintf(&longer, "%s,%s=%s", text, option, of) >= 0;
			if (is_good) {
				free(text);
				text = longer;
			}
		}
		is_good = is_good && add_word(words, name, text);
		free(text);
		if (!is_good)
			return false;
	}
	return true;
}

static bool add_option(struct config_words *words, const struct argp_option *option,
                       const json_t *value)
{
	char room[VALUE_BYTES];
	const char *text = text_of(value, room);
	json_t *item;
	size_t at;

	if (!option->arg)
		return json_is_boolean(value) &&
		       (json_is_false(value) || add_word(words, option->name, NULL));
	if (text)
		return add_word(words, option->name, text);
	if (json_is_object(value))
		return !strcmp(option->name, "at") && add_places(words, option->name, value);
	if (!json_is_array(value))
		return false;
	json_array_foreach(value, at, item)
	{
		text = text_of(item, room);
		if (!text || !add_word(words, option->name, text))
			return false;
	}
	return true;
}

bool config_add_words(struct config_words *words, const json_t *object, const json_t *line,
                      const struct argp_option *const *tables, char *error, size_t error_bytes)
{
	const char *name, *nearest = "";
	json_t *value;

	json_object_foreach((json_t *)object, name, value)
	{
		const struct argp_option *option = find(name, tables, &nearest);

		if (!option) {
			snprintf(error, error_bytes,
			         "'%s': no such option; the most similar one is '%s'", name,
			         nearest);
			return false;
		}
		if (json_object_get(line, name) || add_option(words, option, value))
			continue;
		snprintf(error, error_bytes, "'%s': must be %s", name,
		         !option->arg          ? "true or false"
		         : !strcmp(name, "at") ? "an object: {\"cable or switch\": "
		                                 "{\"option\": value}}"
		                               : "a string or a number, or a list of these if "
		                                 "the option may be repeated");
		return false;
	}
	return true;
}
