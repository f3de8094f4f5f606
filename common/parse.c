/* SPDX-License-Identifier: Apache-2.0 */
/* strtoull(3) and strtod(3), with checks for the texts that they accept too liberally. */
#include "parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * True if the text begins with a character of `first`. This excludes blanks, signs, "inf" and
 * "nan", which the functions of libc accept.
 */
static bool begins_with(const char *text, const char *first)
{
	return *text && strchr(first, *text);
}

const char *ina_scan_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	const bool is_hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (!begins_with(text, "0123456789"))
		return NULL;
	errno = 0;
	const unsigned long long number = strtoull(text, &end, is_hexadecimal ? 16 : 10);
	if (errno || number < least || number > most)
		return NULL;
	*value = number;
	return end;
}

const char *ina_scan_real(const char *text, double least, double most, double *value)
{
	char *end;

	if (!begins_with(text, "0123456789.-"))
		return NULL;
	const double number = strtod(text, &end);
	if (end == text || !(number >= least && number <= most)) /* false for NaN, too */
		return NULL;
	*value = number;
	return end;
}

bool ina_parse_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	uint64_t number;
	const char *end = ina_scan_whole(text, least, most, &number);

	if (!end || *end)
		return false;
	*value = number;
	return true;
}

bool ina_parse_real(const char *text, double least, double most, double *value)
{
	double number;
	const char *end = ina_scan_real(text, least, most, &number);

	if (!end || *end)
		return false;
	*value = number;
	return true;
}
