/* SPDX-License-Identifier: Apache-2.0 */
/* Decides between libina and MPI, only by properties of the call that are equal on all ranks. */
#ifndef INA_MPI_DECIDE_H
#define INA_MPI_DECIDE_H

#include "call.h"

struct ina_mpi_plan ina_mpi_decide(const struct ina_mpi_call *call);

#endif
