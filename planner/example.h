/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in examples. */
#ifndef INA_PLANNER_EXAMPLE_H
#define INA_PLANNER_EXAMPLE_H

#include "common/topology/topology.h"

/*
 * `grid` is the example of GRID's introduction. Returns the fabric, which the caller closes, and
 * sets `jobs` to its jobs. Returns NULL if there is no example of that name.
 */
struct topology *plan_example_open(const char *name, const char **jobs);

#endif
