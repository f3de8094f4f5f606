/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file: a JSON object whose members have the names of options. It becomes words
 * of a command line, which are then read like others.
 */
#ifndef INA_BRIDGE_CONFIG_H
#define INA_BRIDGE_CONFIG_H

#include <argp.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Words one after the other, each with its final 0, as argz_add() makes them. */
struct config_words {
	char *text; /* the caller frees it */
	size_t bytes;
};

/* Returns the file's object, which the caller owns, or NULL with one line in `error`. */
json_t *config_read(const char *path, char *error, size_t error_bytes);

/*
 * Adds the words for all members of `object` that `line` lacks. `tables`: the options, NULL after
 * the last table. Returns false, with one line in `error`, if a member is no option, or if its
 * value has a type that no option takes.
 */
bool config_add_words(struct config_words *words, const json_t *object, const json_t *line,
                      const struct argp_option *const *tables, char *error, size_t error_bytes);

/* Returns whether the option is for the command line only. */
bool config_is_of_line(const char *name);

#endif
