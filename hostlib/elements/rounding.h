/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the processor rounds: a program may have it flush subnormals to zero, round otherwise than to
 * nearest, or trap, and sums are to have the same bits on all ranks. So arithmetic on floats is put
 * between these two calls. A program that leaves all as it was pays for one comparison.
 */
#ifndef INA_ELEMENTS_ROUNDING_H
#define INA_ELEMENTS_ROUNDING_H

#include <stdint.h>

#if defined(__x86_64__)

/* MXCSR: to nearest, subnormals kept, all exceptions masked; the lowest six bits are only told. */
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

/* FPCR: all of that is 0. */
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

/* As the program has it. */
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

/* Returns the program's mode, for ina_rounding_end(). What is between them is in functions of its
 * own, which the compiler does not inline. */
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
