/* SPDX-License-Identifier: Apache-2.0 */
#include "library_options.h"

#include <stdio.h>
#include <string.h>

#define TEXT_SIZE 32768

/* Splits the next line of ina_options_explain(). Returns false after the last one. */
static bool next_line(char **rest, const char **variable, const char **value, const char **source)
{
	char *line = strsep(rest, "\n");

	if (!line || !*line)
		return false;
	*variable = strsep(&line, "\t");
	*value = strsep(&line, "\t");
	*source = line;
	return *value && *source;
}

enum ina_status library_options_print(const struct ina_options *options)
{
	const char *variable, *value, *source;
	char text[TEXT_SIZE];
	char *rest = text;
	enum ina_status status = ina_options_explain(options, text, sizeof(text));

	if (status != INA_OK)
		fprintf(stderr, "ina-perf: %s: %s\n", ina_status_name(status), text);
	while (status == INA_OK && next_line(&rest, &variable, &value, &source))
		printf("%-22s  %-20s  %s\n", variable, value, source);
	return status;
}

bool library_options_value(const char *wanted, char *text, size_t size)
{
	const char *variable, *value, *source;
	char lines[TEXT_SIZE];
	char *rest = lines;

	if (ina_options_explain(NULL, lines, sizeof(lines)) != INA_OK)
		return false;
	while (next_line(&rest, &variable, &value, &source)) {
		if (strcmp(variable, wanted) == 0) {
			snprintf(text, size, "%s", value);
			return strcmp(source, "default") != 0;
		}
	}
	return false;
}
