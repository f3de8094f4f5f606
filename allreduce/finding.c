/* SPDX-License-Identifier: Apache-2.0 */
/* Prints one line of the doctor. */
#include "finding.h"

#include <stdarg.h>
#include <stdio.h>

void finding_print(enum finding finding, const char *what, const char *format, ...)
{
	static const char *const names[] = {
	        [FINDING_OK] = "ok",
	        [FINDING_SKIPPED] = "skip",
	        [FINDING_WARNING] = "warn",
	        [FINDING_FAILED] = "FAIL",
	};
	va_list arguments;

	printf("%-4s  %-10s  ", names[finding], what);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\n");
	fflush(stdout);
}
