/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads numbers in command lines and environment variables strictly: no blank and no + before the
 * number, no text after it, and a value from `least` to `most`. Whole numbers are decimal, or
 * hexadecimal if they begin with 0x.
 */
#ifndef INA_COMMON_PARSE_H
#define INA_COMMON_PARSE_H

#include <stdbool.h>
#include <stdint.h>

/* Return false, and leave *value unchanged, if the text is not such a number. */
bool ina_parse_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value);
bool ina_parse_real(const char *text, double least, double most, double *value);

/*
 * Read the number at the start of a text. Return a pointer to the text after it, or NULL if the
 * text does not begin with such a number.
 */
const char *ina_scan_whole(const char *text, uint64_t least, uint64_t most, uint64_t *value);
const char *ina_scan_real(const char *text, double least, double most, double *value);

#endif
