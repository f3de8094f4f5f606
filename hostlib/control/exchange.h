/* SPDX-License-Identifier: Apache-2.0 */
/* Sends frames to neighbours, and reads theirs. */
#ifndef INA_CONTROL_EXCHANGE_H
#define INA_CONTROL_EXCHANGE_H

#include "control.h"

/*
 * Sends a frame to a neighbour; may block for up to 5 s if the socket is full. If it cannot be
 * sent, the neighbour counts as lost.
 */
void ina_control_send(struct ina_control *control, int rank, struct ina_control_frame *frame);

/* Sends a frame to all neighbours. */
void ina_control_broadcast(struct ina_control *control, struct ina_control_frame *frame);

/*
 * Handles the frames of a neighbour that have arrived, without waiting. Passes on those that all
 * ranks must get. If the connection has ended, the neighbour counts as lost.
 */
void ina_control_read(struct ina_control *control, struct ina_peer *from);

/* Asks all ranks to report on a fault, unless they have been asked already. */
void ina_control_ask(struct ina_control *control);

/* Informs the parent whether this rank and its whole subtree have waited for long. */
void ina_control_tell_stall(struct ina_control *control);

#endif
