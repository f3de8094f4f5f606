/* SPDX-License-Identifier: Apache-2.0 */
/* A call that goes by libina, from its arguments to its result. */
#ifndef INA_MPI_OP_H
#define INA_MPI_OP_H

#include <stdbool.h>

#include "call.h"

struct ina_mpi_op {
	struct ina_mpi_op *next;
	struct ina_mpi_call call;
	struct ina_mpi_plan plan;

	const void *from;
	void *to;
	void *scratch; /* where elements are packed; NULL: they are in the program's own memory */
	ina_request *request;
	MPI_Request by_mpi; /* in place of request, where libina could not be opened */
	bool is_begun;
	bool is_done;
	bool is_left; /* done, and it is for its caller to go to MPI */
	enum ina_status status;
	int code;           /* MPI's: MPI_SUCCESS, or an error with libina's text */
	MPI_Request handle; /* of a started one: a generalized request */
};

/* Finds the memory that libina is to read and write. INA_OK or INA_ERR_MEMORY. */
enum ina_status ina_mpi_op_prepare(struct ina_mpi_op *op);

/* Hands it to libina. */
enum ina_status ina_mpi_op_begin(struct ina_mpi_op *op, ina_comm *comm);

/* Has MPI start the call on this communicator, as the program would. Returns MPI's code. */
int ina_mpi_op_start_by_mpi(const struct ina_mpi_call *call, MPI_Comm comm, MPI_Request *request);

/* Puts the result where the program expects it, if there is one. */
void ina_mpi_op_end(struct ina_mpi_op *op);

#endif
