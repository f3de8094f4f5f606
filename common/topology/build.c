/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each step of building a topology checks its own input. Properties of the whole are checked at the
 * end.
 */
#include "build.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool complain(char *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, TOPOLOGY_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return false;
}

/* A switch cannot have a host's name, such as "host3". */
static bool is_good_name(const char *name)
{
	if (!isalpha((unsigned char)*name) || strlen(name) >= TOPOLOGY_NAME_BYTES ||
	    (!strncmp(name, "host", 4) && isdigit((unsigned char)name[4])))
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("-_.", *name))
			return false;
	return true;
}

bool topology_add_switch(struct topology *topology, const char *name, char *error)
{
	if (!is_good_name(name))
		return complain(
		        error,
		        "switch '%s': a switch's name is a letter and then letters, digits, "
		        "-, _ and ., %d characters at most, and not that of a host",
		        name, TOPOLOGY_NAME_BYTES - 1);
	if (topology_find_switch(topology, name) != TOPOLOGY_NONE)
		return complain(error, "switch '%s': the name is used twice", name);
	if (topology->switch_count == TOPOLOGY_SWITCHES_MAX)
		return complain(error, "switch '%s': more than %d switches", name,
		                TOPOLOGY_SWITCHES_MAX);
	strcpy(topology->switches[topology->switch_count++].name, name);
	return true;
}

bool topology_add_host(struct topology *topology, unsigned place, unsigned host, char *error)
{
	const char *name = topology->switches[place].name;

	if (host >= TOPOLOGY_HOSTS_MAX)
		return complain(error, "switch '%s': host %u exceeds the limit of %d hosts", name,
		                host, TOPOLOGY_HOSTS_MAX);
	for (; topology->host_count <= host; topology->host_count++)
		topology->host_switch[topology->host_count] = TOPOLOGY_NONE;
	if (topology->host_switch[host] != TOPOLOGY_NONE)
		return complain(error, "switch '%s': host %u is already connected to '%s'", name,
		                host, topology->switches[topology->host_switch[host]].name);
	topology->host_switch[host] = place;
	return true;
}

bool topology_add_uplink(struct topology *topology, unsigned lower, unsigned upper, char *error)
{
	struct topology_switch *from = &topology->switches[lower];

	if (from->uplink_count == TOPOLOGY_PORTS_MAX)
		return complain(error, "switch '%s': more than %d uplinks", from->name,
		                TOPOLOGY_PORTS_MAX);
	from->uplinks[from->uplink_count++] = upper;
	return true;
}

/* Raises each switch above those below it. If there is a loop, levels would rise without end. */
static bool find_levels(struct topology *topology, char *error)
{
	bool is_moving = true;

	for (unsigned i = 0; i < topology->switch_count; i++)
		topology->switches[i].level = 1;
	while (is_moving) {
		is_moving = false;
		for (unsigned i = 0; i < topology->switch_count; i++) {
			const struct topology_switch *lower = &topology->switches[i];

			for (unsigned up = 0; up < lower->uplink_count; up++) {
				struct topology_switch *upper =
				        &topology->switches[lower->uplinks[up]];

				if (upper->level > lower->level)
					continue;
				upper->level = lower->level + 1;
				is_moving = true;
				if (upper->level > topology->switch_count)
					return complain(error,
					                "switch '%s': its uplinks lead back to it "
					                "in a loop through '%s'",
					                lower->name, upper->name);
			}
		}
	}
	return true;
}

static bool check_levels(const struct topology *topology, char *error)
{
	for (unsigned i = 0; i < topology->switch_count; i++) {
		const struct topology_switch *of = &topology->switches[i];

		if (of->level > TOPOLOGY_LEVELS_MAX)
			return complain(
			        error,
			        "switch '%s': it is on level %u, and the highest level is %d",
			        of->name, of->level, TOPOLOGY_LEVELS_MAX);
		for (unsigned up = 1; up < of->uplink_count; up++)
			if (topology->switches[of->uplinks[up]].level !=
			    topology->switches[of->uplinks[0]].level)
				return complain(error,
				                "switch '%s': a loop: its uplinks lead to '%s' and "
				                "'%s', which are not on the same level",
				                of->name, topology->switches[of->uplinks[0]].name,
				                topology->switches[of->uplinks[up]].name);
	}
	return true;
}

static unsigned take_port(struct topology_switch *of, unsigned cable)
{
	of->cables[of->ports] = cable;
	return of->ports++;
}

static bool lay_cables(struct topology *topology, unsigned ports_most, char *error)
{
	unsigned wanted[TOPOLOGY_SWITCHES_MAX] = {0};

	for (unsigned host = 0; host < topology->host_count; host++) {
		if (topology->host_switch[host] == TOPOLOGY_NONE)
			return complain(error, "host %u is not connected to any switch", host);
		wanted[topology->host_switch[host]]++;
	}
	for (unsigned i = 0; i < topology->switch_count; i++) {
		wanted[i] += topology->switches[i].uplink_count;
		for (unsigned up = 0; up < topology->switches[i].uplink_count; up++)
			wanted[topology->switches[i].uplinks[up]]++;
	}
	for (unsigned i = 0; i < topology->switch_count; i++)
		if (wanted[i] > ports_most)
			return complain(error, "switch '%s': it has %u ports, and the most is %u",
			                topology->switches[i].name, wanted[i], ports_most);
	for (unsigned host = 0; host < topology->host_count; host++) {
		const unsigned place = topology->host_switch[host];
		struct topology_cable cable = {.has_host = true, .lower = host, .upper = place};

		snprintf(cable.name, sizeof(cable.name), "host%u", host);
		cable.upper_port = take_port(&topology->switches[place], topology->cable_count);
		topology->cables[topology->cable_count++] = cable;
	}
	for (unsigned i = 0; i < topology->switch_count; i++) {
		const struct topology_switch *lower = &topology->switches[i];

		for (unsigned up = 0; up < lower->uplink_count; up++) {
			const unsigned upper = lower->uplinks[up];
			struct topology_cable cable = {.lower = i, .upper = upper};

			snprintf(cable.name, sizeof(cable.name), "%s:up%u", lower->name, up);
			cable.upper_port =
			        take_port(&topology->switches[upper], topology->cable_count);
			topology->cables[topology->cable_count++] = cable;
		}
	}
	/* The uplinks come after all ports that lead down. */
	for (unsigned i = 0; i < topology->switch_count; i++)
		topology->switches[i].first_uplink = topology->switches[i].ports;
	for (unsigned i = topology->host_count; i < topology->cable_count; i++)
		topology->cables[i].lower_port =
		        take_port(&topology->switches[topology->cables[i].lower], i);
	return true;
}

static bool check_ends(const struct topology *topology, char *error)
{
	if (topology->host_count < 2)
		return complain(error, "a fabric must have at least two hosts");
	for (unsigned i = 0; i < topology->switch_count; i++) {
		const struct topology_switch *of = &topology->switches[i];

		if (of->first_uplink == 0)
			return complain(error, "switch '%s': nothing is below it", of->name);
		if (of->ports == 1)
			return complain(
			        error,
			        "cable '%s' leads nowhere: nothing else is connected to '%s'",
			        topology->cables[of->cables[0]].name, of->name);
	}
	return true;
}

bool topology_finish(struct topology *topology, unsigned ports_most, char *error)
{
	return find_levels(topology, error) && lay_cables(topology, ports_most, error) &&
	       check_levels(topology, error) && check_ends(topology, error);
}
