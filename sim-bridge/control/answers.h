/* SPDX-License-Identifier: Apache-2.0 */
/* The answers to an operator's requests, as JSON (protocol.h). */
#ifndef INA_BRIDGE_ANSWERS_H
#define INA_BRIDGE_ANSWERS_H

#include <stddef.h>

#include "view.h"

/* Carries out one request. The caller owns the answer, which is NULL without memory. */
json_t *answers_give(const struct view *view, const char *request, size_t bytes, uint64_t time_ns);

#endif
