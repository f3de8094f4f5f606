/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a call goes to libina or to MPI: by what is equal on all of its ranks, and nothing else.
 */
#ifndef INA_MPI_DECIDE_H
#define INA_MPI_DECIDE_H

#include "call.h"

struct ina_mpi_plan ina_mpi_decide(const struct ina_mpi_call *call);

#endif
