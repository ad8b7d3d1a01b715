// The product of a small batch with a weight, with bias and ReLU, in AVX-512: input and weight are read as they are, while MKL first copies
// them into another order, which takes as long as a small product itself. And the gradient of ReLU and bias in one pass.
#include "small_linear.h"

#include "double_sums.h"
#include "native.h"

#include <algorithm>

namespace hookrack {
namespace {

#ifdef HAS_NATIVE_KERNELS

// A tile of the output: its sums are 24 of the 32 registers. The last rows, up to `LAST_ROWS`, have a smaller one.
constexpr int MOST_ROWS = 6, LAST_ROWS = 4, COLUMNS = 4;
constexpr int64_t LANES = 16;

template <int ROWS>
struct Tile {
  const float* rows[ROWS];
  const float* columns[COLUMNS];
};

// The sums over the lanes of each of four vectors.
AVX512 inline __m128 sums(__m512 a, __m512 b, __m512 c, __m512 d) {
  const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512 quarters = _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
  const __m256 halves = _mm256_add_ps(_mm512_castps512_ps256(quarters), _mm512_extractf32x8_ps(quarters, 1));
  return _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps(halves, 1));
}

// The products of all rows with all columns, from the number `k` on; `lanes` are those that there are.
template <int ROWS>
AVX512 inline void add_products(const Tile<ROWS>& tile, int64_t k, __mmask16 lanes, __m512 (&sum)[ROWS][COLUMNS]) {
  __m512 weights[COLUMNS];
#pragma GCC unroll 4
  for (int c = 0; c < COLUMNS; ++c) weights[c] = _mm512_maskz_loadu_ps(lanes, tile.columns[c] + k);
#pragma GCC unroll 6
  for (int r = 0; r < ROWS; ++r) {
    const __m512 input = _mm512_maskz_loadu_ps(lanes, tile.rows[r] + k);
#pragma GCC unroll 4
    for (int c = 0; c < COLUMNS; ++c) sum[r][c] = _mm512_fmadd_ps(input, weights[c], sum[r][c]);
  }
}

template <int ROWS>
AVX512 inline void multiply(const Tile<ROWS>& tile, int64_t inputs, __m128 (&out)[ROWS]) {
  __m512 sum[ROWS][COLUMNS] = {};
  int64_t k = 0;
  for (; k + LANES <= inputs; k += LANES) add_products(tile, k, 0xffff, sum);
  if (k < inputs) add_products(tile, k, static_cast<__mmask16>((1 << (inputs - k)) - 1), sum);
#pragma GCC unroll 6
  for (int r = 0; r < ROWS; ++r) out[r] = sums(sum[r][0], sum[r][1], sum[r][2], sum[r][3]);
}

struct Layer {
  const float *input, *weight, *bias;
  float* output;
  LinearShape shape;
  bool relu;
};

// The outputs of the rows from `row` on.
template <int ROWS>
AVX512 void strip(const Layer& layer, int64_t row) {
  const auto [rows, inputs, outputs] = layer.shape;
  Tile<ROWS> tile;
  // Behind the last row and column these are computed again, and not stored.
  for (int64_t r = 0; r < ROWS; ++r) tile.rows[r] = layer.input + std::min(row + r, rows - 1) * inputs;
  for (int64_t column = 0; column < outputs; column += COLUMNS) {
    for (int64_t c = 0; c < COLUMNS; ++c) tile.columns[c] = layer.weight + std::min(column + c, outputs - 1) * inputs;
    __m128 out[ROWS];
    multiply(tile, inputs, out);
    const auto stored = static_cast<__mmask8>((1 << std::min<int64_t>(COLUMNS, outputs - column)) - 1);
    const __m128 shift = _mm_maskz_loadu_ps(stored, layer.bias + column);
    for (int64_t r = 0; r < std::min<int64_t>(ROWS, rows - row); ++r) {
      __m128 values = _mm_add_ps(out[r], shift);
      // In this order NaN stays NaN.
      if (layer.relu) values = _mm_max_ps(_mm_setzero_ps(), values);
      _mm_mask_storeu_ps(layer.output + (row + r) * outputs + column, stored, values);
    }
  }
}

void linear(const Layer& layer) {
  const int64_t rows = layer.shape.rows;
  for (int64_t row = 0; row < rows; row += MOST_ROWS) {
    rows - row > LAST_ROWS ? strip<MOST_ROWS>(layer, row) : strip<LAST_ROWS>(layer, row);
  }
}

// Sixteen outputs from `first` on.
AVX512 void bias_column(const OutputGrad& of, int64_t first, const float* rectified, float* passed, float* sums) {
  const auto lanes = static_cast<__mmask16>((1U << std::min(LANES, of.outputs - first)) - 1);
  Sums sum;
  for (int64_t at = first; at < of.rows * of.outputs; at += of.outputs) {
    __m512 grad = _mm512_maskz_loadu_ps(lanes, of.grad + at);
    if (rectified) {
      // Not `output > 0`, so that the gradient of NaN counts.
      const __m512 output = _mm512_maskz_loadu_ps(lanes, rectified + at);
      grad = _mm512_mask_mov_ps(grad, _mm512_cmp_ps_mask(output, _mm512_setzero_ps(), _CMP_LE_OQ), _mm512_setzero_ps());
      _mm512_mask_storeu_ps(passed + at, lanes, grad);
    }
    sum.add(grad);
  }
  _mm512_mask_storeu_ps(sums + first, lanes, sum.floats());
}

#endif

}  // namespace

bool is_small_linear(const LinearShape& shape) noexcept {
  // What a core has near it. Few rows leave MKL little to copy.
  constexpr int64_t MAX_NUMBERS = 1 << 17, MIN_ROWS = 16;
  return uses_native_kernels() && shape.rows >= MIN_ROWS &&
         (shape.rows + shape.outputs) * shape.inputs <= MAX_NUMBERS;
}

void small_linear([[maybe_unused]] const float* input, [[maybe_unused]] const float* weight,
                  [[maybe_unused]] const float* bias, [[maybe_unused]] float* output,
                  [[maybe_unused]] const LinearShape& shape, [[maybe_unused]] bool relu) noexcept {
#ifdef HAS_NATIVE_KERNELS
  linear({input, weight, bias, output, shape, relu});
#endif
}

void bias_grads([[maybe_unused]] const OutputGrad& of, [[maybe_unused]] const float* rectified,
                [[maybe_unused]] float* passed, [[maybe_unused]] float* sums) noexcept {
#ifdef HAS_NATIVE_KERNELS
  for (int64_t first = 0; first < of.outputs; first += LANES) bias_column(of, first, rectified, passed, sums);
#endif
}

}  // namespace hookrack
