/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May this process read or write memory? Memory of a device, as cudaMalloc() returns it, has an
 * address that only the device can use; a copy from there would end the process by SIGSEGV.
 *
 * The kernel is asked by system calls that access the address and otherwise do nothing. Each takes
 * some 0.1 us. Where the kernel does not say that the access fails, it is taken for possible.
 */
#ifndef INA_RDMA_PROBE_H
#define INA_RDMA_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* At this address; it may be any. */
bool ina_may_read(const void *memory);
bool ina_may_write(const void *memory);

/* All pages of it; and the text of the error, with the bytes and the address, if it may not. */
bool ina_may_read_all(const void *memory, size_t bytes);
#define INA_NOT_MEMORY "of the %zu bytes at %p, some are not memory of this process"

#endif
