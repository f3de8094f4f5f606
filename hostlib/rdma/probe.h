/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May this process read or write this memory? Memory of another device, such as cudaMalloc()
 * returns, has an address that only that device can use: a copy from it would end the process with
 * SIGSEGV.
 *
 * The functions ask the kernel by system calls that access the address and have no other effect.
 * Each takes about 0.1 us. If the kernel reports no failure, the access counts as possible.
 */
#ifndef INA_RDMA_PROBE_H
#define INA_RDMA_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Pages that the process could use before. libina does not ask about them again, so a call with the
 * same buffers costs no system call. All zero at first.
 */
#define INA_PROBED_PAGES 256u

struct ina_probed {
	uintptr_t readable[INA_PROBED_PAGES];
	uintptr_t writable[INA_PROBED_PAGES];
};

/* May the process read (write) every page of these bytes? The address may have any alignment. */
bool ina_may_read(struct ina_probed *probed, const void *memory, size_t bytes);
bool ina_may_write(struct ina_probed *probed, const void *memory, size_t bytes);

/*
 * ina_may_read() without remembered pages; and the text of the error, which needs the bytes and the
 * address.
 */
bool ina_may_read_afresh(const void *memory, size_t bytes);
#define INA_NOT_MEMORY "some of the %zu bytes at %p are not memory of this process"

#endif
