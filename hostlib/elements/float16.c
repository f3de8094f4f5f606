/* SPDX-License-Identifier: Apache-2.0 */
/*
 * F16C (Intel's manual, vol. 2, VCVTPH2PS and VCVTPS2PH): neither conversion looks at the flags
 * that flush subnormals to zero, but for a subnormal float32, which no sum of two float16 is.
 */
#include "float16.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <stdint.h>

#define LANES ((size_t)8)

__attribute__((target("avx,f16c"))) static size_t sum_vectors(uint16_t *result, const uint16_t *a,
                                                              const uint16_t *b, size_t count)
{
	const __m128i magnitude = _mm_set1_epi16(0x7FFF);
	const __m128i infinity = _mm_set1_epi16(0x7C00);
	const __m128i nan = _mm_set1_epi16(0x7E00);
	size_t done = 0;

	for (; count - done >= LANES; done += LANES) {
		__m256 left = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(a + done)));
		__m256 right = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(b + done)));
		__m128i sum =
		        _mm256_cvtps_ph(_mm256_add_ps(left, right), _MM_FROUND_TO_NEAREST_INT);
		__m128i is_nan = _mm_cmpgt_epi16(_mm_and_si128(sum, magnitude), infinity);

		_mm_storeu_si128((__m128i *)(result + done), _mm_blendv_epi8(sum, nan, is_nan));
	}
	return done;
}

size_t ina_float16_sum(void *result, const void *a, const void *b, size_t count)
{
	if (!__builtin_cpu_supports("avx") || !__builtin_cpu_supports("f16c"))
		return 0;
	return sum_vectors(result, a, b, count);
}

#else

size_t ina_float16_sum(void *result, const void *a, const void *b, size_t count)
{
	(void)result, (void)a, (void)b, (void)count;
	return 0;
}

#endif
