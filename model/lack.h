/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs/protocol.md, What an aggregator may lack. A field that is true is an RTL parameter
 * (HALF_FORMATS, MAX_MIN or INT32) that is 0.
 */
#ifndef INA_MODEL_LACK_H
#define INA_MODEL_LACK_H

#include <stdbool.h>

struct aggregator_lack {
	bool half_formats; /* bfloat16 and float16 */
	bool max_min;
	bool int32;
};

#endif
