/* SPDX-License-Identifier: Apache-2.0 */
/* The generated list against the published description of ResNet-50. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "resnet50.h"

/* 25,557,032 parameters in 161 tensors: torchvision's resnet50, "num_params" of its weights. */
static void totals(void **state)
{
	size_t counts[RESNET50_TENSORS_MAX];
	size_t tensors = resnet50_tensors(counts);
	size_t sum = 0;

	(void)state;
	for (size_t t = 0; t < tensors; t++)
		sum += counts[t];
	assert_int_equal(tensors, 161);
	assert_int_equal(sum, 25557032);
}

/* Ends of the list, and the first block, worked out by hand from Table 1 of the paper. */
static void ends(void **state)
{
	static const size_t first[] = {
	        64 * 3 * 7 * 7, 64, 64, /* conv1 */
	        64 * 64,        64, 64, /* the first block */
	        64 * 64 * 9,    64, 64, 256 * 64, 256, 256, 256 * 64, 256, 256, /* its projection */
	        64 * 256,       64, 64, /* the second block */
	};
	size_t counts[RESNET50_TENSORS_MAX];
	size_t tensors = resnet50_tensors(counts);

	(void)state;
	for (size_t t = 0; t < sizeof(first) / sizeof(first[0]); t++)
		assert_int_equal(counts[t], first[t]);
	assert_int_equal(counts[tensors - 2], 2048 * 1000);
	assert_int_equal(counts[tensors - 1], 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(totals), cmocka_unit_test(ends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
