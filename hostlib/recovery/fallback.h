/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fallback from the aggregator to the ring: after it no sums arrive any more, and all ranks get
 * the sums that only some ranks have. ARCHITECTURE.md, "The ring takes over", explains why every
 * sum is right.
 */
#ifndef INA_RECOVERY_FALLBACK_H
#define INA_RECOVERY_FALLBACK_H

#include "context.h"

/*
 * Ends the aggregated connections. From now on, the set of sums that this rank has does not change.
 * yields: the job gives up its context. If this rank then has all its sums, none can arrive, so the
 * connections stay to deliver the LEAVE until the next JOIN.
 */
void ina_fallback_leave(const struct ina_recovery_context *context, bool yields);

/* Begins to give all ranks the sums of the plan. *done: the plan has no sums. */
enum ina_status ina_fallback_begin(const struct ina_recovery_context *context,
                                   const struct ina_plan *plan, bool *done,
                                   struct ina_failure *failure);

/* Continues this after completions. *done: all ranks have all sums that any rank has. */
enum ina_status ina_fallback_advance(const struct ina_recovery_context *context,
                                     const struct ina_plan *plan, bool *done,
                                     struct ina_failure *failure);

#endif
