/* SPDX-License-Identifier: Apache-2.0 */
/* Examples that need no file. */
#ifndef INA_PLANNER_EXAMPLE_H
#define INA_PLANNER_EXAMPLE_H

#include "common/topology.h"

/*
 * `grid`: the example of GRID's introduction. Returns the fabric, to be closed by the caller, and
 * its jobs in `jobs`; NULL where there is no example of that name.
 */
struct topology *plan_example_open(const char *name, const char **jobs);

#endif
