// Each vector of channels is walked through all pixels, in AVX-512. What limits these loops is memory: numbers are read once where libtorch's
// operators read and write them one after the other.
#include "norm_kernels.h"

#include "double_sums.h"
#include "native.h"

#include <algorithm>

namespace hookrack {

#ifdef HAS_NATIVE_KERNELS

namespace {

// So many pixels are added up in floats, their sums in doubles.
constexpr int64_t BLOCK = 256;
// Sums of this many pixels are independent: an addition takes longer than to begin the next.
constexpr int CHAINS = 4;

// The channels of one vector in each pixel.
struct Column {
  int64_t pixels, channels, first;
  __mmask16 lanes;

  AVX512 __m512 load(const float* numbers, int64_t pixel) const {
    return _mm512_maskz_loadu_ps(lanes, numbers + pixel * channels + first);
  }
  AVX512 void store(float* numbers, int64_t pixel, __m512 value) const {
    _mm512_mask_storeu_ps(numbers + pixel * channels + first, lanes, value);
  }
  // Of numbers that there is one of for each channel.
  AVX512 __m512 own(const float* numbers) const { return load(numbers, 0); }
  AVX512 void set_own(float* numbers, __m512 value) const { store(numbers, 0, value); }
  uint16_t* mask(uint16_t* masks, int64_t pixel) const { return masks + pixel * ((channels + LANES - 1) / LANES) + first / LANES; }
  AVX512 __m512 passed(const PassedGrad& grad, int64_t pixel) const {
    const auto value = load(grad.grad, pixel);
    if (!grad.passed) return value;
    return _mm512_maskz_mov_ps(*mask(const_cast<uint16_t*>(grad.passed), pixel), value);
  }
};

template <class Body>
AVX512 inline __attribute__((always_inline)) void each_column(const Pixels& pixels, const Body& body) {
  for (int64_t first = 0; first < pixels.channels; first += LANES) {
    const auto count = std::min(LANES, pixels.channels - first);
    body(Column{pixels.count, pixels.channels, first, static_cast<__mmask16>((1U << count) - 1)});
  }
}

// The sums of two numbers of each pixel: `term(pixel, first, second)` adds its own to them.
struct TwoSums {
  Sums first, second;

  template <class Term>
  AVX512 inline __attribute__((always_inline)) void add_all(int64_t pixels, const Term& term) {
    for (int64_t from = 0; from < pixels; from += BLOCK) {
      const auto end = std::min(from + BLOCK, pixels);
      __m512 one[CHAINS] = {}, other[CHAINS] = {};
      int64_t pixel = from;
      for (; pixel + CHAINS <= end; pixel += CHAINS) {
#pragma GCC unroll 4
        for (int chain = 0; chain < CHAINS; ++chain) term(pixel + chain, one[chain], other[chain]);
      }
      for (; pixel < end; ++pixel) term(pixel, one[0], other[0]);
      first.add(_mm512_add_ps(_mm512_add_ps(one[0], one[1]), _mm512_add_ps(one[2], one[3])));
      second.add(_mm512_add_ps(_mm512_add_ps(other[0], other[1]), _mm512_add_ps(other[2], other[3])));
    }
  }
};

AVX512 void moments(const Pixels& pixels, const float* input, float* mean, float* var) {
  each_column(pixels, [&](const Column& column) AVX512 {
    // Numbers less the first of their channel: a mean that is far from 0 costs the variance no digits.
    const __m512 origin = column.own(input);
    TwoSums sums;
    sums.add_all(pixels.count, [&](int64_t pixel, __m512& sum, __m512& squares) AVX512 {
      const __m512 value = _mm512_sub_ps(column.load(input, pixel), origin);
      sum = _mm512_add_ps(sum, value);
      squares = _mm512_fmadd_ps(value, value, squares);
    });
    const __m512d share = _mm512_set1_pd(1.0 / static_cast<double>(pixels.count)), none = _mm512_setzero_pd();
    const Sums middle{_mm512_mul_pd(sums.first.low, share), _mm512_mul_pd(sums.first.high, share)};
    const auto spread = [&](__m512d squares, __m512d mean) AVX512 {
      return _mm512_max_pd(none, _mm512_fmsub_pd(squares, share, _mm512_mul_pd(mean, mean)));
    };
    column.set_own(mean, _mm512_add_ps(origin, middle.floats()));
    column.set_own(var, Sums{spread(sums.second.low, middle.low), spread(sums.second.high, middle.high)}.floats());
  });
}

template <bool HAS_OTHER, bool HAS_RELU>
AVX512 void line(const Pixels& pixels, const Line& line, const float* input, const float* other, float* output,
                 uint16_t* passed) {
  const __m512 zero = _mm512_setzero_ps();
  each_column(pixels, [&](const Column& column) AVX512 {
    const __m512 slope = column.own(line.slope), offset = column.own(line.offset);
    for (int64_t pixel = 0; pixel < pixels.count; ++pixel) {
      __m512 value = _mm512_fmadd_ps(column.load(input, pixel), slope, offset);
      if constexpr (HAS_OTHER) value = _mm512_add_ps(value, column.load(other, pixel));
      if constexpr (HAS_RELU) {
        // Not `value > 0`, so that NaN stays.
        const __mmask16 stopped = _mm512_cmp_ps_mask(value, zero, _CMP_LE_OQ);
        *column.mask(passed, pixel) = static_cast<uint16_t>(~stopped);
        value = _mm512_mask_mov_ps(value, stopped, zero);
      }
      column.store(output, pixel, value);
    }
  });
}

}  // namespace

bool has_norm_kernels() noexcept { return uses_native_kernels(); }

void channel_moments(const Pixels& pixels, const float* input, float* mean, float* var) noexcept {
  moments(pixels, input, mean, var);
}

void normalize(const Pixels& pixels, const Line& by, const float* input, const float* other, float* output,
               uint16_t* passed) noexcept {
  if (other) {
    passed ? line<true, true>(pixels, by, input, other, output, passed) : line<true, false>(pixels, by, input, other, output, passed);
  } else {
    passed ? line<false, true>(pixels, by, input, other, output, passed) : line<false, false>(pixels, by, input, other, output, passed);
  }
}

AVX512 void grad_sums(const Pixels& pixels, const PassedGrad& grad, const float* input, const float* mean, float* sums,
                      float* products) noexcept {
  each_column(pixels, [&](const Column& column) AVX512 {
    const __m512 middle = column.own(mean);
    TwoSums both;
    both.add_all(pixels.count, [&](int64_t pixel, __m512& sum, __m512& product) AVX512 {
      const __m512 value = column.passed(grad, pixel);
      sum = _mm512_add_ps(sum, value);
      product = _mm512_fmadd_ps(value, _mm512_sub_ps(column.load(input, pixel), middle), product);
    });
    column.set_own(sums, both.first.floats());
    column.set_own(products, both.second.floats());
  });
}

AVX512 void input_grads(const Pixels& pixels, const PassedGrad& grad, const GradPlane& plane, const float* input,
                        float* input_grad, float* other_grad) noexcept {
  each_column(pixels, [&](const Column& column) AVX512 {
    const __m512 grad_slope = column.own(plane.grad_slope), input_slope = column.own(plane.input_slope);
    const __m512 mean = column.own(plane.mean), offset = column.own(plane.offset);
    for (int64_t pixel = 0; pixel < pixels.count; ++pixel) {
      const __m512 value = column.passed(grad, pixel);
      const __m512 rest = _mm512_fmadd_ps(_mm512_sub_ps(column.load(input, pixel), mean), input_slope, offset);
      column.store(input_grad, pixel, _mm512_fmadd_ps(value, grad_slope, rest));
      if (other_grad) column.store(other_grad, pixel, value);
    }
  });
}

#else

bool has_norm_kernels() noexcept { return false; }
void channel_moments(const Pixels&, const float*, float*, float*) noexcept {}
void normalize(const Pixels&, const Line&, const float*, const float*, float*, uint16_t*) noexcept {}
void grad_sums(const Pixels&, const PassedGrad&, const float*, const float*, float*, float*) noexcept {}
void input_grads(const Pixels&, const PassedGrad&, const GradPlane&, const float*, float*, float*) noexcept {}

#endif

}  // namespace hookrack
