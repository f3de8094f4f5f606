/* SPDX-License-Identifier: Apache-2.0 */
/* Failures: a status and the sentence that explains it. */
#ifndef INA_OPTIONS_ERROR_H
#define INA_OPTIONS_ERROR_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hostlib/include/ina.h"

struct ina_failure {
	enum ina_status status;
	char text[INA_ERROR_SIZE];
};

/*
 * Sets the failure and returns its status. failure->text may itself be an argument of the format.
 */
enum ina_status ina_fail(struct ina_failure *failure, enum ina_status status, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

/*
 * While a communicator opens: has the program stopped this? If so, sets this rank's failure. stop:
 * NULL if the program cannot stop it.
 */
bool ina_is_stopped(const atomic_bool *stop, struct ina_failure *failure);

#endif
