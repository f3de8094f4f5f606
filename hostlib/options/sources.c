/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files, the environment and the program's options. */
#include "sources.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"

#define SYSTEM_FILE "/etc/ina.conf"
#define HOME_FILE   ".ina.conf"
#define PREFIX      "INA_"

/* Keeps the first failure. */
static void fail_first(struct ina_failure *failure, const char *where, const char *what)
{
	if (failure->status == INA_OK)
		ina_fail(failure, INA_ERR_ARGUMENT, "%s%s", where, what);
}

static void refuse_key(struct ina_failure *failure, const char *where, const char *name,
                       size_t length)
{
	char what[200];

	snprintf(what, sizeof(what), "libina knows no %.*s: did you mean %s?",
	         (int)(length < 60 ? length : 60), name, ina_key_nearest(name, length));
	fail_first(failure, where, what);
}

/* Takes a line of a file. */
static void take_line(struct ina_sources *sources, int file, int line, char *text,
                      struct ina_failure *failure)
{
	char where[INA_SOURCE_NAME_MAX];
	char *equals = strchr(text, '=');
	char *end = text + strlen(text);
	size_t length;
	enum ina_key_id id;

	snprintf(where, sizeof(where), "%s:%d: ", sources->files[file].path, line);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	text += strspn(text, " \t");
	if (*text == '\0' || *text == '#')
		return;
	if (!equals || equals == text) {
		fail_first(failure, where, "a line must be KEY=value, or a comment after #");
		return;
	}
	for (length = (size_t)(equals - text);
	     length > 0 && isspace((unsigned char)text[length - 1]);)
		length--;
	if (ina_key_find(text, length, &id))
		sources->of[id] = (struct ina_source){
		        INA_BY_FILE, equals + 1 + strspn(equals + 1, " \t"), file, line};
	else if (ina_key_is_foreign(text, length))
		fail_first(failure, where,
		           "this variable is not read from files: set it in the environment");
	else
		refuse_key(failure, where, text, length);
}

/* Returns the number of bytes, or -1 with errno. A FIFO or a device does not block. */
static ssize_t read_all(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	size_t bytes = 0;
	ssize_t more = 0;
	int error;

	while (fd >= 0 && bytes < size && (more = read(fd, text + bytes, size - bytes)) > 0)
		bytes += (size_t)more;
	error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return fd < 0 || more < 0 ? -1 : (ssize_t)bytes;
}

/* Whether a file exists is the user's choice, unless INA_CONF_FILE names it. */
static void read_file(struct ina_sources *sources, int file, bool must_exist,
                      struct ina_failure *failure)
{
	struct ina_conf_file *conf = &sources->files[file];
	ssize_t bytes = read_all(conf->path, conf->text, sizeof(conf->text));
	char *rest = conf->text;
	char what[120];
	char *text;

	if (bytes < 0 && !must_exist && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) {
		conf->path[0] = '\0';
		return;
	}
	snprintf(what, sizeof(what), ": cannot read this file of options: %s",
	         bytes < 0                    ? strerror(errno)
	         : bytes > INA_CONF_BYTES_MAX ? "it is longer than 16 KiB"
	                                      : "it is not a text");
	if (bytes < 0 || bytes > INA_CONF_BYTES_MAX || memchr(conf->text, '\0', (size_t)bytes)) {
		fail_first(failure, conf->path, what);
		return;
	}
	conf->text[bytes] = '\0';
	for (int line = 1; (text = strsep(&rest, "\n")); line++)
		take_line(sources, file, line, text, failure);
}

static void read_files(struct ina_sources *sources, struct ina_failure *failure)
{
	const char *given = secure_getenv("INA_CONF_FILE");
	const char *home = secure_getenv("HOME");
	bool is_given = given && *given;
	char *own = sources->files[1].path;
	int length = 0;

	strcpy(sources->files[0].path, SYSTEM_FILE);
	read_file(sources, 0, false, failure);
	if (is_given)
		length = snprintf(own, INA_CONF_PATH_SIZE, "%s", given);
	else if (home && *home)
		length = snprintf(own, INA_CONF_PATH_SIZE, "%s/" HOME_FILE, home);
	if (length >= INA_CONF_PATH_SIZE)
		fail_first(failure, is_given ? "INA_CONF_FILE" : own, ": the path is too long");
	else if (length > 0)
		read_file(sources, 1, is_given, failure);
}

static void read_environment(struct ina_sources *sources, struct ina_failure *failure)
{
	for (char **entry = environ; entry && *entry; entry++) {
		const char *equals = strchr(*entry, '=');
		enum ina_key_id id;
		size_t length;

		if (!equals || strncmp(*entry, PREFIX, strlen(PREFIX)) != 0)
			continue;
		length = (size_t)(equals - *entry);
		if (strcmp(*entry, "INA_LOG=") == 0)
			continue; /* as a script sets it whose own variable is empty */
		if (ina_key_find(*entry, length, &id))
			sources->of[id] =
			        (struct ina_source){.by = INA_BY_ENVIRONMENT, .text = equals + 1};
		else if (!ina_key_is_foreign(*entry, length))
			refuse_key(failure, "in the environment: ", *entry, length);
	}
}

enum ina_status ina_sources_read(struct ina_sources *sources, struct ina_failure *failure)
{
	failure->status = INA_OK;
	memset(sources->of, 0, sizeof(sources->of));
	for (int i = 0; i < INA_CONF_FILES; i++)
		sources->files[i].path[0] = '\0';
	read_files(sources, failure);
	read_environment(sources, failure);
	return failure->status;
}

const char *ina_source_name(const struct ina_sources *sources, enum ina_key_id id,
                            char name[INA_SOURCE_NAME_MAX])
{
	const struct ina_source *source = &sources->of[id];
	const struct ina_key *key = &ina_keys[id];

	if (source->by == INA_BY_PROGRAM)
		snprintf(name, INA_SOURCE_NAME_MAX, "the option %s", key->option);
	else if (source->by == INA_BY_FILE)
		snprintf(name, INA_SOURCE_NAME_MAX, "%s:%d: %s", sources->files[source->file].path,
		         source->line, key->variable);
	else
		snprintf(name, INA_SOURCE_NAME_MAX, "%s", key->variable);
	return name;
}

static bool is_valid(const struct ina_key *key, int64_t value)
{
	return value >= key->minimum && value <= key->maximum &&
	       (key->multiple == 0 || value % key->multiple == 0);
}

/* Returns whether the text is a value of the option. A switch has the values 1 and -1. */
static bool read_text(const struct ina_key *key, const char *text, int64_t *value)
{
	uint64_t number;

	if (key->kind == INA_KEY_NAMED) {
		for (*value = key->minimum; *value <= key->maximum; ++*value) {
			if (strcmp(text, key->names[*value]) == 0)
				return true;
		}
		return false;
	}
	if (key->kind == INA_KEY_SWITCH) {
		*value = strcmp(text, "1") == 0 ? 1 : -1;
		return *value == 1 || strcmp(text, "0") == 0;
	}
	if (!ina_parse_whole(text, 0, INT64_MAX, &number))
		return false;
	*value = (int64_t)number;
	return is_valid(key, *value);
}

int64_t ina_key_value(const struct ina_key *key, const struct ina_options *options,
                      const struct ina_variables *variables)
{
	const char *member =
	        (key->option ? (const char *)options : (const char *)variables) + key->at;
	unsigned int positive;
	int number;

	memcpy(&number, member, sizeof(number));
	memcpy(&positive, member, sizeof(positive));
	return key->kind == INA_KEY_INT || key->kind == INA_KEY_SWITCH ? (int64_t)number : positive;
}

static enum ina_status apply_number(struct ina_sources *sources, enum ina_key_id id,
                                    const struct ina_values *values, struct ina_failure *failure)
{
	const struct ina_key *key = &ina_keys[id];
	struct ina_source *source = &sources->of[id];
	int64_t value = ina_key_value(key, values->options, values->variables);
	char *member =
	        (key->option ? (char *)values->options : (char *)values->variables) + key->at;
	char name[INA_SOURCE_NAME_MAX];
	char limits[80];
	unsigned int bits;

	if (value != ina_key_value(key, values->defaults, values->variables))
		*source = (struct ina_source){.by = INA_BY_PROGRAM};
	ina_source_name(sources, id, name);
	ina_key_limits(key, source->text != NULL, limits, sizeof(limits));
	if (source->text && !read_text(key, source->text, &value))
		return ina_fail(failure, INA_ERR_ARGUMENT, "%s is \"%.40s\": it must be %s", name,
		                source->text, limits);
	if (source->by == INA_BY_PROGRAM && !is_valid(key, value))
		return ina_fail(failure, INA_ERR_ARGUMENT, "%s is %" PRId64 ": it must be %s", name,
		                value, limits);
	bits = (unsigned int)value;
	memcpy(member, &bits, sizeof(bits));
	return INA_OK;
}

enum ina_status ina_sources_apply(struct ina_sources *sources, int first, int end,
                                  const struct ina_values *values, struct ina_failure *failure)
{
	for (int i = first; i < end; i++) {
		const struct ina_key *key = &ina_keys[i];
		const char *program = NULL;

		if (key->kind != INA_KEY_TEXT &&
		    apply_number(sources, (enum ina_key_id)i, values, failure) != INA_OK)
			return failure->status;
		if (key->kind == INA_KEY_TEXT && key->option)
			memcpy(&program, (const char *)values->options + key->at, sizeof(program));
		if (program)
			sources->of[i] = (struct ina_source){.by = INA_BY_PROGRAM, .text = program};
	}
	return INA_OK;
}
