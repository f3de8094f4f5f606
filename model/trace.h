/* SPDX-License-Identifier: Apache-2.0 */
/* TRACE: a message by which a host learns through which switches its packets go. */
#ifndef INA_MODEL_TRACE_H
#define INA_MODEL_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"
#include "wire/ina_wire.h"

/* A TRACE that came whole, and whose slot of `level` is empty. */
bool trace_has_room(const struct packet *packet, unsigned level);

/* Copies a TRACE's payload, with `slot` as what the switch of `level` fills in. */
void trace_fill(uint8_t *payload, const struct packet *packet, unsigned level,
                const struct ina_wire_trace_slot *slot);

#endif
