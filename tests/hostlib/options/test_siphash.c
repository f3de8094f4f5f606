/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-2-4: the vectors of its authors (https://github.com/veorq/SipHash, vectors.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "hostlib/options/siphash.h"

/* Hashes of the bytes 0, 1, 2 ... under the key 00 01 ... 0f. The paper's appendix works out the
 * last one. */
static void vectors(void **state)
{
	static const struct ina_siphash_key key = {0x0706050403020100u, 0x0F0E0D0C0B0A0908u};
	static const struct {
		size_t size;
		uint64_t hash;
	} known[] = {
	        {0, 0x726FDB47DD0E0E31u}, {1, 0x74F839C593DC67FDu},  {7, 0xAB0200F58B01D137u},
	        {8, 0x93F5F5799A932462u}, {15, 0xA129CA6149BE45E5u},
	};
	uint8_t bytes[15];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_int_equal(ina_siphash(&key, bytes, known[i].size), known[i].hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(vectors)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
