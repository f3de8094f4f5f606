/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank says of itself: its options and its endpoint, or why it cannot take part. */
#ifndef INA_BOOTSTRAP_HELLO_H
#define INA_BOOTSTRAP_HELLO_H

#include "hostlib/control/tcp_link.h"
#include "hostlib/options/settings.h"

/* own: INA_OK, or the failure that keeps this rank from taking part. */
struct ina_hello ina_hello_make(const struct ina_settings *settings,
                                const struct ina_endpoint *local, const struct ina_failure *own);

/* Compares a rank's options with rank 0's. Returns INA_OK or INA_ERR_MISMATCH. */
enum ina_status ina_hello_compare(const struct ina_hello *root, uint32_t rank,
                                  const struct ina_hello *hello, struct ina_failure *m);

#endif
