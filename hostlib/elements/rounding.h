/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controls the rounding of the processor. A program may have set it to flush subnormals to zero, to
 * round in another direction, or to trap, but sums must have the same bits on all ranks. So all
 * arithmetic on floats is between ina_rounding_begin() and ina_rounding_end(). For a program that
 * has not changed the mode, each of them costs one comparison.
 */
#ifndef INA_ELEMENTS_ROUNDING_H
#define INA_ELEMENTS_ROUNDING_H

#include <stdint.h>

#if defined(__x86_64__)

/*
 * MXCSR: round to nearest, keep subnormals, mask all exceptions. The lowest six bits only report
 * exceptions.
 */
#define INA_ROUNDING_STANDARD 0x1F80u
#define INA_ROUNDING_TOLD     0x3Fu

static inline uint64_t ina_rounding_read(void)
{
	return __builtin_ia32_stmxcsr();
}

static inline void ina_rounding_write(uint64_t mode)
{
	__builtin_ia32_ldmxcsr((unsigned int)mode);
}

#elif defined(__aarch64__)

/* FPCR: in the standard mode all bits are 0. */
#define INA_ROUNDING_STANDARD 0u
#define INA_ROUNDING_TOLD     0u

static inline uint64_t ina_rounding_read(void)
{
	uint64_t mode;

	__asm__ volatile("mrs %0, fpcr" : "=r"(mode));
	return mode;
}

static inline void ina_rounding_write(uint64_t mode)
{
	__asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}

#else

/* On other processors the program's mode stays as it is. */
#define INA_ROUNDING_STANDARD 0u
#define INA_ROUNDING_TOLD     0u

static inline uint64_t ina_rounding_read(void)
{
	return INA_ROUNDING_STANDARD;
}

static inline void ina_rounding_write(uint64_t mode)
{
	(void)mode;
}

#endif

/*
 * Sets the standard mode, and returns the program's mode for ina_rounding_end(). The arithmetic
 * between the two calls must be in a function that the compiler does not inline.
 */
static inline uint64_t ina_rounding_begin(void)
{
	uint64_t mode = ina_rounding_read();

	if ((mode & ~(uint64_t)INA_ROUNDING_TOLD) != INA_ROUNDING_STANDARD)
		ina_rounding_write(INA_ROUNDING_STANDARD);
	return mode;
}

static inline void ina_rounding_end(uint64_t mode)
{
	if ((mode & ~(uint64_t)INA_ROUNDING_TOLD) != INA_ROUNDING_STANDARD)
		ina_rounding_write(mode);
}

#endif
