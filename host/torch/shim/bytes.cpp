// Bytes become floats, in vectors.
#include "every_cpu.h"

#include <cstddef>
#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__)
// The rest of the shim is not compiled for speed.
#pragma GCC optimize("O3")
#endif

extern "C" {

// `to[i] = from[i] * factor + from[i] * rest`, each operation rounded.
FOR_EVERY_CPU void hrt_scale_bytes(const uint8_t* __restrict from, size_t count, float factor, float rest,
                                   float* __restrict to) noexcept {
  for (size_t i = 0; i < count; ++i) {
    const float number = from[i];
    to[i] = number * factor + number * rest;
  }
}

}  // extern "C"
