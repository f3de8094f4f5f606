/* SPDX-License-Identifier: Apache-2.0 */
/* What all ways of opening a communicator begin with: the ranks meet. */
#ifndef INA_COMMUNICATOR_OPENING_H
#define INA_COMMUNICATOR_OPENING_H

#include "hostlib/bootstrap/roster.h"
#include "hostlib/engine/engine.h"
#include "hostlib/machine/layout.h"

/* The result of the ranks' meeting. */
struct ina_met {
	struct ina_roster roster;
	struct ina_layout layout;
	struct ina_location where[INA_MAX_RANKS]; /* memory of the layout */
	/*
	 * A TCP socket, on which the first rank of each strand accepts the others; -1: none. An
	 * ina_connect takes it over and closes it.
	 */
	int listener;
};

/* Connects the ranks when they have met, and chooses the algorithm. */
typedef enum ina_status ina_connect(struct ina_comm *comm, const struct ina_met *met,
                                    struct ina_failure *failure);

/*
 * Opens a communicator as ina_comm_open() does (communicator.h), with the ranks connected in this
 * way. A single rank needs no connection.
 */
enum ina_status ina_comm_open_by(struct ina_comm *comm, ina_connect *connect,
                                 struct ina_failure *failure);

/*
 * Called if there is no memory for the struct: informs all ranks of the failure, if rank 0 can be
 * reached. The settings must be filled in.
 */
void ina_comm_cannot_open(const struct ina_settings *settings, struct ina_failure *failure);

#endif
