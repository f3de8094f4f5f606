/* SPDX-License-Identifier: Apache-2.0 */
/* Compares types by kind and size, because the size of a Fortran type depends on the compiler. */
#include "numbers.h"

#include <stddef.h>

#include "hostlib/tables/types.h"

/* MPI has no HALF: its types of 16 bits are integers. */
enum sort { FLOAT, HALF, SIGNED, UNSIGNED };

static const struct {
	MPI_Datatype type;
	enum sort sort;
} TYPES[] = {
        {MPI_FLOAT, FLOAT},
        {MPI_DOUBLE, FLOAT},
        {MPI_LONG_DOUBLE, FLOAT},
        {MPI_REAL, FLOAT},
        {MPI_REAL4, FLOAT},
        {MPI_REAL8, FLOAT},
        {MPI_DOUBLE_PRECISION, FLOAT},
        {MPI_SHORT, SIGNED},
        {MPI_INT, SIGNED},
        {MPI_LONG, SIGNED},
        {MPI_LONG_LONG, SIGNED},
        {MPI_SIGNED_CHAR, SIGNED},
        {MPI_INT8_T, SIGNED},
        {MPI_INT16_T, SIGNED},
        {MPI_INT32_T, SIGNED},
        {MPI_INT64_T, SIGNED},
        {MPI_AINT, SIGNED},
        {MPI_OFFSET, SIGNED},
        {MPI_COUNT, SIGNED},
        {MPI_INTEGER, SIGNED},
        {MPI_INTEGER1, SIGNED},
        {MPI_INTEGER2, SIGNED},
        {MPI_INTEGER4, SIGNED},
        {MPI_INTEGER8, SIGNED},
        {MPI_UNSIGNED_CHAR, UNSIGNED},
        {MPI_UNSIGNED_SHORT, UNSIGNED},
        {MPI_UNSIGNED, UNSIGNED},
        {MPI_UNSIGNED_LONG, UNSIGNED},
        {MPI_UNSIGNED_LONG_LONG, UNSIGNED},
        {MPI_UINT8_T, UNSIGNED},
        {MPI_UINT16_T, UNSIGNED},
        {MPI_UINT32_T, UNSIGNED},
        {MPI_UINT64_T, UNSIGNED},
};

#define SORT(type, name, kind, bits, ...) {kind, bits / 8, INA_##type},

static const struct {
	enum sort sort;
	int bytes;
	enum ina_type ina;
} SORTS[] = {INA_TYPES(SORT)};

static const struct {
	MPI_Op op;
	enum ina_op ina;
} OPS[] = {
        {MPI_SUM, INA_SUM},
        {MPI_MAX, INA_MAX},
        {MPI_MIN, INA_MIN},
        {MPI_PROD, INA_PROD},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static bool find_sort(enum sort sort, int bytes, enum ina_type *ina)
{
	for (size_t i = 0; i < COUNT_OF(SORTS); i++) {
		if (SORTS[i].sort == sort && SORTS[i].bytes == bytes) {
			*ina = SORTS[i].ina;
			return true;
		}
	}
	return false;
}

bool ina_mpi_type(MPI_Datatype type, enum ina_type *ina)
{
	int bytes;

	for (size_t i = 0; i < COUNT_OF(TYPES); i++) {
		if (TYPES[i].type == type)
			return PMPI_Type_size(type, &bytes) == MPI_SUCCESS &&
			       find_sort(TYPES[i].sort, bytes, ina);
	}
	return false;
}

bool ina_mpi_op(MPI_Op op, enum ina_op *ina)
{
	for (size_t i = 0; i < COUNT_OF(OPS); i++) {
		if (OPS[i].op == op) {
			*ina = OPS[i].ina;
			return true;
		}
	}
	return false;
}

bool ina_mpi_is_dense(MPI_Datatype type)
{
	int integers, addresses, types, combiner, bytes;
	MPI_Aint lower, extent;

	return PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) ==
	               MPI_SUCCESS &&
	       combiner == MPI_COMBINER_NAMED &&
	       PMPI_Type_get_extent(type, &lower, &extent) == MPI_SUCCESS &&
	       PMPI_Type_size(type, &bytes) == MPI_SUCCESS && lower == 0 && extent == bytes;
}
