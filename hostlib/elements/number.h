/* SPDX-License-Identifier: Apache-2.0 */
/* Number types and operations: which there are, how large, and what they are called. */
#ifndef INA_ELEMENTS_NUMBER_H
#define INA_ELEMENTS_NUMBER_H

#include "hostlib/include/ina.h"
#include "wire/ina_wire.h"

/*
 * Bytes that all ranks but one have as zeros: their sum is the one's, whatever they are, also where
 * they are added as int32. Not for callers.
 */
#define INA_BYTES ((enum ina_type)10)

/* Bytes of an element; 0: there is no such type. */
size_t ina_type_bytes(int type);

/* "float32", "max"; NULL: there is none that callers know. The strings live for ever. */
const char *ina_type_name(int type);
const char *ina_op_name(int op);

/* The operation as messages have it: an average is a sum, and divided at its end (average.h). */
enum ina_op ina_op_under_way(enum ina_op op);

/* What an aggregator takes the elements for; INA_WIRE_NO_NUMBERS: it cannot combine them so. */
enum ina_wire_number_type ina_number_of_wire(enum ina_type type, enum ina_op op);

#endif
