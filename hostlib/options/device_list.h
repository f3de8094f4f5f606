/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of RDMA devices in the syntax of NCCL_IB_HCA: names, each optionally followed by the
 * number of a port, such as "mlx5_0:1,mlx5_1". A name stands for all devices whose names begin with
 * it. If the list begins with "=", a name stands for the device of exactly this name. If it begins
 * with "^", or "^=", the list is that of the devices that must not be used. An empty list stands
 * for all devices.
 */
#ifndef INA_OPTIONS_DEVICE_LIST_H
#define INA_OPTIONS_DEVICE_LIST_H

#include <stdbool.h>

/* The most bytes of a list, with its terminating 0. */
#define INA_DEVICE_LIST_SIZE 256

/* Is the text a list? */
bool ina_device_list_is_valid(const char *list);

/* Does the list name the devices to use? Otherwise it excludes some devices, or is empty. */
bool ina_device_list_includes(const char *list);

/*
 * The position in the list of the first name that stands for this port of the device; -1 if the
 * port must not be used. If the list names no devices to use, the position is 0. Port 0 stands for
 * any port. The list must be valid.
 */
int ina_device_list_place(const char *list, const char *device, unsigned int port);

#endif
