/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers in command lines and environments, read strictly: no blank and no + before them, nothing
 * behind them, and none outside least..most. Whole numbers are decimal, or hexadecimal behind 0x.
 */
#ifndef INA_COMMON_PARSE_H
#define INA_COMMON_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* False, and *value as it was, where the text is no such number. */
bool ina_parse_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value);
bool ina_parse_real(const char *text, double least, double most, double *value);

/* The number at the start of a text. Returns what is behind it, or NULL where there is none. */
const char *ina_scan_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value);
const char *ina_scan_real(const char *text, double least, double most, double *value);

#endif
