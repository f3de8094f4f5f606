/* SPDX-License-Identifier: Apache-2.0 */
/* Lines about what a communicator does. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ina_status ina_log_open(struct ina_log *log, const struct ina_options *options,
                             struct ina_failure *failure)
{
	const char *text = getenv("INA_LOG");

	*log = (struct ina_log){
	        .write = options->log,
	        .context = options->log_context,
	        .to_stderr = text && strcmp(text, "info") == 0,
	        .rank = options->rank,
	        .ranks = options->ranks,
	};
	if (text && *text && !log->to_stderr && strcmp(text, "off") != 0)
		return ina_fail(failure, INA_ERR_ARGUMENT,
		                "INA_LOG is \"%.40s\": it must be info or off", text);
	return INA_OK;
}

void ina_log(const struct ina_log *log, const char *format, ...)
{
	char line[INA_ERROR_SIZE];
	va_list arguments;

	if (!log->write && !log->to_stderr)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	if (log->write)
		log->write(log->context, line);
	else
		fprintf(stderr, "libina: rank %d of %d: %s\n", log->rank, log->ranks, line);
}
