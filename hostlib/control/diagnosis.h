/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong, and which rank it was: from the fault reports of all ranks to one failure. */
#ifndef INA_CONTROL_DIAGNOSIS_H
#define INA_CONTROL_DIAGNOSIS_H

#include "control.h"

/* Have ranks that have reported called different things? Pure. */
bool ina_calls_differ(const struct ina_faults *faults);

/*
 * What the reports of all ranks amount to. gone: whose connections have ended. Pure. Returns
 * failure->status, never INA_OK.
 */
enum ina_status ina_diagnose(const struct ina_faults *faults, const struct ina_ranks *gone,
                             int ranks, struct ina_failure *failure);

#endif
