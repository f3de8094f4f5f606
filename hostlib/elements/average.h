/* SPDX-License-Identifier: Apache-2.0 */
/* Averages: what the sums of all ranks become at the end, on each of them. */
#ifndef INA_ELEMENTS_AVERAGE_H
#define INA_ELEMENTS_AVERAGE_H

#include "hostlib/include/ina.h"

/*
 * sums[i] /= ranks for i < count, in memory of any alignment: floats are rounded to nearest, ties
 * to even (float32 has enough digits to round no quotient of 16 bits twice), integers towards zero.
 */
void ina_average(void *sums, size_t count, enum ina_type type, int ranks);

#endif
