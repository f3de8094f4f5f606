/* SPDX-License-Identifier: Apache-2.0 */
/*
 * F16C (Intel's manual, vol. 2, VCVTPH2PS and VCVTPS2PH). The conversions ignore the flags that
 * flush subnormals to zero, with one exception: a subnormal float32 may become a zero. As a float16
 * it is a zero in any case.
 */
#include "float16.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <stdint.h>

#define LANES ((size_t)8)

static int has_conversions(void)
{
	return __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
}

__attribute__((target("avx,f16c"))) static size_t
widen_vectors(float *wide, const uint16_t *elements, size_t count)
{
	size_t done = 0;

	for (; count - done >= LANES; done += LANES)
		_mm256_storeu_ps(wide + done, _mm256_cvtph_ps(_mm_loadu_si128(
		                                      (const __m128i *)(elements + done))));
	return done;
}

__attribute__((target("avx,f16c"))) static size_t round_vectors(uint16_t *elements,
                                                                const float *wide, size_t count)
{
	const __m128i magnitude = _mm_set1_epi16(0x7FFF);
	const __m128i infinity = _mm_set1_epi16(0x7C00);
	const __m128i nan = _mm_set1_epi16(0x7E00);
	size_t done = 0;

	for (; count - done >= LANES; done += LANES) {
		__m128i rounded =
		        _mm256_cvtps_ph(_mm256_loadu_ps(wide + done), _MM_FROUND_TO_NEAREST_INT);
		__m128i is_nan = _mm_cmpgt_epi16(_mm_and_si128(rounded, magnitude), infinity);

		_mm_storeu_si128((__m128i *)(elements + done),
		                 _mm_blendv_epi8(rounded, nan, is_nan));
	}
	return done;
}

size_t ina_float16_widen(void *wide, const void *elements, size_t count)
{
	return has_conversions() ? widen_vectors(wide, elements, count) : 0;
}

size_t ina_float16_round(void *elements, const void *wide, size_t count)
{
	return has_conversions() ? round_vectors(elements, wide, count) : 0;
}

#else

size_t ina_float16_widen(void *wide, const void *elements, size_t count)
{
	(void)wide, (void)elements, (void)count;
	return 0;
}

size_t ina_float16_round(void *elements, const void *wide, size_t count)
{
	(void)elements, (void)wide, (void)count;
	return 0;
}

#endif
