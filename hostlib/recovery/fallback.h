/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the aggregator to the ring: no sum comes any more, and those that only some ranks have go to
 * the others. ARCHITECTURE.md, "The ring takes over", says why every sum is right then.
 */
#ifndef INA_RECOVERY_FALLBACK_H
#define INA_RECOVERY_FALLBACK_H

#include "context.h"

/*
 * The aggregated connections end. Which messages this rank has as sums stays so from now on.
 * yields: the job gives its context away. Where all sums have come nothing more can; the
 * connections only have a LEAVE to deliver, and stay for that until the next JOIN.
 */
void ina_fallback_leave(const struct ina_recovery_context *context, bool yields);

/* Begins to give all ranks the sums that the plan says. *done: there are none. */
enum ina_status ina_fallback_begin(const struct ina_recovery_context *context,
                                   const struct ina_plan *plan, bool *done,
                                   struct ina_failure *failure);

/* Goes on with it after completions. *done: all ranks have all sums that any rank has. */
enum ina_status ina_fallback_advance(const struct ina_recovery_context *context,
                                     const struct ina_plan *plan, bool *done,
                                     struct ina_failure *failure);

#endif
