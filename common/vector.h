/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over elements: compiled for what every processor has, and for what this one may have. */
#ifndef INA_COMMON_VECTOR_H
#define INA_COMMON_VECTOR_H

/*
 * A static function (others would be exported), never inlined, that is there twice, and the loader
 * takes what the processor can run. AVX2 has vectors twice as wide, and minima, maxima and blends
 * of all integers; it has no fused multiplication and addition, so both give the same bits. What
 * the sanitizers add to a function cannot run while the loader makes this choice.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
        !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define INA_VECTOR __attribute__((target_clones("avx2", "default")))
#else
#define INA_VECTOR __attribute__((noinline))
#endif

#endif
