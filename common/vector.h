/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over elements, compiled both for every processor and for one with AVX2. */
#ifndef INA_COMMON_VECTOR_H
#define INA_COMMON_VECTOR_H

/*
 * Marks a static function (another would be exported) that is never inlined and is compiled twice;
 * the loader selects the version that the processor can run. AVX2 has vectors twice as wide, and
 * minima, maxima and blends of all integers. It has no fused multiply-add, so both versions return
 * the same bits. There is one version under a sanitizer, because the code that a sanitizer adds
 * cannot run while the loader makes this choice.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
        !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define INA_VECTOR __attribute__((target_clones("avx2", "default")))
#else
#define INA_VECTOR __attribute__((noinline))
#endif

#endif
