/* SPDX-License-Identifier: Apache-2.0 */
/* MPI's predefined types and operations, and libina's: the one place that converts them. */
#ifndef INA_MPI_NUMBERS_H
#define INA_MPI_NUMBERS_H

#include <mpi.h>
#include <stdbool.h>

#include "hostlib/include/ina.h"

/* Returns whether libina has such a type, or such an operation. */
bool ina_mpi_type(MPI_Datatype type, enum ina_type *ina);
bool ina_mpi_op(MPI_Op op, enum ina_op *ina);

/* Does memory hold elements of the type without gaps, in the order in which they are sent? */
bool ina_mpi_is_dense(MPI_Datatype type);

#endif
