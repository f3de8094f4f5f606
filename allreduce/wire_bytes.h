/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that this host has put on the wire, as its network device counts them. */
#ifndef INA_WIRE_BYTES_H
#define INA_WIRE_BYTES_H

#include <stdint.h>

/*
 * tx_bytes of the network device under an RDMA device's port 1: whole frames, acknowledgements
 * and retransmissions too. Returns 0, or -1 if sysfs does not tell.
 */
int wire_bytes_read(const char *rdma_device, uint64_t *bytes);

#endif
