/* SPDX-License-Identifier: Apache-2.0 */
/* docs/protocol.md, What an aggregator may lack: the RTL's HALF_FORMATS, MAX_MIN and INT32, if 0.
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
