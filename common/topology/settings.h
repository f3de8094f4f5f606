/* SPDX-License-Identifier: Apache-2.0 */
/* Options that are set for one cable or switch of a fabric. */
#ifndef INA_COMMON_TOPOLOGY_SETTINGS_H
#define INA_COMMON_TOPOLOGY_SETTINGS_H

#include "topology.h"

/*
 * Sets an option of the cable or switch `of`. Takes ownership of `text`, the value, which it frees
 * by free() on an error. Returns false, with one line in `error`, on an error.
 */
bool topology_add_setting(struct topology *topology, const char *of, const char *option, char *text,
                          char *error);

/*
 * Sets options of one cable or switch: `NAME,OPTION=VALUE[,OPTION=VALUE...]`. The name of a host's
 * cable may be its number. Returns false, with one line in `error`, on an error.
 */
bool topology_set(struct topology *topology, const char *text, char error[TOPOLOGY_ERROR_BYTES]);

#endif
