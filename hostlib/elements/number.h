/* SPDX-License-Identifier: Apache-2.0 */
/* Number types and operations: sizes, and which of them an aggregator can combine. */
#ifndef INA_ELEMENTS_NUMBER_H
#define INA_ELEMENTS_NUMBER_H

#include "hostlib/include/ina.h"
#include "wire/ina_wire.h"

/*
 * Bytes that are zero on all ranks except one. Their sum is that rank's bytes, whatever they
 * contain, even if they are added as int32. Not for callers of the library.
 */
#define INA_BYTES ((enum ina_type)10)

/* Like ina_type_size(), but also for INA_BYTES. */
size_t ina_type_bytes(enum ina_type type);

/*
 * The operation that messages carry: for an average, a sum, which libina divides at the end
 * (average.h).
 */
enum ina_op ina_op_under_way(enum ina_op op);

/*
 * The wire's number type for these elements; INA_WIRE_NO_NUMBERS if an aggregator cannot combine
 * them with this operation.
 */
enum ina_wire_number_type ina_number_of_wire(enum ina_type type, enum ina_op op);

#endif
