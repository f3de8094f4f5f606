/* SPDX-License-Identifier: Apache-2.0 */
/* Each option is read first; then it is checked whether it applies to the cable or switch. */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds the cable or switch `of`, and checks that the option can be set for it. */
static bool place_setting(const struct topology *topology, struct topology_setting *setting,
                          const char *of, const char *option, char *error)
{
	const unsigned cable = topology_find_cable(topology, of);
	const unsigned place = topology_find_switch(topology, of);

	setting->is_of_cable = cable != TOPOLOGY_NONE;
	setting->number = setting->is_of_cable ? cable : place;
	if (setting->number == TOPOLOGY_NONE)
		snprintf(error, TOPOLOGY_ERROR_BYTES, "no cable or switch '%s'", of);
	else if (setting->option.scope !=
	         (setting->is_of_cable ? BRIDGE_OPTION_OF_CABLE : BRIDGE_OPTION_OF_SWITCH))
		snprintf(error, TOPOLOGY_ERROR_BYTES, "'%s': '%s' is not an option of a %s", of,
		         option, setting->is_of_cable ? "cable" : "switch");
	else
		return true;
	return false;
}

bool topology_add_setting(struct topology *topology, const char *of, const char *option, char *text,
                          char *error)
{
	struct topology_setting setting, *more;
	char what[TOPOLOGY_ERROR_BYTES / 2];

	if (!bridge_options_read(option, text, &setting.option, what, sizeof(what)))
		snprintf(error, TOPOLOGY_ERROR_BYTES, "'%s': %s", of, what);
	else if (!place_setting(topology, &setting, of, option, error))
		;
	else if (!(more = reallocarray(topology->settings, topology->setting_count + 1,
	                               sizeof(*more))))
		snprintf(error, TOPOLOGY_ERROR_BYTES, "out of memory");
	else {
		topology->settings = more;
		topology->settings[topology->setting_count++] = setting;
		return true;
	}
	free(text);
	return false;
}

bool topology_set(struct topology *topology, const char *text, char error[TOPOLOGY_ERROR_BYTES])
{
	char *words = strdup(text), *rest = words, *of = strsep(&rest, ","), *word;
	bool good = words && rest;

	if (!good)
		snprintf(error, TOPOLOGY_ERROR_BYTES,
		         "'%s' must have the form NAME,OPTION=VALUE[,OPTION=VALUE...]", text);
	while (good && (word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		value = strdup(value ? value : "");
		good = value && topology_add_setting(topology, of, word, value, error);
	}
	free(words);
	return good;
}
