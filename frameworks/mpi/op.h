/* SPDX-License-Identifier: Apache-2.0 */
/* A call that libina carries out, from its arguments to its result. */
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
	void *scratch; /* for packed elements; NULL: the program's memory is used directly */
	ina_request *request;
	MPI_Request by_mpi; /* used instead of request if libina could not be opened */
	bool is_begun;
	bool is_done;
	bool is_left; /* done for the counterpart, and the caller must use MPI */
	enum ina_status status;
	int code;           /* for MPI: MPI_SUCCESS, or an error with libina's text */
	MPI_Request handle; /* of a nonblocking call: a generalized request */
};

/* Sets the memory that libina will read and write. Returns INA_OK or INA_ERR_MEMORY. */
enum ina_status ina_mpi_op_prepare(struct ina_mpi_op *op);

/* Starts the operation in libina. */
enum ina_status ina_mpi_op_begin(struct ina_mpi_op *op, ina_comm *comm);

/* Starts the call in MPI on this communicator, as the program would. Returns MPI's code. */
int ina_mpi_op_start_by_mpi(const struct ina_mpi_call *call, MPI_Comm comm, MPI_Request *request);

/* Copies the result to where the program expects it, if there is one, and frees the scratch. */
void ina_mpi_op_end(struct ina_mpi_op *op);

#endif
