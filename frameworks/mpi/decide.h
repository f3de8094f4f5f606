/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a call goes to libina or to MPI: by what is equal on all of its ranks, and nothing else.
 */
#ifndef INA_MPI_DECIDE_H
#define INA_MPI_DECIDE_H

#include <stddef.h>

#include "call.h"
#include "channel.h"
#include "why.h"

struct ina_mpi_plan {
	enum ina_mpi_why why; /* INA_MPI_BY_INA: all that follows is set */
	size_t bytes;         /* of the elements that it is about, always set */
	size_t count;         /* of elements, or bytes where nothing is combined; a block's */
	enum ina_type type;
	enum ina_op op;
	struct ina_mpi_channel *channel;
};

struct ina_mpi_plan ina_mpi_decide(const struct ina_mpi_call *call);

#endif
