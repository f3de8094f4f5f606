/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the options, their values, and where these come from. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/deadline.h"
#include "launch.h"
#include "settings.h"

/* How long the resolver may look for the root that the launcher names. */
#define ROOT_MS 2000

#define VALUE_SIZE 300

static void write_value(const struct ina_key *key, const struct ina_source *source,
                        const struct ina_settings *settings, char text[VALUE_SIZE])
{
	int64_t value;

	if (key->kind == INA_KEY_TEXT) {
		snprintf(text, VALUE_SIZE, "%s", source->text ? source->text : "-");
		return;
	}
	value = ina_key_value(key, &settings->options, &settings->variables);
	if (key->kind == INA_KEY_NAMED)
		snprintf(text, VALUE_SIZE, "%s", key->names[value]);
	else if (value < key->minimum) /* it depends on the launcher or the network */
		snprintf(text, VALUE_SIZE, "-");
	else
		snprintf(text, VALUE_SIZE, "%" PRId64, value);
}

static void write_source(const struct ina_sources *sources, const struct ina_source *source,
                         char text[INA_SOURCE_NAME_MAX])
{
	static const char *const names[] = {[INA_BY_NOBODY] = "default",
	                                    [INA_BY_ENVIRONMENT] = "environment",
	                                    [INA_BY_PROGRAM] = "program"};

	if (source->by == INA_BY_FILE)
		snprintf(text, INA_SOURCE_NAME_MAX, "%s:%d", sources->files[source->file].path,
		         source->line);
	else
		snprintf(text, INA_SOURCE_NAME_MAX, "%s", names[source->by]);
}

struct launched {
	struct ina_launch launch;
	struct ina_launch_root root;
};

/* If the launcher gives the value, writes it and the launcher's variable. */
static void write_launched(const struct launched *launched, enum ina_key_id id,
                           char value[VALUE_SIZE], char source[INA_SOURCE_NAME_MAX])
{
	const struct ina_launch *launch = &launched->launch;
	const char *name = NULL;

	if (id == INA_KEY_RANK && (name = launch->rank_name))
		snprintf(value, VALUE_SIZE, "%d", launch->rank);
	else if (id == INA_KEY_RANKS && (name = launch->ranks_name))
		snprintf(value, VALUE_SIZE, "%d", launch->ranks);
	else if (id == INA_KEY_ROOT && (name = launched->root.name))
		snprintf(value, VALUE_SIZE, "%.*s", VALUE_SIZE - 1, launched->root.text);
	else if (id == INA_KEY_COOKIE && launch->job[0] && (name = launch->launcher))
		snprintf(value, VALUE_SIZE, "%s", launch->job);
	if (name)
		snprintf(source, INA_SOURCE_NAME_MAX, "%s", name);
}

static void list(const struct ina_sources *sources, const struct ina_settings *settings,
                 const struct launched *launched, char *text, size_t size)
{
	char source[INA_SOURCE_NAME_MAX];
	char value[VALUE_SIZE];
	size_t used = 0;

	for (int i = 0; i < INA_KEY_COUNT && used < size; i++) {
		const struct ina_source *from = &sources->of[i];

		write_value(&ina_keys[i], from, settings, value);
		write_source(sources, from, source);
		if (from->by == INA_BY_NOBODY)
			write_launched(launched, (enum ina_key_id)i, value, source);
		else if (i == INA_KEY_SECRET)
			snprintf(value, sizeof(value), "(secret)");
		used += (size_t)snprintf(text + used, size - used, "%s\t%s\t%s\n",
		                         ina_keys[i].variable, value, source);
	}
}

/* Returns the failure's status. */
static enum ina_status explain(struct ina_sources *sources, const struct ina_options *options,
                               char *text, size_t size, struct ina_failure *failure)
{
	struct launched launched;
	struct ina_settings settings;

	if (ina_settings_read(&settings, sources, options, failure) == INA_OK &&
	    ina_launch_ranks(&launched.launch, failure) == INA_OK &&
	    ina_launch_find_root(&launched.root, ina_now_ms() + ROOT_MS, failure) == INA_OK)
		list(sources, &settings, &launched, text, size);
	return failure->status;
}

enum ina_status ina_options_explain(const struct ina_options *options, char *text, size_t size)
{
	struct ina_sources *sources = malloc(sizeof(*sources));
	struct ina_failure failure = {INA_OK, ""};

	if (sources)
		explain(sources, options, text, size, &failure);
	else
		ina_fail(&failure, INA_ERR_MEMORY, "no memory to read the options");
	free(sources);
	if (failure.status != INA_OK)
		snprintf(text, size, "%s", failure.text);
	return failure.status;
}
