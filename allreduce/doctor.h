/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ina-perf --doctor: what all-reduce needs, looked at piece by piece, one line each on standard
 * output, with the remedy where something is amiss.
 */
#ifndef INA_DOCTOR_H
#define INA_DOCTOR_H

#include "perf_options.h"

/* This host, then connections and aggregator, with the other ranks. Returns the exit code: 0 if
 * nothing failed. */
int doctor(const struct perf_options *options);

#endif
