/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a fabric in JSON. Errors name the switch or cable that they concern. */
#include "file.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "settings.h"
#include "spec.h"

/* Members of a switch that are not options. */
static bool is_structure(const char *key)
{
	return !strcmp(key, "name") || !strcmp(key, "hosts") || !strcmp(key, "up");
}

static bool complain(char *error, const char *name, const char *what)
{
	snprintf(error, TOPOLOGY_ERROR_BYTES, "'%s': %s", name, what);
	return false;
}

/* Reads a count of hosts, which take the next numbers, or a list of host numbers. */
static bool read_hosts(struct topology *topology, unsigned place, const json_t *hosts, char *error)
{
	const char *name = topology->switches[place].name;
	const json_int_t count = json_integer_value(hosts);
	size_t i;
	json_t *host;

	if (json_is_integer(hosts) && count >= 0 && count <= TOPOLOGY_HOSTS_MAX) {
		for (json_int_t n = 0; n < count; n++)
			if (!topology_add_host(topology, place, topology->host_count, error))
				return false;
		return true;
	}
	if (hosts && !json_is_array(hosts))
		return complain(error, name,
		                "\"hosts\" must be a number of hosts or a list of host numbers");
	json_array_foreach(hosts, i, host)
	{
		const json_int_t number = json_integer_value(host);

		if (!json_is_integer(host))
			return complain(error, name,
			                "\"hosts\" has an entry that is not a whole number");
		if (number < 0 || number >= TOPOLOGY_HOSTS_MAX) {
			snprintf(error, TOPOLOGY_ERROR_BYTES,
			         "'%s': \"hosts\" names host %" JSON_INTEGER_FORMAT
			         ", but hosts have the numbers 0 to %d",
			         name, number, TOPOLOGY_HOSTS_MAX - 1);
			return false;
		}
		if (!topology_add_host(topology, place, (unsigned)number, error))
			return false;
	}
	return true;
}

static bool read_uplinks(struct topology *topology, unsigned place, const json_t *uplinks,
                         char *error)
{
	const char *name = topology->switches[place].name;
	size_t i;
	json_t *uplink;

	if (uplinks && !json_is_array(uplinks))
		return complain(error, name, "\"up\" must be a list of switches");
	json_array_foreach(uplinks, i, uplink)
	{
		const char *upper = json_string_value(uplink);
		const unsigned number =
		        upper ? topology_find_switch(topology, upper) : TOPOLOGY_NONE;

		if (number == TOPOLOGY_NONE) {
			snprintf(error, TOPOLOGY_ERROR_BYTES,
			         "'%s': uplink %zu leads to '%s', which does not exist", name, i,
			         upper ? upper : "");
			return false;
		}
		if (!topology_add_uplink(topology, place, number, error))
			return false;
	}
	return true;
}

/* Returns a value as it would be written on the command line; the caller frees it. */
static char *text_of(const json_t *value)
{
	if (json_is_string(value))
		return strdup(json_string_value(value));
	return json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
}

static bool read_settings(struct topology *topology, const char *of, json_t *object, char *error)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return complain(error, of, "its options must be an object");
	json_object_foreach(object, key, value)
	{
		if (topology_find_switch(topology, of) != TOPOLOGY_NONE && is_structure(key))
			continue;
		char *text = text_of(value);

		if (!text) {
			snprintf(error, TOPOLOGY_ERROR_BYTES,
			         "'%s': \"%s\" is neither a number nor a string", of, key);
			return false;
		}
		if (!topology_add_setting(topology, of, key, text, error))
			return false;
	}
	return true;
}

static bool read_switches(struct topology *topology, const json_t *switches, char *error)
{
	size_t i;
	json_t *of;

	if (!json_is_array(switches)) {
		snprintf(error, TOPOLOGY_ERROR_BYTES, "the list \"switches\" is missing");
		return false;
	}
	json_array_foreach(switches, i, of)
	{
		const char *name = json_string_value(json_object_get(of, "name"));

		if (!name) {
			snprintf(error, TOPOLOGY_ERROR_BYTES,
			         "switch %zu of the list has no \"name\"", i);
			return false;
		}
		if (!topology_add_switch(topology, name, error))
			return false;
	}
	json_array_foreach(
	        switches, i,
	        of) if (!read_hosts(topology, (unsigned)i, json_object_get(of, "hosts"), error) ||
	                !read_uplinks(topology, (unsigned)i, json_object_get(of, "up"),
	                              error)) return false;
	return true;
}

static bool read_root(struct topology *topology, json_t *root, char *error)
{
	json_t *switches = json_object_get(root, "switches");
	json_t *cables = json_object_get(root, "cables");
	json_t *value;
	const char *key;
	size_t i;

	json_object_foreach(root, key, value) if (
	        strcmp(key, "switches") != 0 &&
	        strcmp(key, "cables") !=
	                0) return complain(error, key,
	                                   "unknown key: must be \"switches\" or \"cables\"");
	if (!read_switches(topology, switches, error) ||
	    !topology_finish(topology, TOPOLOGY_PORTS_MAX, error))
		return false;
	json_array_foreach(switches, i,
	                   value) if (!read_settings(topology, topology->switches[i].name, value,
	                                             error)) return false;
	if (cables && !json_is_object(cables))
		return complain(error, "cables", "must be an object with a member for each cable");
	json_object_foreach(cables, key,
	                    value) if (!read_settings(topology, key, value, error)) return false;
	return true;
}

bool topology_read_file(struct topology *topology, const char *path, char *error)
{
	json_error_t json_error;
	FILE *file = fopen(path, "re");

	if (!file) {
		snprintf(error, TOPOLOGY_ERROR_BYTES,
		         "not a readable file, and not one of " TOPOLOGY_SPECS);
		return false;
	}
	json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &json_error);

	fclose(file);
	if (!root) {
		snprintf(error, TOPOLOGY_ERROR_BYTES, "line %d: %s", json_error.line,
		         json_error.text);
		return false;
	}
	const bool good = read_root(topology, root, error);

	json_decref(root);
	return good;
}
