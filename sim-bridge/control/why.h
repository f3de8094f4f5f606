/* SPDX-License-Identifier: Apache-2.0 */
/* Answers the question why nothing is summed, from what the switches have seen. */
#ifndef INA_BRIDGE_WHY_H
#define INA_BRIDGE_WHY_H

#include "view.h"

/* Returns an array of lines. Each says what was seen, and what to do. */
json_t *why_give(const struct view *view, uint64_t time_ns);

#endif
