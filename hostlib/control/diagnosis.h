/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong, and which rank it was: from the fault reports of all ranks to one failure. */
#ifndef INA_CONTROL_DIAGNOSIS_H
#define INA_CONTROL_DIAGNOSIS_H

#include "control.h"

/* Have ranks that have reported called different things? has_fault as for ina_diagnose(). Pure. */
bool ina_calls_differ(const struct ina_fault *faults, const unsigned char *has_fault, int ranks);

/*
 * What the reports of all ranks amount to. faults[r] is valid where has_fault[r]; gone[r]: the
 * rank's control connection has ended. Pure. Returns failure->status, never INA_OK.
 */
enum ina_status ina_diagnose(const struct ina_fault *faults, const unsigned char *has_fault,
                             const unsigned char *gone, int ranks, struct ina_failure *failure);

#endif
