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
#include <stdint.h>

/*
 * Pages that the process could use before: they are not asked about again, so a call with buffers
 * that were used before costs no system call. All zero at first.
 */
#define INA_PROBED_PAGES 256u

struct ina_probed {
	uintptr_t readable[INA_PROBED_PAGES];
	uintptr_t writable[INA_PROBED_PAGES];
};

/* Every page of so many bytes from this address, which may be any. */
bool ina_may_read(struct ina_probed *probed, const void *memory, size_t bytes);
bool ina_may_write(struct ina_probed *probed, const void *memory, size_t bytes);

/* The same, whatever is remembered; and the text of the error, with the bytes and the address. */
bool ina_may_read_afresh(const void *memory, size_t bytes);
#define INA_NOT_MEMORY "of the %zu bytes at %p, some are not memory of this process"

#endif
