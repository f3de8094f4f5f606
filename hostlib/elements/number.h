/* SPDX-License-Identifier: Apache-2.0 */
/* Number types and operations: which there are, how large, and what they are called. */
#ifndef INA_ELEMENTS_NUMBER_H
#define INA_ELEMENTS_NUMBER_H

#include "hostlib/include/ina.h"

/* Bytes of an element; 0: there is no such type. */
size_t ina_type_bytes(int type);

/* "float32", "max"; NULL: there is none. The strings live for ever. */
const char *ina_type_name(int type);
const char *ina_op_name(int op);

#endif
