/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the values of options come from: /etc/ina.conf, then ~/.ina.conf or the file that
 * INA_CONF_FILE names in its place, then the environment, then the program. Later ones take
 * precedence.
 */
#ifndef INA_OPTIONS_SOURCES_H
#define INA_OPTIONS_SOURCES_H

#include "error.h"
#include "keys.h"

#define INA_CONF_FILES      2
#define INA_CONF_PATH_SIZE  256
#define INA_CONF_BYTES_MAX  16384
#define INA_SOURCE_NAME_MAX 320

enum ina_giver { INA_BY_NOBODY, INA_BY_FILE, INA_BY_ENVIRONMENT, INA_BY_PROGRAM };

struct ina_source {
	enum ina_giver by;
	const char *text; /* NULL: nobody, or a number of the program */
	int file;         /* by a file: its index */
	int line;
};

struct ina_sources {
	struct ina_source of[INA_KEY_COUNT];
	struct ina_conf_file {
		char path[INA_CONF_PATH_SIZE]; /* "": none */
		char text[INA_CONF_BYTES_MAX + 1];
	} files[INA_CONF_FILES];
};

/*
 * Reads the files and the environment. The texts of files belong to *sources, those of the
 * environment to the process. Returns INA_OK, or INA_ERR_ARGUMENT for the first fault, after
 * reading everything.
 */
enum ina_status ina_sources_read(struct ina_sources *sources, struct ina_failure *failure);

/* The structs that the members of the keys are in. */
struct ina_values {
	const struct ina_options *defaults;
	struct ina_options *options; /* at first those of the program */
	struct ina_variables *variables;
};

/*
 * Fills the values of the keys from `first` to `end` - 1, and notes which ones the program has
 * given: those that differ from the defaults. Texts stay in `sources`. Returns INA_OK or
 * INA_ERR_ARGUMENT.
 */
enum ina_status ina_sources_apply(struct ina_sources *sources, int first, int end,
                                  const struct ina_values *values, struct ina_failure *failure);

/* The value of a key that is no text. */
int64_t ina_key_value(const struct ina_key *key, const struct ina_options *options,
                      const struct ina_variables *variables);

/* Has somebody given a value? */
static inline bool ina_is_given(const struct ina_sources *sources, enum ina_key_id id)
{
	return sources->of[id].by != INA_BY_NOBODY;
}

/* Writes "the option rank", "INA_RANK" or "/etc/ina.conf:3: INA_RANK". Returns `name`. */
const char *ina_source_name(const struct ina_sources *sources, enum ina_key_id id,
                            char name[INA_SOURCE_NAME_MAX]);

#endif
