// Functions that use the vectors of the CPU that they run on.
#pragma once

// The compiler makes a function for each set of instructions, and the dynamic linker chooses the one for this CPU.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EVERY_CPU __attribute__((target_clones("default", "avx2")))
#else
#define FOR_EVERY_CPU
#endif
