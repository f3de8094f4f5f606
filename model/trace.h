/* SPDX-License-Identifier: Apache-2.0 */
/* TRACE: a message by which a host learns which switches its packets pass. */
#ifndef INA_MODEL_TRACE_H
#define INA_MODEL_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "packet.h"
#include "wire/ina_wire.h"

/* Returns whether the packet is an intact TRACE whose slot of `level` is empty. */
bool trace_has_room(const struct packet *packet, unsigned level);

/* Copies the payload of a TRACE to `payload`, and writes `slot` as the slot of `level`. */
void trace_fill(uint8_t *payload, const struct packet *packet, unsigned level,
                const struct ina_wire_trace_slot *slot);

#endif
