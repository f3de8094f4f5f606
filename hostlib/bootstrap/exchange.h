/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bootstrap by the program's all-gather (struct ina_options, exchange): every rank learns all
 * HELLOs at the same time, and judges them as rank 0 would. So all ranks get the same result.
 */
#ifndef INA_BOOTSTRAP_EXCHANGE_H
#define INA_BOOTSTRAP_EXCHANGE_H

#include "hostlib/options/settings.h"
#include "roster.h"

/* As ina_bootstrap(), including its failure on entry; it connects no rank. */
enum ina_status ina_exchange(const struct ina_settings *settings, const struct ina_endpoint *local,
                             struct ina_roster *roster, struct ina_failure *failure);

#endif
