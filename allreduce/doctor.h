/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina-perf --doctor: checks each requirement of all-reduce, and prints one line for each to
 * standard output, with the remedy if there is a problem.
 */
#ifndef INA_DOCTOR_H
#define INA_DOCTOR_H

#include "perf_options.h"

/*
 * Checks this host, then, with the other ranks, the connections and the aggregator. Returns an exit
 * code, which is 0 if no check failed.
 */
int doctor(const struct perf_options *options);

#endif
