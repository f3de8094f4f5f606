/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RoCEv2's ACK timeout n stands for 4.096 us * 2^n (IBTA vol. 1, 9.7.6.1.3). A program sets it by
 * INA_ACK_TIMEOUT, which ina-lab also reads.
 */
#ifndef INA_COMMON_ACK_TIMEOUT_H
#define INA_COMMON_ACK_TIMEOUT_H

enum {
	INA_ACK_TIMEOUT_DEFAULT = 14, /* 67 ms */
	INA_ACK_TIMEOUT_MAX = 31,
};

#endif
