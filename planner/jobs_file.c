/* SPDX-License-Identifier: Apache-2.0 */
/* Every error message ends with the value as it is in the file. */
#include "jobs_file.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bridge_options.h"
#include "common/parse.h"

static const double link_rate_default = 100e9;

/* The position in the file, for error messages. */
struct reader {
	const char *path;
	const char *error_of; /* "job 'a'", "switch 'S1'" */
	char *error;
};

__attribute__((format(printf, 4, 5))) static bool complain(const struct reader *reader,
                                                           const char *field, const json_t *value,
                                                           const char *format, ...)
{
	char what[PLAN_ERROR_BYTES / 4], *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (value)
		text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);
	/* If the path is long, its end identifies it. All parts fit without cutting the reason. */
	const size_t length = strlen(reader->path);

	snprintf(reader->error, PLAN_ERROR_BYTES, "jobs %s: %s%s%s%.40s%s%s%.64s%s%s%s",
	         length > 128 ? reader->path + length - 128 : reader->path, reader->error_of,
	         *reader->error_of ? ": " : "", field ? "\"" : "", field ? field : "",
	         field ? "\"" : "", field && text ? " " : "", text ? text : "",
	         text && strlen(text) > 64 ? "..." : "", field || text ? ": " : "", what);
	free(text);
	return false;
}

/* Reads a number above 0, or a string of a number followed by k, M, G or T. */
static bool read_quantity(const struct reader *reader, const json_t *object, const char *field,
                          double least, double *quantity)
{
	static const char powers[] = "kMGT";
	const json_t *value = json_object_get(object, field);
	const char *text = json_string_value(value), *rest;
	double number = json_number_value(value);

	if (!value)
		return true;
	if (text) {
		const char *power;

		rest = ina_scan_real(text, 0, HUGE_VAL, &number);
		power = rest && *rest ? strchr(powers, *rest) : NULL;
		if (!rest || (*rest && (!power || rest[1])))
			return complain(reader, field, value,
			                "must be a number followed by k, M, G or T");
		for (; power && power >= powers; power--)
			number *= 1e3;
	} else if (!json_is_number(value)) {
		return complain(reader, field, value, "must be a number, such as 9e9 or \"9G\"");
	}
	if (!(number >= least && number > 0 && number <= 1e18))
		return complain(reader, field, value, "must be from %g to 1e18", least);
	*quantity = number;
	return true;
}

static bool check_fields(const struct reader *reader, const json_t *object,
                         const char *const *fields)
{
	const char *key;
	json_t *value;

	if (!json_is_object(object))
		return complain(reader, NULL, object, "not an object");
	json_object_foreach((json_t *)object, key, value)
	{
		unsigned i = 0;

		while (fields[i] && strcmp(fields[i], key) != 0)
			i++;
		if (!fields[i])
			return complain(reader, key, value, "no such field");
	}
	return true;
}

static bool read_switch(const struct reader *reader, const json_t *object, struct plan_switch *of)
{
	static const char *const fields[] = {"processing", "contexts", "memory", NULL};
	const json_t *contexts = json_object_get(object, "contexts");

	if (!check_fields(reader, object, fields) ||
	    !read_quantity(reader, object, "processing", 1, &of->processing) ||
	    !read_quantity(reader, object, "memory", 1, &of->memory))
		return false;
	if (!contexts)
		return true;
	if (!json_is_integer(contexts) || json_integer_value(contexts) < 0 ||
	    json_integer_value(contexts) > PLAN_JOBS_MAX)
		return complain(reader, "contexts", contexts, "must be a whole number from 0 to %d",
		                PLAN_JOBS_MAX);
	of->contexts = (unsigned)json_integer_value(contexts);
	return true;
}

static bool read_switches(struct reader *reader, const json_t *root, struct plan_graph *graph)
{
	json_t *switches = json_object_get(root, "switches"), *value;
	const char *key;

	if (switches && !json_is_object(switches))
		return complain(reader, "switches", switches, "not an object");
	json_object_foreach(switches, key, value)
	{
		const unsigned number = topology_find_switch(graph->topology, key);
		char name[TOPOLOGY_NAME_BYTES + 16];

		if (number == TOPOLOGY_NONE)
			return complain(reader, "switches", NULL, "the fabric has no switch '%s'",
			                key);
		snprintf(name, sizeof(name), "switch '%s'", key);
		reader->error_of = name;
		if (!read_switch(reader, value, &graph->switches[number]))
			return false;
		reader->error_of = "";
	}
	return true;
}

/* Reads the number of a host of the fabric. */
static bool read_host(const struct reader *reader, const char *field, const json_t *value,
                      unsigned hosts, unsigned *host)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) >= hosts)
		return complain(reader, field, value,
		                "not a host of the fabric, whose hosts are 0 to %u", hosts - 1);
	*host = (unsigned)json_integer_value(value);
	return true;
}

/* Reads a count of hosts, which take the next numbers, or a list, as in a fabric's file. */
static bool read_hosts(const struct reader *reader, const json_t *object, unsigned hosts,
                       unsigned *next, struct plan_job *job)
{
	const json_t *value = json_object_get(object, "hosts");
	const json_int_t count = json_integer_value(value);
	bool is_taken[TOPOLOGY_HOSTS_MAX] = {false};
	size_t i;
	json_t *host;

	if (json_is_integer(value)) {
		if (count < 1 || count > (json_int_t)(hosts - *next))
			return complain(reader, "hosts", value,
			                "must be at least 1, but the fabric has only %u hosts left "
			                "of its %u",
			                hosts - *next, hosts);
		while (job->count < (unsigned)count)
			job->hosts[job->count++] = (*next)++;
		return true;
	}
	if (!json_is_array(value) || json_array_size(value) == 0)
		return complain(reader, "hosts", value,
		                "must be a number of hosts or a list of host numbers");
	json_array_foreach(value, i, host)
	{
		unsigned number;

		if (!read_host(reader, "hosts", host, hosts, &number))
			return false;
		if (is_taken[number])
			return complain(reader, "hosts", host, "twice in the list");
		is_taken[number] = true;
		job->hosts[job->count++] = number;
		if (*next <= number)
			*next = number + 1;
	}
	return true;
}

static bool read_job(struct reader *reader, const json_t *object, const struct plan_jobs *jobs,
                     unsigned hosts, unsigned *next, struct plan_job *job)
{
	static const char *const fields[] = {"name", "hosts", "server", "memory", NULL};
	const json_t *name = json_object_get(object, "name");
	const json_t *server = json_object_get(object, "server");
	char of[PLAN_JOB_NAME_BYTES + 16];

	snprintf(of, sizeof(of), "job %u", jobs->count);
	reader->error_of = of;
	if (!json_is_object(object))
		return complain(reader, NULL, object, "not an object");
	if (!json_is_string(name) || !json_string_length(name) ||
	    json_string_length(name) >= PLAN_JOB_NAME_BYTES ||
	    json_string_length(name) != strspn(json_string_value(name), "abcdefghijklmnopqrstuvwxyz"
	                                                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                                                                "0123456789-_."))
		return complain(
		        reader, "name", name,
		        "a name must have only letters, digits, -, _ and ., and be shorter than %d",
		        PLAN_JOB_NAME_BYTES);
	*job = (struct plan_job){.server = PLAN_NONE};
	strcpy(job->name, json_string_value(name));
	for (unsigned i = 0; i < jobs->count; i++)
		if (!strcmp(jobs->jobs[i].name, job->name))
			return complain(reader, "name", name, "job %u has the same name", i);
	snprintf(of, sizeof(of), "job '%s'", job->name);
	if (!check_fields(reader, object, fields) ||
	    !read_hosts(reader, object, hosts, next, job) ||
	    !read_quantity(reader, object, "memory", 1, &job->memory))
		return false;
	if (!server && job->count < 2)
		return complain(reader, "hosts", json_object_get(object, "hosts"),
		                "an all-reduce needs at least two hosts");
	if (server && !read_host(reader, "server", server, hosts, &job->server))
		return false;
	for (unsigned i = 0; i < job->count; i++)
		if (job->hosts[i] == job->server)
			return complain(reader, "server", server, "one of the job's hosts");
	reader->error_of = "";
	return true;
}

static bool read_root(struct reader *reader, const json_t *root, struct plan_jobs *jobs,
                      struct plan_graph *graph, const struct topology *topology)
{
	static const char *const fields[] = {"link-rate", "processing", "contexts", "memory",
	                                     "switches",  "jobs",       NULL};
	const json_t *list = json_object_get(root, "jobs");
	struct plan_switch any = {true, INFINITY, BRIDGE_OPTIONS_JOBS_DEFAULT, INFINITY};
	double link_rate = link_rate_default;
	unsigned next = 0;
	size_t i;
	json_t *value, *common = json_object();

	if (!check_fields(reader, root, fields)) {
		json_decref(common);
		return false;
	}
	for (i = 1; i < 4; i++)
		if (json_object_get(root, fields[i]))
			json_object_set(common, fields[i], json_object_get(root, fields[i]));
	const bool good = read_switch(reader, common, &any) &&
	                  read_quantity(reader, root, "link-rate", 1, &link_rate);

	json_decref(common);
	if (!good)
		return false;
	plan_graph_open(graph, topology, link_rate, &any);
	if (!read_switches(reader, root, graph))
		return false;
	if (!json_is_array(list) || json_array_size(list) == 0 ||
	    json_array_size(list) > PLAN_JOBS_MAX)
		return complain(reader, "jobs", list, "must be a list of 1 to %d jobs",
		                PLAN_JOBS_MAX);
	json_array_foreach(list, i, value)
	{
		if (!read_job(reader, value, jobs, graph->host_count, &next, &jobs->jobs[i]))
			return false;
		jobs->count++;
	}
	return true;
}

bool plan_jobs_read(struct plan_jobs *jobs, struct plan_graph *graph,
                    const struct topology *topology, const char *path, const char *text,
                    char error[PLAN_ERROR_BYTES])
{
	struct reader reader = {path, "", error};
	json_error_t json_error;
	json_t *root;

	jobs->count = 0;
	if (text) {
		root = json_loads(text, JSON_REJECT_DUPLICATES, &json_error);
	} else {
		FILE *file = fopen(path, "re");

		if (!file)
			return complain(&reader, NULL, NULL, "not a readable file");
		root = json_loadf(file, JSON_REJECT_DUPLICATES, &json_error);
		fclose(file);
	}
	if (!root)
		return complain(&reader, NULL, NULL, "line %d: %.100s", json_error.line,
		                json_error.text);
	const bool good = read_root(&reader, root, jobs, graph, topology);

	json_decref(root);
	return good;
}
