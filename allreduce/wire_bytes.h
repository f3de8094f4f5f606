/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that this host has sent, as its network device counts them. */
#ifndef INA_WIRE_BYTES_H
#define INA_WIRE_BYTES_H

#include <stdint.h>

/*
 * Reads tx_bytes of the network device that belongs to port 1 of an RDMA device: whole frames,
 * including acknowledgements and retransmissions. Returns 0, or -1 if sysfs does not have it.
 */
int wire_bytes_read(const char *rdma_device, uint64_t *bytes);

#endif
