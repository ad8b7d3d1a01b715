// Kernels of our own in AVX-512, whose last bits differ from those of libtorch's: used if a run asks for them.
#pragma once

namespace hookrack {

// Whether they are used: on request, on a CPU that has the instructions, in a process with one thread.
bool uses_native_kernels() noexcept;

}  // namespace hookrack

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_NATIVE_KERNELS 1
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw")))
#ifndef __clang__
// GCC 12 warns of its own header.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#endif
