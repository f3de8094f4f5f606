/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the answers of ina-bridge as tables for people. */
#ifndef INA_CTL_TABLES_H
#define INA_CTL_TABLES_H

#include <jansson.h>

/* `ask` is the request (sim-bridge/control/protocol.h). */
void tables_print(const char *ask, const json_t *answer);

#endif
