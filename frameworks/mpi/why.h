/* SPDX-License-Identifier: Apache-2.0 */
/* Which way a call has gone, and why. */
#ifndef INA_MPI_WHY_H
#define INA_MPI_WHY_H

enum ina_mpi_why {
	INA_MPI_BY_INA,
	INA_MPI_SMALL,
	INA_MPI_TYPE,
	INA_MPI_OP,
	INA_MPI_BLOCKS,
	INA_MPI_UNOPENED,
	INA_MPI_INTER,
	INA_MPI_FEW,
	INA_MPI_MANY,
	INA_MPI_FOREIGN,
	INA_MPI_NO_DEVICE,
	INA_MPI_ONE_HOST,
	INA_MPI_NO_THREADS,
	INA_MPI_ARGUMENT,
	INA_MPI_WHYS
};

#endif
