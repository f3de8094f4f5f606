/* SPDX-License-Identifier: Apache-2.0 */
/* The all-reduce of a single rank: the result is the rank's contribution. */
#ifndef INA_ALGORITHMS_ALONE_H
#define INA_ALGORITHMS_ALONE_H

#include "algorithm.h"

/* Its functions use no state. */
extern const struct ina_algorithm_row ina_alone_algorithm;

#endif
