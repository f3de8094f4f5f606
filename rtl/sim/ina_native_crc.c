// SPDX-License-Identifier: Apache-2.0
//
// The CRC of one beat for a simulator, by the processor's carry-less multiplication. With
// INA_NATIVE_CRC it replaces the matrix or the tables of ina_crc.
//
// The 64 bytes are a polynomial over GF(2), and so is a register: the highest power is the lowest
// bit. The upper parts of the polynomial are folded onto its lowest 128 bits. Each part is
// multiplied by x to the power of its distance, modulo CRC-32's polynomial P. The remaining bits
// are reduced by Barrett's method. The method is that of Gopal et al., Fast CRC Computation for
// Generic Polynomials Using PCLMULQDQ Instruction (Intel, 2009), for bit-reflected CRCs.

#include <stdint.h>
#include <wmmintrin.h>

uint32_t ina_native_crc(const uint32_t *beat);

// The product of two halves has one bit less than 128, so the reflected product is one bit too
// low. A constant x^d mod P, reflected into 32 bits, is therefore shifted up by one. The half
// with the higher powers (the lower bits) needs d = distance + 32, the other one d = distance -
// 32.
#define CONSTANTS(higher, lower) _mm_set_epi64x(lower, higher)

static __m128i load(const uint32_t *words)
{
	return _mm_loadu_si128((const __m128i *)words);
}

// Moves `part` to the place of `onto` and adds both.
static __m128i fold(__m128i part, __m128i constants, __m128i onto)
{
	return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(part, constants, 0x00), onto),
	                     _mm_clmulepi64_si128(part, constants, 0x11));
}

// The register after the 64 bytes of a beat, from start value 0 and without complement.
uint32_t ina_native_crc(const uint32_t *beat)
{
	const __m128i by_384 = CONSTANTS(0x03db1ecdc, 0x174359406);
	const __m128i by_256 = CONSTANTS(0x0f1da05aa, 0x15a546366);
	const __m128i by_128 = CONSTANTS(0x1751997d0, 0x0ccaa009e);
	const __m128i to_64 = CONSTANTS(0x0ccaa009e, 0x163cd6124); // 96 bits to 64, 64 to 32
	const __m128i barrett = _mm_set_epi64x(0x1f7011641, 0x1db710641);
	const __m128i low_32 = _mm_set_epi32(0, 0, 0, -1);
	__m128i rest = fold(load(beat), by_384, load(beat + 12));

	rest = fold(load(beat + 4), by_256, rest);
	rest = fold(load(beat + 8), by_128, rest);

	// Reduces 128 bits, and the 32 zeros that a CRC appends to them, to 64.
	rest = _mm_xor_si128(_mm_srli_si128(rest, 8), _mm_clmulepi64_si128(rest, to_64, 0x00));
	rest = _mm_xor_si128(_mm_srli_si128(rest, 4),
	                     _mm_clmulepi64_si128(_mm_and_si128(rest, low_32), to_64, 0x10));

	// The quotient, and the remainder after its product with P.
	__m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(rest, low_32), barrett, 0x10);

	quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_32), barrett, 0x00);
	return (uint32_t)(_mm_cvtsi128_si64(_mm_xor_si128(rest, quotient)) >> 32);
}
