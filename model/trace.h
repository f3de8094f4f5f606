/* SPDX-License-Identifier: Apache-2.0 */
/* TRACE: a message by which a host learns through which switches its packets go. */
#ifndef INA_MODEL_TRACE_H
#define INA_MODEL_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"
#include "wire/ina_wire.h"

/* One that came whole, from below or from above. */
bool trace_is_one(const struct packet *packet);

/* Copies a TRACE's payload, with `slot` as what the switch of `level` writes into it. */
void trace_write(uint8_t *payload, const struct packet *packet, unsigned level,
                 const struct ina_wire_trace_slot *slot);

#endif
