/* SPDX-License-Identifier: Apache-2.0 */
/* The only place that converts MPI's predefined types and operations to those of libina. */
#ifndef INA_MPI_NUMBERS_H
#define INA_MPI_NUMBERS_H

#include <mpi.h>
#include <stdbool.h>

#include "hostlib/include/ina.h"

/* Return whether libina has the type, or the operation. */
bool ina_mpi_type(MPI_Datatype type, enum ina_type *ina);
bool ina_mpi_op(MPI_Op op, enum ina_op *ina);

/* True if elements are in memory without gaps, in the order in which MPI sends them. */
bool ina_mpi_is_dense(MPI_Datatype type);

#endif
