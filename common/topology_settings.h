/* SPDX-License-Identifier: Apache-2.0 */
/* What one cable or switch of a fabric is told. */
#ifndef INA_COMMON_TOPOLOGY_SETTINGS_H
#define INA_COMMON_TOPOLOGY_SETTINGS_H

#include "topology.h"

/*
 * Adds an option for what `of` names. Takes `text`, its value, over, which is to be freed by
 * free(). False, with one line in `error`, where that cannot be.
 */
bool topology_add_setting(struct topology *topology, const char *of, const char *option, char *text,
                          char *error);

/*
 * An option for one cable or switch: `NAME,OPTION=VALUE[,OPTION=VALUE...]`. A host's cable may be
 * named by its number. False, with one line in `error`.
 */
bool topology_set(struct topology *topology, const char *text, char error[TOPOLOGY_ERROR_BYTES]);

#endif
