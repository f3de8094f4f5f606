/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient tensors of ResNet-50, in the order of its layers. */
#ifndef INA_RESNET50_H
#define INA_RESNET50_H

#include <stddef.h>

/* An upper bound of their number. */
#define RESNET50_TENSORS_MAX 256

/* Fills `counts` with the elements of each parameter tensor. Returns the number of tensors. */
size_t resnet50_tensors(size_t counts[RESNET50_TENSORS_MAX]);

#endif
