// Sums of floats in doubles, sixteen side by side.
#pragma once

#include "native.h"

#ifdef HAS_NATIVE_KERNELS

namespace hookrack {

struct Sums {
  __m512d low = {}, high = {};

  AVX512 void add(__m512 numbers) {
    low = _mm512_add_pd(low, _mm512_cvtps_pd(_mm512_castps512_ps256(numbers)));
    high = _mm512_add_pd(high, _mm512_cvtps_pd(_mm512_extractf32x8_ps(numbers, 1)));
  }

  AVX512 __m512 floats() const {
    constexpr __mmask8 ALL = 0xff;
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_maskz_cvtpd_ps(ALL, low)), _mm512_maskz_cvtpd_ps(ALL, high), 1);
  }
};

}  // namespace hookrack

#endif
