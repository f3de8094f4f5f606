/* SPDX-License-Identifier: Apache-2.0 */
/* Failures: a status and the sentence that explains it. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *ina_status_name(enum ina_status status)
{
	switch (status) {
	case INA_OK:
		return "INA_OK";
	case INA_ERR_ARGUMENT:
		return "INA_ERR_ARGUMENT";
	case INA_ERR_MISMATCH:
		return "INA_ERR_MISMATCH";
	case INA_ERR_PEER:
		return "INA_ERR_PEER";
	case INA_ERR_TIMEOUT:
		return "INA_ERR_TIMEOUT";
	case INA_ERR_DEVICE:
		return "INA_ERR_DEVICE";
	case INA_ERR_MEMORY:
		return "INA_ERR_MEMORY";
	case INA_ERR_AGGREGATOR:
		return "INA_ERR_AGGREGATOR";
	case INA_ERR_SYSTEM:
		return "INA_ERR_SYSTEM";
	case INA_ERR_ABORTED:
		return "INA_ERR_ABORTED";
	}
	return "unknown status";
}

enum ina_status ina_fail(struct ina_failure *failure, enum ina_status status, const char *format,
                         ...)
{
	char text[INA_ERROR_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	failure->status = status;
	memcpy(failure->text, text, sizeof(text));
	return status;
}

bool ina_is_stopped(const atomic_bool *stop, struct ina_failure *failure)
{
	if (!stop || !atomic_load(stop))
		return false;
	ina_fail(failure, INA_ERR_ABORTED, "the program stopped the opening");
	return true;
}
