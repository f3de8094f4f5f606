// SPDX-License-Identifier: Apache-2.0
//
// 16-bit floating point by its definition (IEEE 754-2019, 3.4, for binary16; bfloat16 is binary32
// without its lower half). It is computed in double, which holds every value of both formats
// exactly.

#ifndef INA_HALF_HPP
#define INA_HALF_HPP

#include <cmath>
#include <cstdint>
#include <cstring>

namespace half
{

struct Format {
	const char *name;
	int fraction_bits;
	int exponent_min, exponent_max; // of normal numbers
	uint16_t canonical_nan;
};

constexpr Format BFLOAT16 = {"bfloat16", 7, -126, 127, 0x7FC0};
constexpr Format FLOAT16 = {"float16", 10, -14, 15, 0x7E00};

inline uint16_t infinity(const Format &format)
{
	return static_cast<uint16_t>(0x7FFF & ~((1 << format.fraction_bits) - 1));
}

inline bool is_nan(uint16_t half, const Format &format)
{
	return (half & 0x7FFF) > infinity(format);
}

/// The value of any number but a NaN.
inline double value(uint16_t half, const Format &format)
{
	const int exponent = (half & 0x7FFF) >> format.fraction_bits;
	const int fraction = half & ((1 << format.fraction_bits) - 1);
	double magnitude;

	if ((half & 0x7FFF) == infinity(format))
		magnitude = INFINITY;
	else if (exponent == 0)
		magnitude = std::ldexp(fraction, format.exponent_min - format.fraction_bits);
	else
		magnitude = std::ldexp(fraction + (1 << format.fraction_bits),
		                       exponent - 1 + format.exponent_min - format.fraction_bits);
	return half >> 15 ? -magnitude : magnitude;
}

/// The number of the format that is nearest to x, ties to even (IEEE 754-2019, 4.3.1). It uses the
/// processor's own rounding to an integer: x is counted in units of the last place that the format
/// has in x's binade. A NaN gives the canonical NaN.
inline uint16_t round(double x, const Format &format)
{
	uint64_t bits;

	if (x != x)
		return format.canonical_nan;
	std::memcpy(&bits, &x, sizeof(bits));
	const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
	int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023;

	if (exponent > format.exponent_max)
		return sign | infinity(format);
	if (exponent < format.exponent_min)
		exponent = format.exponent_min;
	/* an exact power of two */
	const uint64_t scale_bits = static_cast<uint64_t>(1023 - exponent + format.fraction_bits)
	                            << 52;
	double scale;

	std::memcpy(&scale, &scale_bits, sizeof(scale));
	const int units = static_cast<int>(std::nearbyint(std::fabs(x) * scale));
	/* A count of 2^fraction_bits or more is a normal number: the carry gives it the right
	 * exponent. */
	return static_cast<uint16_t>(
	        sign | (((exponent - format.exponent_min) << format.fraction_bits) + units));
}

} // namespace half

#endif
