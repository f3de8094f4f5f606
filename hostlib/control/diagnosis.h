/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one failure from the fault reports of all ranks: the error, and the rank that caused it. */
#ifndef INA_CONTROL_DIAGNOSIS_H
#define INA_CONTROL_DIAGNOSIS_H

#include "control.h"

/* Have ranks that reported made calls that differ? A pure function. */
bool ina_calls_differ(const struct ina_faults *faults);

/*
 * Diagnoses the reports of all ranks. gone: the ranks whose connections have ended. A pure
 * function. Returns failure->status, which is never INA_OK.
 */
enum ina_status ina_diagnose(const struct ina_faults *faults, const struct ina_ranks *gone,
                             int ranks, struct ina_failure *failure);

#endif
